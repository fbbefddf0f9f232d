"""Pools of tasks, their CSV files, their targets, and neighboring tasks."""
