"""Pools of tasks, their CSV files, and neighboring tasks."""
