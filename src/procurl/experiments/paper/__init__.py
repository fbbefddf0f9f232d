"""The paper's tables, figures and claims by name, built from our runs."""
