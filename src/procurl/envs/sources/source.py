"""`EnvSource`: how to make an environment, in this process or in any other."""

import hashlib
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from procurl.envs.adapters.closing import close_env
from procurl.envs.adapters.declarations import require_spaces
from procurl.envs.adapters.task_errors import RAISED
from procurl.envs.sources.functions import UserFunction, failure, require_no_arguments
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import TaskSpace, require_fixed_pool

if TYPE_CHECKING:
    import gymnasium


@dataclass(frozen=True)
class EnvSource:
    """An environment that every process can make.

    Args:
        name: as tables and reports show it.
        make_env: makes the Gymnasium environment, without arguments.
        set_task: called as `set_task(env, task)` before each reset, for environments that do not
            take their task as an argument of `reset`.
        pool: the tasks to play by default, or a function that returns them; None for the attribute
            `pool` of the environment, if it has one.
        version: identifies the code; a directory of another version is not continued.
    """

    name: str
    make_env: Callable[[], Any]
    set_task: Callable[[Any, Any], None] | None = None
    pool: TaskPool | Callable[[], TaskPool] | None = None
    version: str | None = None

    def make(self) -> "gymnasium.Env[Any, Any]":
        """A new environment; raises ValueError if it is not one or has no spaces."""
        import gymnasium

        function = self.make_env
        require_no_arguments(self.name, function)
        try:
            env = function()
        except gymnasium.error.Error as error:
            raise ValueError(f"environment {self.name!r} cannot be made: {error}") from error
        except RAISED as error:
            if not isinstance(function, UserFunction):
                raise
            raise ValueError(f"{self.name} failed: {failure(error, function.place)}") from error
        if not isinstance(env, gymnasium.Env):
            raise ValueError(
                f"{self.name} must return a gymnasium.Env, got {_kind(env)}: return one environment"
            )
        require_spaces(env, self.name)
        return env

    def make_task_env(self, pool: TaskPool) -> "gymnasium.Env[Any, Any]":
        """A new environment that plays the tasks of `pool`, as `procurl.TaskEnv` does."""
        from procurl.envs.adapters.play_pool import play_pool

        return play_pool(self.make(), pool, self.set_task)

    def own_pool(self) -> TaskPool | None:
        """The tasks to play if the user names no pool; None if the environment has none."""
        if isinstance(self.pool, TaskPool):
            return self.pool
        if self.pool is not None:
            return self.pool()
        env = self.make()
        found = env.get_wrapper_attr("pool") if env.has_wrapper_attr("pool") else None
        space = env.get_wrapper_attr("space") if env.has_wrapper_attr("space") else None
        close_env(env)
        if isinstance(space, TaskSpace):
            require_fixed_pool(f"the TaskEnv of {self.name} must play", space)
        return found if isinstance(found, TaskPool) else None

    def with_set_task(self, set_task: UserFunction) -> "EnvSource":
        """The same environment with a function that sets its task."""
        both = f"{self.version} {set_task.version}"
        version = hashlib.sha256(both.encode()).hexdigest()
        return replace(self, set_task=set_task, version=version)

    def require_new(self) -> None:
        """Raise ValueError if two calls make the same environment: evaluations need a second."""
        one, other = self.make(), self.make()
        same = one.unwrapped is other.unwrapped
        close_env(one)
        close_env(other)
        if same:
            raise ValueError(
                f"{self.name} must make a new environment at every call, got the same one twice: "
                "evaluations would interrupt the training episodes"
            )

    def require_portable(self) -> None:
        """Raise ValueError if other processes cannot load the functions."""
        for argument in ("make_env", "set_task"):
            function = getattr(self, argument)
            try:
                pickle.dumps(function)
                found = _is_importable(function)
            except (pickle.PicklingError, AttributeError, TypeError):
                found = False
            if not found:
                raise ValueError(
                    f"environment {self.name!r}: {argument} must be a function that training "
                    f"processes can import, got {function!r}: define it at the top level of a "
                    "module or script, not as a lambda, inside a function or in an interactive "
                    "session"
                )


def _is_importable(function: object) -> bool:
    """Whether the function's module can be imported elsewhere: a session's own cannot."""
    main = sys.modules["__main__"]
    return getattr(function, "__module__", None) != "__main__" or hasattr(main, "__file__")


def _kind(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"
