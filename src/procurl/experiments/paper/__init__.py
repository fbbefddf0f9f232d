"""The paper by name: its tables, figures and claims, made from our runs and compact records."""
