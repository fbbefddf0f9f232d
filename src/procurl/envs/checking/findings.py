"""Judge what was measured: each finding says what was seen, what follows, and what to do."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from procurl.envs.adapters.task_errors import END_EPISODES, EnvironmentFailure
from procurl.envs.adapters.task_reading import how_passed, option_name
from procurl.envs.checking.measurements import (
    Measurements,
    Misfit,
    RandomPlay,
    Responses,
    Starts,
)
from procurl.internals.arrays import Floats, Ids
from procurl.tasks.pool import TaskPool

RESET_SAMPLES = 5  # starts per task that are advised if resets are random
MEASURED = 5  # episodes of a task whose mean return is shown
ASSIGNMENTS = 200  # random ones, to see whether tasks differ by more than chance
CHANCE = 0.1  # share of them from which on a difference is put down to chance
EXAMPLE_STEPS = 1_000_000  # whose duration is stated
ENOUGH_STEPS = 100  # after which a task that changed nothing is a problem
NAMED = 3  # examples of tasks in a finding


class Finding(NamedTuple):
    """One line of the table."""

    level: Literal["ok", "note", "problem"]  # a problem makes training pointless
    subject: str
    text: str  # what was seen
    remedy: str = ""  # what follows and what to do


def judge(found: Measurements, pool: TaskPool, has_set_task: bool) -> tuple[Finding, ...]:
    """All findings, from the tasks to the speed.

    Args:
        found: the measurements.
        pool: the tasks.
        has_set_task: whether a function sets the task.
    """
    findings = [*_pool(pool)]
    if found.failure is not None:
        findings.append(_failure(found.failure, pool, has_set_task))
    if found.starts is not None:
        findings += _starts(found.starts, found.responses, pool, has_set_task)
        if found.starts.misfit is not None and (found.play is None or found.play.misfit is None):
            findings.append(_misfit(found.starts.misfit))
    if found.play is not None:
        findings += _play(found.play)
    return tuple(findings)


def _pool(pool: TaskPool) -> Iterator[Finding]:
    if len(pool) == 1:
        yield Finding(
            "problem", "pool", "it has one task", "A curriculum needs several: add tasks."
        )
        return
    if pool.contexts is None:
        return
    constant = [
        name
        for name, column in zip(pool.names, pool.contexts.T, strict=True)
        if column.min() == column.max()
    ]
    if constant:
        yield Finding(
            "note",
            "pool",
            f"the same number in every task: {', '.join(constant)}",
            "Check the file: a constant column does not distinguish tasks.",
        )
    _, first = np.unique(pool.contexts, axis=0, return_index=True)
    if len(first) < len(pool):
        copies = np.setdiff1d(np.arange(len(pool)), first)
        yield Finding(
            "note",
            "pool",
            f"{len(copies)} of {len(pool)} tasks repeat an earlier row ({_names(copies)})",
            "Repeated tasks are drawn more often: remove them.",
        )


def _failure(failure: EnvironmentFailure, pool: TaskPool, has_set_task: bool) -> Finding:
    remedy = "Training would stop there" + (f": {failure.remedy}." if failure.remedy else ".")
    if failure.in_reset and not has_set_task:
        how = how_passed(pool)
        remedy += "" if how in remedy else f" The task is passed as {how}."
    return Finding("problem", "errors", failure.text, remedy)


def _starts(
    starts: Starts, responses: Responses | None, pool: TaskPool, has_set_task: bool
) -> Iterator[Finding]:
    m, distinct = len(starts.tasks), starts.distinct
    if not starts.repeats:
        yield _unrepeatable(pool, has_set_task)
    elif m > 1:
        if distinct == m:
            text = f"all {m} first observations differ"
            yield Finding("ok", "tasks", f"{text}: the critic can tell tasks apart")
        elif responses is not None and distinct == 1 and len(responses.twins) == responses.pairs:
            yield _nothing_changes(responses, pool, has_set_task)
        else:
            yield from _alike(starts, responses)
    if starts.repeats and not starts.varies:
        yield Finding("ok", "resets", "a task always starts in the same way")
    elif starts.repeats and starts.tell_tasks_apart:
        yield Finding(
            "note",
            "resets",
            "random: one task starts in different ways",
            "The critic's value of one start is noisy: average over several with "
            f"CurriculumCallback(…, reset_samples={RESET_SAMPLES}).",
        )
    elif starts.repeats:
        yield Finding("ok", "resets", "random: one task starts in different ways")


def _unrepeatable(pool: TaskPool, has_set_task: bool) -> Finding:
    """Resets with one seed differ."""
    by_seed = pool.seeds is not None and not has_set_task
    follows = "so a seed is not a task" if by_seed else "so it is unknown whether tasks differ"
    return Finding(
        "problem" if by_seed else "note",
        "resets",
        f"two resets to one task with one seed differ, {follows}",
        "Call super().reset(seed=seed) in reset and draw all random numbers from self.np_random.",
    )


def _nothing_changes(responses: Responses, pool: TaskPool, has_set_task: bool) -> Finding:
    """The task makes no difference at all."""
    if responses.steps < ENOUGH_STEPS:
        return Finding(
            "note",
            "tasks",
            f"the task changed nothing in the {responses.steps} steps for which there was time",
            "Repeat the check with more --seconds: it is unknown whether the task is used.",
        )
    if responses.attribute is not None:
        return Finding(
            "note",
            "tasks",
            f"the task changes the attribute {responses.attribute!r} of the environment, but in "
            f"{responses.steps:,} steps with one seed and the same actions no observation and no "
            "reward",
            "This is fine if tasks differ in rewards that random actions never reach. The critic "
            "cannot tell such tasks apart: use procurl, which needs no critic.",
        )
    if has_set_task:
        remedy = (
            "set_task must change what reset and step use: set attributes of env.unwrapped, not of "
            "a wrapper, and do not let reset overwrite them."
        )
    elif pool.seeds is not None:
        remedy = (
            "reset must build the level from its seed: call super().reset(seed=seed) and draw from "
            "self.np_random. Or use a pool of contexts."
        )
    else:
        remedy = (
            f"reset must use options[{option_name(pool)!r}]. Or pass --set-task FILE.py:function "
            "(set_task=… in Python), which is called as set_task(env, task) before each reset."
        )
    return Finding(
        "problem",
        "tasks",
        "the task changes nothing: with one seed and the same actions, observations and rewards "
        f"were the same on all tasks compared ({responses.steps:,} steps)",
        remedy,
    )


def _alike(starts: Starts, responses: Responses | None) -> Iterator[Finding]:
    """Some tasks look alike at first."""
    groups, counts = np.unique(starts.groups, return_counts=True)
    largest = starts.tasks[starts.groups == groups[counts.argmax()]]
    text = f"all {len(starts.tasks)} first observations are the same"
    if starts.distinct > 1:
        text = (
            f"{starts.distinct} different first observations in {len(starts.tasks)} tasks "
            f"({_names(largest)} look alike)"
        )
    yield Finding(
        "note",
        "tasks",
        text,
        "The critic cannot tell such tasks apart: add the task to the observation, or use "
        "procurl, which needs no critic.",
    )
    if responses is None or not responses.pairs:
        return
    if responses.twins:
        pair = _names(np.array(responses.twins[0]))
        yield Finding(
            "note",
            "tasks",
            f"{len(responses.twins)} of {responses.pairs} pairs that look alike never differed "
            f"({pair}), with one seed and the same actions",
            "Tasks that are the same are drawn more often: check that the task is used.",
        )
    else:
        yield Finding("ok", "tasks", "those that look alike at first differ later")


def _play(play: RandomPlay) -> Iterator[Finding]:
    if play.misfit is not None:
        yield _misfit(play.misfit)
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


def _misfit(misfit: Misfit) -> Finding:
    level: Literal["note", "problem"] = "problem" if misfit.stops_training else "note"
    return Finding(level, misfit.subject, misfit.text, misfit.remedy)


def _names(tasks: Ids) -> str:
    """'tasks 1, 4, 9, …'."""
    listed = ", ".join(str(task) for task in tasks[:NAMED])
    return f"task{'s' if len(tasks) > 1 else ''} {listed}{', …' if len(tasks) > NAMED else ''}"


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
