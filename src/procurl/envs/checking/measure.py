"""Measure an environment: its first observations, its responses to tasks, its random episodes."""

from itertools import chain, cycle
from time import perf_counter
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from procurl.envs.checking.measurements import (
    Measurements,
    Misfit,
    Place,
    RandomPlay,
    Responses,
    Starts,
)
from procurl.envs.checking.player import Player, PlayError, digest, is_finite
from procurl.internals.arrays import Ids

TASKS = 200  # at most, whose first observations are compared
REPEATS = 5  # tasks that are reset again
PAIRS = 8  # tasks that are compared with the one they look like
RESPONSE_STEPS = 500  # of one such comparison, over one or more episodes
LEAST_STEPS = 10  # of one such episode, whatever the time
REPLAYED = 20  # tasks that are played more than once
EPISODE_LIMIT = 10_000  # steps after which an episode counts as one that never ends
UNENDING = 2  # such episodes are enough
INSPECTIONS = 1_000  # observations that are compared with their space


def measure(player: Player, *, steps: int, seconds: float, seed: int) -> Measurements:
    """Measure for about `seconds`; an error of the environment ends it.

    Args:
        player: plays the tasks.
        steps: of random play, at most.
        seconds: of which a third is for the first observations and responses, at most.
        seed: of the tasks, the environment and the actions.
    """
    start = perf_counter()
    found = Measurements()
    tasks = sample_tasks(len(player.pool), TASKS, seed)
    try:
        starts = look(player, tasks, seed, start + seconds / 4)
        found = found._replace(starts=starts)
        found = found._replace(responses=respond(player, starts, seed, start + seconds / 3))
        until = max(start + seconds, perf_counter() + seconds / 3)  # resets may be slow
        found = found._replace(play=play_randomly(player, tasks, steps, seed, until))
    except PlayError as error:
        return found._replace(failure=error.failure)
    return found


