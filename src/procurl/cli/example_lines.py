"""The program that trains in a user's environment, with their own names, ready to be pasted."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from procurl.envs.registry import ENVIRONMENTS
from procurl.envs.sources.functions import UserFunction, is_file_address, user_function
from procurl.envs.sources.resolve import OwnEnv
from procurl.envs.sources.source import EnvSource

if TYPE_CHECKING:
    from procurl.envs.checking.check import EnvironmentCheck


class _Code(NamedTuple):
    """An expression, and what it needs: (module, name), or (module, "") for the module itself."""

    text: str
    imports: tuple[tuple[str, str], ...] = ()


def example_lines(pool: str | None, source: EnvSource, check: "EnvironmentCheck") -> list[str]:
    """Imports and three lines that train with the advised strategy.

    Args:
        pool: as given to --pool; None for the environment's own.
        source: of the environment.
        check: its advice.
    """
    env, tasks = _env(source.make_env), _pool(pool, source)
    parts = [env, tasks] if source.set_task is None else [env, tasks, _name(source.set_task)]
    made = f"TaskEnv({', '.join(part.text for part in parts)})"
    if pool is None and _has_tasks(source):
        parts, made = [env], env.text
    samples = f", reset_samples={check.reset_samples}" if check.reset_samples > 1 else ""
    needed = [
        ("stable_baselines3", "PPO"),
        *([("procurl", "TaskEnv")] if made.startswith("TaskEnv") else []),
        ("procurl.sb3", "CurriculumCallback"),
        *(each for part in parts for each in part.imports),
    ]
    return [
        *_imports(needed),
        "",
        f"env = {made}",
        f"model = PPO({_quote(check.policy)}, env)",
        f"model.learn(100_000, callback=CurriculumCallback({_quote(check.strategy)}{samples}))",
    ]


def _has_tasks(source: EnvSource) -> bool:
    """Whether the environment is a `TaskEnv` or wraps one."""
    from procurl.envs.adapters.play_pool import task_env_of

    return task_env_of(source.make()) is not None


def _imports(needed: list[tuple[str, str]]) -> list[str]:
    """Import lines, one per module: those of packages, ours, and the user's."""
    names: dict[str, list[str]] = {}
    for module, name in needed:
        listed = names.setdefault(module, [])
        if name not in listed:
            listed.append(name)
    plain = [f"import {module}" for module, listed in names.items() if listed == [""]]
    others = [f"from {m} import {', '.join(sorted(n))}" for m, n in names.items() if n != [""]]
    return [*plain, *others]


def _env(make_env: Callable[..., Any]) -> _Code:
    """The environment."""
    if isinstance(make_env, OwnEnv):
        gym_id = ENVIRONMENTS[make_env.name].gym_id
        return _Code(f"gymnasium.make({_quote(gym_id)})", (("gymnasium", ""),))
    if isinstance(make_env, partial):  # of gymnasium.make
        return _Code(f"gymnasium.make({_quote(make_env.args[0])})", (("gymnasium", ""),))
    function = _name(make_env)
    return _Code(f"{function.text}()", function.imports)


def _pool(text: str | None, source: EnvSource) -> _Code:
    """The pool."""
    own = _quote(source.name)
    if text is None and source.name in ENVIRONMENTS:
        return _Code(f"make_pool({own})", (("procurl.envs", "make_pool"),))
    if text is None and source.pool is not None:  # registered in a program
        return _Code("pool")
    if text is None:
        env = _env(source.make_env)
        return _Code(f'{env.text}.get_wrapper_attr("pool")', env.imports)
    if found := re.fullmatch(r"seeds:(\d+)", text):
        return _Code(f"TaskPool.from_seeds({int(found[1])})", (("procurl", "TaskPool"),))
    if is_file_address(text) and ".py:" in text:
        function = _name(user_function(text, "that returns the pool"))
        return _Code(f"{function.text}()", function.imports)
    if source.name in ENVIRONMENTS:
        return _Code(f"read_pool({_quote(text)}, {own})", (("procurl.envs", "read_pool"),))
    return _Code(f"TaskPool.from_csv({_quote(text)})", (("procurl", "TaskPool"),))


def _name(function: Callable[..., Any]) -> _Code:
    """A function of the user."""
    if isinstance(function, UserFunction):
        name, module = function.name, _module(function)
    else:
        name, module = function.__qualname__, function.__module__
    return _Code(name, ((module, name.partition(".")[0]),))


def _module(function: UserFunction) -> str:
    """The module of a user's function, as a program in the current directory imports it."""
    if function.text is None:
        return function.place
    file = Path(function.place)
    below = file.is_relative_to(Path.cwd())
    return ".".join(
        (file.relative_to(Path.cwd()) if below else Path(file.name)).with_suffix("").parts
    )


def _quote(text: str) -> str:
    """A string of a Python program."""
    return json.dumps(text, ensure_ascii=False)
