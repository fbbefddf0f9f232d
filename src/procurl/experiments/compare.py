"""The former name of `procurl.experiments.comparison`, for scripts that still import it."""

from procurl.experiments.comparison import compare

__all__ = ["compare"]
