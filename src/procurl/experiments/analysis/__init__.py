"""Statistics, learning curves, tables and figures over many runs."""
