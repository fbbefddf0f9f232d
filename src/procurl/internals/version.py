"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "0+unknown"  # of a source folder that is not installed

try:
    __version__ = version("procurl")
except PackageNotFoundError:
    __version__ = UNKNOWN
