"""What to train: an experiment of one environment, its contenders and their seeds."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.internals.checks import require_integer
from procurl.internals.setting_text import read_settings
from procurl.strategies.listing import changed_settings
from procurl.strategies.registry import strategy_name, strategy_names
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool

# Files count by the hash of their tasks.
NOT_COMPARED = ("width", "pool", "test_pool", "test_name")
HASHES = {
    "pool_hash": "its training pool differs",
    "test_hash": "its test pool has other tasks",
    "env_version": "its environment's code has changed since its runs began",
}
# None for the preset's.
DEFAULTS = ("eval_every", "eval_episodes", "eval_tasks", "eval_stochastic")
TEST, TARGETS = "test", "targets"  # what tables call the test pool


class Contender(NamedTuple):
    """A strategy with settings that differ from the paper's: `procurl-val:beta=10,floor=0.1`."""

    strategy: str
    setting: str = ""  # as written; empty for the paper's settings

    @classmethod
    def parse(cls, text: str) -> Self:
        strategy, _, setting = text.partition(":")
        contender = cls(strategy, setting)
        contender.settings()
        return contender

    @classmethod
    def of(cls, strategy: Strategy) -> Self:
        """The name of a strategy with the settings that differ from its defaults.

        >>> from procurl import make_strategy
        >>> Contender.of(make_strategy("procurl-val", beta=10)).label
        'procurl-val:beta=10'
        """
        name = strategy_name(strategy)
        return cls(name, changed_settings(strategy) if name in strategy_names() else "")

    @property
    def label(self) -> str:
        """As it was written."""
        return f"{self.strategy}:{self.setting}" if self.setting else self.strategy

    def settings(self) -> dict[str, Any]:
        """The settings by name, with numbers, true, false and none converted."""
        return read_settings(self.setting, f"strategy {self.label!r}")


@dataclass(frozen=True)
class Experiment:
    """What all runs of a directory have in common.

    Args:
        env: name of the environment.
        engine: `jax`, `host` or `sb3`.
        steps: training steps per run.
        n_envs: environments per run.
        width: runs trained side by side; it affects the last digits of a run's numbers.
        pool: file of the training pool, or the files of several; None for the project's own.
        pool_hash: hash of its tasks, or of those of all pools.
        n_pools: number of training pools; a run plays the one that `pool_index` says.
        test_pool: file of the test pool, if any.
        test_hash: hash of its tasks.
        test_name: what tables call it: `test`, or `targets` if these are its tasks.
        device: `cpu` or `gpu`.
        student: the settings of the learning algorithm as JSON values.
        eval_every: training steps between evaluations; None for the paper's.
        eval_episodes: episodes per task and evaluation; None for the paper's.
        eval_tasks: tasks of the training pool that evaluations play; None for the paper's number.
        eval_stochastic: whether evaluations sample actions; None for as in the paper.
        env_version: identifies the code of an environment that is not ours; None if nothing does.
    """

    env: str
    engine: str
    steps: int
    n_envs: int = 1
    width: int = 1
    pool: str | list[str] | None = None
    pool_hash: str = ""
    n_pools: int = 1
    test_pool: str | None = None
    test_hash: str | None = None
    test_name: str = TEST
    device: str = "cpu"
    student: dict[str, Any] | None = None
    eval_every: int | None = None
    eval_episodes: int | None = None
    eval_tasks: int | None = None
    eval_stochastic: bool | None = None
    env_version: str | None = None

    @property
    def one_by_one(self) -> bool:
        """Whether a user records runs one at a time, so that the plan is what exists."""
        return "algorithm" in (self.student or {})

    def on(self, pools: Sequence[TaskPool]) -> Self:
        """The experiment with the number and the hash of its training pools."""
        return replace(self, pool_hash=pools_hash(pools), n_pools=len(pools))

    def pool_of(self, seed: int) -> int | None:
        """Which of several training pools the run with a seed plays; None if there is only one."""
        return pool_index(seed, self.n_pools) if self.n_pools > 1 else None

    def to_json(self) -> str:
        """All fields as JSON; numbers may be NumPy's."""
        return json.dumps(asdict(self), default=_plain)

    def compared_fields(self) -> dict[str, Any]:
        """The fields, as JSON values, that differ if two experiments do."""
        fields: dict[str, Any] = json.loads(self.to_json())
        return {name: value for name, value in fields.items() if name not in NOT_COMPARED}

    def check(self) -> None:
        """Raise if a number is out of range."""
        for name in ("steps", "n_envs", "width", "n_pools"):
            require_integer(name, getattr(self, name), at_least=1)
        for name in ("eval_every", "eval_episodes", "eval_tasks"):
            if getattr(self, name) is not None:
                require_integer(name, getattr(self, name), at_least=1)


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"an experiment must hold what JSON can, got {value!r}")


def differences(
    there: Experiment, wanted: Experiment, of_pools: Callable[[], str] | None = None
) -> str:
    """How an experiment differs from the one wanted, in a few words; empty if it does not.

    Args:
        there: the experiment.
        wanted: what it should be.
        of_pools: says how its training pools differ, if they are known.
    """
    expected = wanted.compared_fields()
    found = {
        name: _difference(name, value, expected[name])
        for name, value in there.compared_fields().items()
        if value != expected[name]
    }
    if "n_pools" in found:
        found.pop("pool_hash", None)  # says no more
    elif "pool_hash" in found and of_pools is not None:
        found["pool_hash"] = of_pools()
    # With another environment, nearly everything else differs too.
    return found.get("env") or "; ".join(found.values())


def _difference(name: str, there: Any, expected: Any) -> str:
    if name == "n_pools":
        return f"its runs are spread over {there} pool{'s' * (there > 1)}, not {expected}"
    if name in HASHES:
        if name == "test_hash" and None in (there, expected):
            return f"it has {'no' if there is None else 'a'} test pool"
        return HASHES[name]
    if isinstance(there, dict) and isinstance(expected, dict):
        names = [key for key in there | expected if there.get(key) != expected.get(key)]
        there, expected = ({key: of[key] for key in names if key in of} for of in (there, expected))
    shown = [
        "the default" if name in DEFAULTS and v is None else repr(v) for v in (there, expected)
    ]
    return f"{name} is {shown[0]}, not {shown[1]}"


def pool_index(seed: int, n_pools: int) -> int:
    """Which of several training pools a run plays: with seed i, the pool i mod n.

    All strategies therefore play the same pools with the same seeds.
    """
    return seed % n_pools


def pools_hash(pools: Sequence[TaskPool]) -> str:
    """The hash of the tasks of one training pool, or of several in order."""
    if len(pools) == 1:
        return pools[0].fingerprint
    return hashlib.sha256("\n".join(pool.fingerprint for pool in pools).encode()).hexdigest()


class RunPlan(NamedTuple):
    """The runs that a directory is meant to hold: seeds 0 to n − 1 of every contender."""

    seeds: dict[str, int]  # n by label, in the order in which contenders were added

    def extend(self, contenders: Sequence[Contender], seeds: int) -> Self:
        """With more contenders or more seeds; a plan never shrinks."""
        more = dict(self.seeds)
        for contender in contenders:
            more[contender.label] = max(seeds, more.get(contender.label, 0))
        return self._replace(seeds=more)
