"""Pools and spaces of tasks, CSV files, targets, and neighboring tasks."""
