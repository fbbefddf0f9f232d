"""The same PPO in any Gymnasium vector environment, stepped on the CPU."""
