"""The check that runs when training starts: short, and silent if all is well."""

from time import perf_counter
from typing import Any

import gymnasium

from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.checking.findings import judge
from procurl.envs.checking.measure import look, play_randomly, respond, sample_tasks
from procurl.envs.checking.measurements import Measurements
from procurl.envs.checking.player import Player, PlayError

SECONDS = 0.5  # about, at most
END_SECONDS = 1.5  # more, at most, if no episode has ended
TASKS = 20  # at most, whose first observations are compared
STEPS = 200  # of random play
# An error would end training anyway.
SUBJECTS = ("pool", "tasks", "resets", "rewards", "observations", "episodes")


def start_warnings(env: gymnasium.Env[Any, Any]) -> list[str]:
    """What would make training pointless, one message each; plays `env`, so pass a copy.

    procurl's own environments are not checked.

    Args:
        env: a `TaskEnv`, possibly inside other wrappers.
    """
    start, player = perf_counter(), Player(env)
    if isinstance(env.unwrapped, GymEnv):
        return []
    if len(player.pool) == 1:
        return ["the pool has a single task, which leaves a curriculum nothing to choose"]
    tasks = sample_tasks(len(player.pool), TASKS, seed=0)
    try:
        starts = look(player, tasks, 0, start + SECONDS / 2)
        responses = respond(player, starts, 0, start + 3 * SECONDS / 4)
        play = play_randomly(player, tasks, STEPS, 0, start + SECONDS)
        if not len(play.lengths) and not play.unending:
            play = play_randomly(player, tasks, STEPS, 0, perf_counter() + END_SECONDS)
    except PlayError:  # training meets it as well, and reports it
        return []
    found = judge(Measurements(starts, responses, play), player.pool, player.has_set_task)
    return [
        f"{finding.text}. {finding.remedy} `procurl check` shows more."
        for finding in found
        if finding.level == "problem" and finding.subject in SUBJECTS
    ]
