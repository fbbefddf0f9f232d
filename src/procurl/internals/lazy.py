"""Names of a package whose modules are imported on first use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from procurl.internals.extras import error_with_extra


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package.

    Args:
        package: its `__name__`.
        modules: by name, the module that defines it.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(modules[name])
        except ModuleNotFoundError as error:
            raise error_with_extra(error, f"{package}.{name}") from error
        return getattr(module, name)

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return load, listed
