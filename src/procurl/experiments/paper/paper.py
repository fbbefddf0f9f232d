"""The former name of `procurl.experiments.paper.build`, for scripts that still import it."""

from procurl.experiments.paper.build import run

__all__ = ["run"]
