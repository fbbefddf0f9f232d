"""PPO in any Gymnasium vector environment, stepped on the host."""
