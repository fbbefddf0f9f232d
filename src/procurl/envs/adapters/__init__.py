"""Array environments as Gymnasium environments, and tasks for anybody's environment."""
