"""The student in JAX: proximal policy optimization as in Stable-Baselines3, as pure functions.

Reads upwards: `settings` and `distributions`, then `networks` and `advantages`, then `update`.
Importing this package imports no JAX, so that the settings are there for every engine.
"""
