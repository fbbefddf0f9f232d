"""What many runs say together: statistics, curves, tables and figures."""
