"""The tasks to choose from: pools, their CSV form, and which tasks are neighbors."""
