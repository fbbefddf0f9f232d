"""Trained policies that act with NumPy alone."""

from procurl.policy.policy import Policy, load_policy, make_policy, save_policy

__all__ = ["Policy", "load_policy", "make_policy", "save_policy"]
