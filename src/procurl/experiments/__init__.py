"""Comparisons of strategies over many runs: what to run, running it, and what came of it."""