def sample_tasks(n: int, size: int, seed: int) -> Ids:
    """All ids of a pool of n tasks, or `size` random ones, in order."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def look(player: Player, tasks: Ids, seed: int, until: float) -> Starts:
    """Compare first observations, of the first two tasks at least and of `tasks` [m] in time."""
    misfit, seen = None, []
    for task in tasks.tolist():
        observation = player.reset(task, seed)
        misfit = misfit or _misfit(player, observation, task, 0)
        seen.append(digest(observation))
        if len(seen) >= 2 and perf_counter() > until:
            break
    again = tasks[: 1 if perf_counter() > until else min(REPEATS, len(seen))].tolist()
    repeats = all(digest(player.reset(task, seed)) == seen[i] for i, task in enumerate(again))
    varies = any(digest(player.reset(task, seed + 1)) != seen[i] for i, task in enumerate(again))
    groups = np.unique(np.array(seen, dtype="S16"), return_inverse=True)[1]
    cut_short = len(seen) < len(tasks)
    return Starts(tasks[: len(seen)], groups.reshape(-1), repeats, varies, misfit, cut_short)


def respond(player: Player, starts: Starts, seed: int, until: float) -> Responses:
    """Play tasks that look alike with the same actions, and see whether they differ later."""
    twins, steps, pairs = [], 0, _alike(starts)
    compared = 0
    for one, other in pairs:
        if compared and perf_counter() > until:
            break
        differ, taken = _differ(player, (one, other), seed, until)
        compared, steps = compared + 1, steps + taken
        if not differ:
            twins.append((one, other))
    attribute = _differing_attribute(player, twins[0], seed) if twins else None
    return Responses(compared, tuple(twins), steps, attribute)


def _differing_attribute(player: Player, tasks: tuple[int, int], seed: int) -> str | None:
    """An attribute of the environment in which two tasks differ right after a reset.

    One that changes with every reset, such as a counter, does not count.
    """
    kept = []
    for task in (tasks[0], tasks[0], tasks[1], tasks[1]):
        player.reset(task, seed)
        kept.append(player.attributes())
    one, again, other, other_again = kept
    for name in one:
        repeats = one[name] == again.get(name) and other.get(name) == other_again.get(name)
        if repeats and one[name] != other.get(name):
            return name
    return None


def _alike(starts: Starts) -> list[tuple[int, int]]:
    """Pairs of tasks with the same first observation: the first of each group and the others."""
    pairs = []
    for group in np.unique(starts.groups):
        first, *others = starts.tasks[starts.groups == group].tolist()
        pairs += [(first, other) for other in others]
    return [pairs[i] for i in sample_tasks(len(pairs), PAIRS, 0)]


def _differ(player: Player, tasks: tuple[int, int], seed: int, until: float) -> tuple[bool, int]:
    """(whether two tasks respond differently to the same actions, steps compared)."""
    steps = episode = 0
    while steps < RESPONSE_STEPS and not (steps and perf_counter() > until):
        first, second = (_trace(player, task, seed + episode, until) for task in tasks)
        common = min(len(first), len(second))  # one may have run out of time
        steps += common
        if first[:common] != second[:common]:
            return True, steps
        episode += 1
    return False, steps


def _trace(player: Player, task: int, seed: int, until: float) -> list[tuple[bytes, float, bool]]:
    """Observation, reward and end of every step of an episode with the actions of `seed`."""
    player.seed_actions(seed)
    player.reset(task, seed)
    trace: list[tuple[bytes, float, bool]] = []
    for length in range(RESPONSE_STEPS):
        step = player.step(player.random_action())
        trace.append((digest(step.observation), float(np.nan_to_num(step.reward)), step.over))
        if step.over or (length >= LEAST_STEPS and perf_counter() > until):
            break
    return trace


def play_randomly(player: Player, tasks: Ids, steps: int, seed: int, until: float) -> RandomPlay:
    """Play `tasks` once, in random order, then some of them again and again.

    This ends after a number of steps or at the time `until`, in seconds of `perf_counter`.
    """
    tally = _Tally(player)
    rng = np.random.default_rng(seed)
    player.seed_actions(seed)
    order = rng.permutation(tasks).tolist()
    for task in chain(order, cycle(order[:REPLAYED])):
        tally.episode(task, int(rng.integers(2**31)), steps, until)
        if tally.enough(steps, until):
            break
    return tally.result()


class _Tally:
    """Episodes as they are played."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.rows: list[tuple[int, float, int, float]] = []
        self.unending: list[int] = []
        self.steps = self.inspected = 0
        self.bad_reward: Place | None = None
        self.bad_observation: Place | None = None
        self.misfit: Misfit | None = None
        self.has_info_success = False
        self.seconds_before = player.seconds

    def enough(self, steps: int, until: float) -> bool:
        late = perf_counter() > until
        return late or self.steps >= steps or len(self.unending) >= UNENDING

    def episode(self, task: int, seed: int, steps: int, until: float) -> None:
        """Play one episode, which is recorded if it ends in time."""
        self._inspect(self.player.reset(task, seed), task, 0)
        total, length = 0.0, 0
        while True:
            step = self.player.step(self.player.random_action())
            total, length, self.steps = total + step.reward, length + 1, self.steps + 1
            if self.bad_reward is None and not np.isfinite(step.reward):
                self.bad_reward = Place(task, length, step.reward)
            self._inspect(step.observation, task, length)
            if step.over:
                self.rows.append((task, total, length, self._success(step.info, task)))
                return
            if length >= EPISODE_LIMIT:
                self.unending.append(task)
                return
            if self.steps >= max(steps, EPISODE_LIMIT) or perf_counter() > until:
                return

    def result(self) -> RandomPlay:
        tasks, returns, lengths, success = zip(*self.rows, strict=True) if self.rows else ((),) * 4
        return RandomPlay(
            np.array(tasks, dtype=np.int64),
            np.array(returns, dtype=np.float64),
            np.array(lengths, dtype=np.int64),
            np.array(success, dtype=np.float64),
            tuple(self.unending),
            EPISODE_LIMIT,
            self.steps,
            self.player.seconds - self.seconds_before,
            self.bad_reward,
            self.bad_observation,
            self.misfit,
            self.has_info_success,
        )

    def _inspect(self, observation: Any, task: int, step: int) -> None:
        """Compare the first observations of all with their space; look for NaN in every one."""
        if self.bad_observation is None and not is_finite(observation):
            self.bad_observation = Place(task, step, float("nan"))
        if self.inspected < INSPECTIONS:
            self.inspected += 1
            self.misfit = self.misfit or _misfit(self.player, observation, task, step)

    def _success(self, info: Any, task: int) -> float:
        flag = np.asarray(info.get("is_success", np.nan))
        if flag.size == 1 and flag.dtype.kind in "biuf" and float(flag.item()) in (0.0, 1.0):
            return float(flag.item())
        if "is_success" in info:
            text = (
                "info['is_success'] must be True or False at the end of an episode, got "
                f"{info['is_success']!r} on task {task}"
            )
            remedy = "Leave it out if the environment has no notion of success."
            self.misfit = self.misfit or Misfit(text, True, "success", remedy)
        self.has_info_success |= "success" in info
        return float("nan")


def _misfit(player: Player, observation: Any, task: int, step: int) -> Misfit | None:
    """How an observation differs from the observation space, None if it fits."""
    space = player.observation_space
    if space.contains(observation) or not is_finite(observation):  # that is found elsewhere
        return None
    where = f"the observation at {f'step {step} of' if step else 'the reset to'} task {task}"
    if isinstance(space, Box) and isinstance(observation, np.ndarray):
        if observation.shape != space.shape:
            return Misfit(f"{where} has shape {observation.shape}, its space {space.shape}", True)
        if not np.can_cast(observation.dtype, space.dtype):
            text = f"{where} is {observation.dtype}, its space {space.dtype}"
            return Misfit(text, False)
        below, above = observation < space.low, observation > space.high
        if (below | above).any():
            entry = tuple(int(i) for i in np.argwhere(below | above)[0])
            text = f"{where} is outside its space, {observation[entry]:g} at {list(entry)}"
            return Misfit(text, False)
    return Misfit(f"{where} is not in its space", False)
