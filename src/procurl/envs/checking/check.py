"""`check_environment`: measure, judge, and say which strategy follows."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
from gymnasium.spaces import Box, Dict

from procurl.envs.checking.finding import Finding
from procurl.envs.checking.findings import RESET_SAMPLES, judge
from procurl.envs.checking.measure import measure
from procurl.envs.checking.measurements import Measurements
from procurl.envs.checking.player import Player
from procurl.envs.checking.spaces import judge_spaces
from procurl.envs.checking.student_spaces import default_policy
from procurl.internals.checks import require_integer, require_number
from procurl.strategies.registry import DEFAULT_STRATEGY
from procurl.tasks.pool import TaskPool

WIDTH = 80  # columns of the table
INDENT = 19  # columns before the text of a finding


@dataclass(frozen=True)
class EnvironmentCheck:
    """What a curriculum would see of an environment. `print` shows it as a table.

    Args:
        pool: the tasks.
        observation_space, action_space: of the environment.
        measurements: what was measured.
        findings: what follows from it.
        strategy: the name of the strategy to train with.
        alternative: the name of another one, which is worth a comparison.
        reason: why the alternative.
    """

    pool: TaskPool
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    measurements: Measurements
    findings: tuple[Finding, ...]
    strategy: str
    alternative: str
    reason: str

    @property
    def usable(self) -> bool:
        """Whether nothing was found that makes training pointless."""
        return all(finding.level != "problem" for finding in self.findings)

    @property
    def policy(self) -> str:
        """The policy class of Stable-Baselines3 for these observations."""
        return default_policy(self.observation_space)

    @property
    def reset_samples(self) -> int:
        """Starts per task over which the critic's value should be averaged."""
        starts = self.measurements.starts
        random = starts is not None and starts.repeats and starts.varies
        return RESET_SAMPLES if random and self.alternative == "procurl-val" else 1

    def with_finding(self, *finding: Any) -> "EnvironmentCheck":
        """This check and one more finding, from the fields of a `Finding`."""
        return replace(self, findings=(*self.findings, Finding(*finding)))

    def __str__(self) -> str:
        """The table, at most 80 columns wide."""
        lines = [
            *_wrap("tasks", str(self.pool)),
            *_wrap("observations", _describe(self.observation_space)),
            *_wrap("actions", _describe(self.action_space)),
            "",
        ]
        for finding in self.findings:
            lines += _wrap(finding.subject, finding.text, finding.level)
            if finding.remedy:
                lines += _wrap(" " * INDENT + "->", finding.remedy)
        return "\n".join(lines)


def check_environment(
    env: gymnasium.Env[Any, Any],
    pool: TaskPool | None = None,
    set_task: Callable[[Any, Any], None] | None = None,
    *,
    steps: int = 20_000,
    seconds: float = 5.0,
    seed: int = 0,
) -> EnvironmentCheck:
    """Play an environment with random actions and say what a curriculum would see of it.

    An exception of the environment is a finding that names the task; it is not raised.

    >>> print(check_environment(MyEnv(), TaskPool(contexts)))  # doctest: +SKIP

    Args:
        env: an environment, wrapped in `TaskEnv` if it is not one already. It is played, so pass
            one that is not in use.
        pool: its tasks; None for those of a `TaskEnv`. Of large pools a sample is played.
        set_task: as for `TaskEnv`.
        steps: of random play, at most.
        seconds: about which the check takes at most, on a slow environment.
        seed: of the sample, the environment and the actions.
    """
    require_integer("steps", steps, at_least=1)
    require_number("seconds", seconds, above=0.0)
    require_integer("seed", seed, at_least=0)
    player = Player(env, pool, set_task)
    found = measure(player, steps=steps, seconds=seconds, seed=seed)
    alternative, reason = _alternative(found)
    return EnvironmentCheck(
        player.pool,
        player.observation_space,
        player.action_space,
        found,
        (
            *judge(found, player.pool, player.has_set_task),
            *judge_spaces(player.observation_space, player.action_space),
        ),
        DEFAULT_STRATEGY,
        alternative,
        reason,
    )


def _alternative(found: Measurements) -> tuple[str, str]:
    """(the strategy besides the default that the measurements speak for, the reason)."""
    starts = found.starts
    if starts is None or not starts.repeats or starts.few:
        return "procurl-out", "it is unknown whether a critic can tell tasks apart"
    if starts.tell_tasks_apart:
        return "procurl-val", "the critic can tell tasks apart by their first observations"
    return "procurl-out", "the critic cannot tell tasks apart by their first observations"


def _describe(space: gymnasium.Space[Any]) -> str:
    """A space in few words: the bounds of a box may fill pages."""
    if isinstance(space, Box):
        return f"Box of shape {space.shape}, {space.dtype}"
    if isinstance(space, Dict):
        return "; ".join(f"{name}: {_describe(part)}" for name, part in space.items())
    text = str(space)
    return text if len(text) <= WIDTH and "<" not in text else type(space).__name__


def _wrap(subject: str, text: str, level: str = "") -> list[str]:
    """One finding in as many lines as it needs."""
    start = f"{level:<9}{subject:<9} " if level else f"{subject:<{INDENT - 1}} "
    indent = " " * len(start)
    return textwrap.wrap(
        text, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )
