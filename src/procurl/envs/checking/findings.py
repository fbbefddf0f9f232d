"""Judge what was measured: each finding says what was seen, what follows, and what to do."""

from collections.abc import Iterator

import numpy as np

from procurl.envs.adapters.task_errors import EnvironmentFailure
from procurl.envs.adapters.task_reading import how_passed, option_name
from procurl.envs.checking.finding import Finding, misfit_finding
from procurl.envs.checking.measurements import Measurements, Responses, Starts
from procurl.envs.checking.play_findings import judge_play
from procurl.internals.arrays import Ids
from procurl.tasks.pool import TaskPool

RESET_SAMPLES = 5  # starts per task that are advised if resets are random
ENOUGH_STEPS = 100  # after which a task that changed nothing is a problem
NAMED = 3  # examples of tasks in a finding


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
            findings.append(misfit_finding(found.starts.misfit))
    if found.play is not None:
        findings += judge_play(found.play, len(pool))
    return tuple(findings)


def _pool(pool: TaskPool) -> Iterator[Finding]:
    if len(pool) == 1:
        yield Finding(
            "problem", "pool", "it has one task", "A curriculum needs several: add tasks."
        )
        return
    if pool.contexts is None:
        return
    if _all_equal(pool):
        yield Finding(
            "problem",
            "pool",
            f"all {len(pool)} tasks of the pool are equal",
            "A curriculum chooses between different tasks: correct the pool.",
        )
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


def _all_equal(pool: TaskPool) -> bool:
    contexts = pool.contexts
    return contexts is not None and bool((contexts == contexts[0]).all())


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
    elif m > 1 and not _all_equal(pool):
        if distinct == m:
            yield _different(starts, len(pool))
        elif responses is not None and distinct == 1 and len(responses.twins) == responses.pairs:
            yield _nothing_changes(responses, pool, has_set_task)
        else:
            yield from _alike(starts, responses, len(pool))
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


def _different(starts: Starts, n: int) -> Finding:
    """All first observations that were seen differ."""
    m = len(starts.tasks)
    text = f"all {m} first observations differ"
    if m < n:
        text = f"the first observations of {m:,} of {n:,} tasks differ"
    if starts.few:
        return Finding(
            "note",
            "tasks",
            f"{text}, and there was no time for more",
            "This is too little for a conclusion: repeat the check with more --seconds.",
        )
    return Finding("ok", "tasks", f"{text}: the critic can tell tasks apart")


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


def _alike(starts: Starts, responses: Responses | None, n: int) -> Iterator[Finding]:
    """Some of n tasks look alike at first."""
    m = len(starts.tasks)
    groups, counts = np.unique(starts.groups, return_counts=True)
    largest = starts.tasks[starts.groups == groups[counts.argmax()]]
    text = f"all {m} first observations are the same"
    if m < n:
        text = f"the first observations of {m:,} of {n:,} tasks are the same"
    if starts.distinct > 1:
        among = f"{m} tasks" if m == n else f"{m:,} of {n:,} tasks"
        text = (
            f"{starts.distinct} different first observations in {among} "
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


def _names(tasks: Ids) -> str:
    """'tasks 1, 4, 9, …'."""
    listed = ", ".join(str(task) for task in tasks[:NAMED])
    return f"task{'s' if len(tasks) > 1 else ''} {listed}{', …' if len(tasks) > NAMED else ''}"
