"""Array environments as Gymnasium environments, and `TaskEnv` for any other environment."""
