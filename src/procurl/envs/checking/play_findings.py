"""Judge the episodes of a random policy."""

from collections.abc import Iterator

import numpy as np

from procurl.envs.adapters.task_errors import END_EPISODES
from procurl.envs.checking.finding import Finding, misfit_finding
from procurl.envs.checking.measurements import RandomPlay
from procurl.internals.arrays import Floats, Ids

MEASURED = 5  # episodes of a task whose mean return is shown
ENOUGH_EPISODES = 10  # for a conclusion
ASSIGNMENTS = 200  # random ones, to see whether tasks differ by more than chance
CHANCE = 0.1  # share of them from which on a difference is put down to chance
EXAMPLE_STEPS = 1_000_000  # whose duration is stated


def judge_play(play: RandomPlay, n: int) -> Iterator[Finding]:
    """Findings on episodes, returns, success and speed.

    Args:
        play: the episodes.
        n: number of tasks in the pool.
    """
    if play.misfit is not None:
        yield misfit_finding(play.misfit)
    for what, place in (("reward", play.bad_reward), ("observation", play.bad_observation)):
        if place is not None:
            where = f"step {place.step}" if place.step else "the reset"
            yield Finding(
                "problem",
                f"{what}s",
                f"the {what} at {where} of task {place.task} is {place.value}",
                "One such number spoils the policy: look for a division by zero or a logarithm.",
            )
    yield _ends(play)
    if len(play.returns) and play.bad_reward is None:
        if _is_little(play, n):
            yield _little(play, n)
        else:
            yield _returns(play)
            yield _success(play)
    yield Finding(
        "ok",
        "speed",
        f"{_number(play.steps_per_second, 2)} steps per second, "
        f"{_duration(EXAMPLE_STEPS / play.steps_per_second)} for {EXAMPLE_STEPS:,} steps without "
        "learning",
    )


def _ends(play: RandomPlay) -> Finding:
    if play.unending:
        return Finding(
            "problem",
            "episodes",
            f"task {play.unending[0]} did not end within {play.limit:,} steps of random actions",
            f"The next task has to wait for the end of an episode: {END_EPISODES}.",
        )
    if not len(play.lengths):
        return Finding(
            "note",
            "episodes",
            f"none ended in the time for {_count(play.steps, 'step')}",
            f"Repeat the check with more --seconds. If episodes may never end, {END_EPISODES}.",
        )
    median, longest = np.median(play.lengths), play.lengths.max()
    return Finding(
        "ok",
        "episodes",
        f"{len(play.lengths):,} ended, at a median length of {median:,.0f} and at most "
        f"{longest:,} steps",
    )


def _is_little(play: RandomPlay, n: int) -> bool:
    """Whether too few episodes of a pool of n tasks have ended for a conclusion."""
    return len(play.returns) < ENOUGH_EPISODES or len(np.unique(play.tasks)) < min(n, 2)


def _little(play: RandomPlay, n: int) -> Finding:
    least, most = play.returns.min(), play.returns.max()
    seen = _number(least) if least == most else f"{_number(least)} to {_number(most)}"
    episodes = _count(len(play.returns), "episode")
    return Finding(
        "note",
        "returns",
        f"{seen} in {episodes} of a random policy, on {len(np.unique(play.tasks))} of {n} tasks",
        "This is too little for a conclusion: repeat the check with more --seconds and --steps.",
    )


def _returns(play: RandomPlay) -> Finding:
    """The returns of a random policy."""
    least, low, middle, high, most = np.quantile(play.returns, [0, 0.05, 0.5, 0.95, 1])
    if least == most:
        return Finding(
            "note",
            "returns",
            f"{_number(least)} in every episode of a random policy",
            "All tasks are alike for it. A curriculum needs some tasks that the untrained agent "
            "solves now and then: add easier ones if training does not start.",
        )
    share = "90% of"
    if low == high:
        share, low, high = "all", least, most
    text = (
        f"{share} returns from {_number(low)} to {_number(high)} for a random policy, median "
        f"{_number(middle)}"
    )
    counts = np.bincount(play.tasks)
    often = np.isin(play.tasks, np.flatnonzero(counts >= MEASURED))
    _, tasks = np.unique(play.tasks[often], return_inverse=True)
    returns = play.returns[often]
    if not len(tasks) or tasks.max() == 0:
        return Finding("ok", "returns", text)
    means = _means(tasks, returns)
    text += f"; tasks average {_number(means.min())} to {_number(means.max())}"
    if _spread_by_chance(tasks, returns) < CHANCE:
        return Finding("ok", "returns", text)
    return Finding(
        "note",
        "returns",
        f"{text}, which is no more than chance",
        "A curriculum helps if some tasks are harder than others. For a random policy these are "
        "equally hard, or it succeeds too rarely to tell.",
    )


def _means(tasks: Ids, returns: Floats) -> Floats:
    """[k] mean returns of tasks 0 to k − 1."""
    return np.asarray(np.bincount(tasks, weights=returns) / np.bincount(tasks))


def _spread_by_chance(tasks: Ids, returns: Floats) -> float:
    """Share of random assignments of returns to tasks whose means differ as much as the real ones.

    The spread is the sum of squares between tasks.
    """
    rng, counts = np.random.default_rng(0), np.bincount(tasks)
    mean = returns.mean()

    def spread(assigned: Floats) -> float:
        return float((counts * (_means(tasks, assigned) - mean) ** 2).sum())

    seen = spread(returns)
    return float(np.mean([spread(rng.permutation(returns)) >= seen for _ in range(ASSIGNMENTS)]))


def _success(play: RandomPlay) -> Finding:
    """How success is measured."""
    known = ~np.isnan(play.success)
    if known.all():
        rate = play.success.mean()
        text = (
            f"reported in info['is_success'], {rate:.1%} for a random policy; procurl judges "
            "episodes by their return, procurl:measure=success by this"
        )
        if rate == 1:
            return Finding("note", "success", text, "Every task is solved already.")
        return Finding("ok", "success", text)
    if known.any():
        return Finding(
            "note",
            "success",
            f"reported at the end of {known.mean():.0%} of the episodes only",
            "Set info['is_success'] at the end of every episode, also when time runs out.",
        )
    if play.has_info_success:
        return Finding(
            "note",
            "success",
            "found info['success']; procurl reads info['is_success']",
            "Set info['is_success'] to the same value at the end of every episode.",
        )
    if np.isin(play.returns, (0.0, 1.0)).all():
        text = "returns are 0 or 1 and serve as success"
        if play.returns.min() == play.returns.max():
            text = f"returns serve as success; all were {play.returns[0]:g}"
        return Finding("ok", "success", text)
    return Finding(
        "note",
        "success",
        "not reported: judged by the return, on the range of returns seen so far",
        "Set info['is_success'] at the end of an episode if a task can be solved. Or, if you know "
        "the returns of a failure and a success, pass them with the strategy: --strategies "
        "procurl:v_min=…,v_max=… or procurl-val:v_min=…,v_max=… (there discounted).",
    )


def _count(number: int, noun: str) -> str:
    """'1 step', '2 steps'."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _number(value: float, digits: int = 3) -> str:
    """A number with few digits, and without an exponent unless it is very large or small."""
    return f"{float(f'{value:.{digits}g}'):,g}"


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} seconds"
