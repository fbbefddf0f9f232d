"""Compact records: what tables and figures need of an experiment, small enough to commit."""
