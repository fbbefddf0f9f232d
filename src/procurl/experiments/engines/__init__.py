"""The engines as an experiment drives them: JAX, the host, Stable-Baselines3."""
