"""The command line: `procurl COMMAND`."""

from procurl.cli.program import main

__all__ = ["main"]
