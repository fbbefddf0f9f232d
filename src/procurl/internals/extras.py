"""Which extra installs a package, and the error if packages are missing."""

from collections.abc import Iterable
from importlib.util import find_spec

# Packages by the name that Python imports: the name on PyPI and the extra.
_PACKAGES = {
    "matplotlib": ("matplotlib", "report"),
    "PIL": ("pillow", "report"),
    "jax": ("jax", "jax"),
    "optax": ("optax", "jax"),
    "stable_baselines3": ("stable-baselines3", "sb3"),
    "gymnasium": ("gymnasium", "sb3"),
    "mujoco": ("mujoco", "mujoco"),
    "ray": ("ray", "ray"),
}
REPORT = ("matplotlib", "PIL")
JAX = ("jax", "optax")
SB3 = ("stable_baselines3", "gymnasium")


def require_packages(packages: Iterable[str]) -> None:
    """Raise ImportError if packages are missing, with one command that installs all of them.

    Args:
        packages: names that Python imports, such as those in `REPORT` or `JAX`.
    """
    missing = [_PACKAGES[name] for name in dict.fromkeys(packages) if find_spec(name) is None]
    if missing:
        names, extras = zip(*missing, strict=True)
        *others, last = names
        listed = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        wanted = ",".join(dict.fromkeys(extras))
        raise ImportError(f"{listed} not installed: pip install 'procurl[{wanted}]'")


def error_with_extra(error: ModuleNotFoundError, user: str) -> ImportError:
    """The error with the extra to install if one of ours has the package, otherwise as it is.

    Args:
        error: raised by an import.
        user: what needs the package.
    """
    package = (error.name or "").partition(".")[0]
    if package not in _PACKAGES:
        return error
    name, extra = _PACKAGES[package]
    return ImportError(f"{user} needs {name}: pip install 'procurl[{extra}]'")
