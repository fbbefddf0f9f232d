"""A Stable-Baselines3 run on disk: model, curriculum, statistics and random state."""
