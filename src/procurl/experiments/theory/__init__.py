"""The paper's theorems as tables and figures: `python -m procurl.experiments.theory`."""
