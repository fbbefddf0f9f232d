"""Evaluations of a run: when and how they play, and what they say of its teacher."""
