"""Gymnasium environments of the paper."""
