"""Which environment a text names: one of ours, a registered one, a Gymnasium id or a function."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from procurl.envs.adapters.task_reading import require_task_setter
from procurl.envs.registry import environment_names, make_pool
from procurl.envs.sources.functions import import_failure, user_function
from procurl.envs.sources.source import EnvSource
from procurl.internals.checks import suggest
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import require_fixed_pool

GYMNASIUM_ID = re.compile(r"(?:[\w.-]+:)?(?:[\w.-]+/)?[\w.-]+-v\d+")
KINDS = (
    "a name that `procurl envs` lists, a Gymnasium id such as CartPole-v1, or FILE.py:function or "
    "package.module:function that makes an environment"
)

_REGISTERED: dict[str, EnvSource] = {}


def register_environment(
    name: str,
    make_env: Callable[[], Any],
    pool: TaskPool | None = None,
    set_task: Callable[[Any, Any], None] | None = None,
    version: str | None = None,
) -> None:
    """Give an environment of your own a name for `compare`, in this process.

    Training processes import the functions, so define them at the top level of a module or script.
    The command line knows the name if a script registers it and then runs `procurl.cli.main`.

    >>> register_environment("lock", make_lock, TaskPool(contexts))  # doctest: +SKIP

    Args:
        name: a name that is not taken.
        make_env: makes the Gymnasium environment, without arguments.
        pool: the tasks to play unless a comparison names others; by default the attribute `pool` of
            the environment.
        set_task: called as `set_task(env, task)` before each reset, for environments that do not
            take their task as an argument of `reset`.
        version: any text that you change with the environment's behavior, so that a directory of
            results is not continued with another one.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an environment must be a text, got {name!r}")
    if name in environment_names() or name in _REGISTERED:
        raise ValueError(f"environment {name!r} is registered already; choose another name")
    if not re.fullmatch(r"[\w.-]+", name) or GYMNASIUM_ID.fullmatch(name):
        raise ValueError(
            "the name of an environment must consist of letters, digits, '_', '-' and '.', and not "
            f"end like a Gymnasium id, got {name!r}"
        )
    for argument, value in (("make_env", make_env), ("set_task", set_task)):
        if not callable(value) and not (argument == "set_task" and value is None):
            raise TypeError(f"{argument} must be a function, got {value!r}")
    if set_task is not None:
        require_task_setter(set_task)
    if pool is not None:
        require_fixed_pool("pool must be None or", pool)
    _REGISTERED[name] = EnvSource(name, make_env, set_task, pool, version)


def resolve_environment(text: str, set_task: str | None = None) -> EnvSource:
    """The environment that a text names; raises ValueError if there is none.

    >>> resolve_environment("CartPole-v1").make().spec.id
    'CartPole-v1'

    Args:
        text: a name, a Gymnasium id, or the address of a function.
        set_task: address of a function `set_task(env, task)`, if the environment needs one.
    """
    if find_spec("gymnasium") is None:
        raise ImportError("gymnasium is not installed: pip install 'procurl[sb3]'")
    is_function = not GYMNASIUM_ID.fullmatch(text) and (":" in text or text.endswith(".py"))
    source = _named(text) or (_function(text) if is_function else _gymnasium(text))
    if set_task is None:
        return source
    function = user_function(set_task, "that sets the task")
    require_task_setter(function.load(), str(function))
    return source.with_set_task(function)


@dataclass(frozen=True)
class OwnEnv:
    """Makes one of our environments as a Gymnasium environment."""

    name: str

    def __call__(self) -> Any:
        from procurl.envs.adapters.gym_env import GymEnv

        return GymEnv(self.name)


def _named(text: str) -> EnvSource | None:
    if text in environment_names():
        return EnvSource(text, OwnEnv(text), pool=partial(make_pool, text))
    return _REGISTERED.get(text)


def _gymnasium(text: str) -> EnvSource:
    """The environment of a Gymnasium id, after importing the module before its colon."""
    import gymnasium

    module, _, name = text.rpartition(":")
    try:
        if module:
            _import(text, module)
        gymnasium.spec(name)
    except gymnasium.error.Error as error:
        hint = suggest(name, [*environment_names(), *_REGISTERED, *gymnasium.registry])
        raise ValueError(
            f"environment {text!r} is not known.{hint} It must be {KINDS}. Gymnasium says: {error}"
        ) from error
    return EnvSource(text, partial(gymnasium.make, text))


def _import(text: str, module: str) -> None:
    """Import the module that registers an environment; raises ValueError if that fails."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"environment {text!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"environment {text!r}: {import_failure(module, error)}") from error


def _function(text: str) -> EnvSource:
    function = user_function(text, "that makes the environment")
    return EnvSource(str(function), function, version=function.version)
