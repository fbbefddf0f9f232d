"""From a request to an experiment: its description, and the width and cost of its batches."""

import math
import os
from collections.abc import Sequence
from typing import Any

from procurl.envs import make_host_env
from procurl.experiments.engines.registry import resolve_engine
from procurl.experiments.presets import contender_strategy
from procurl.experiments.request import ComparisonRequest
from procurl.experiments.training_pools import PoolText, listed
from procurl.internals.settings import describe
from procurl.records.experiment import Contender, Experiment
from procurl.tasks.pool import TaskPool

CPU_WIDTH = 8
GPU_WIDTH = 128
USUAL_HORIZON = 200  # steps of an episode, if the environment does not say


def make_experiment(request: ComparisonRequest, device: str) -> Experiment:
    """What all runs of the request have in common.

    Args:
        request: what the user asks.
        device: `cpu` or `gpu`, which decides the engine and the width of batches.
    """
    test_pool = request.pools.test
    preset, training, evaluation = request.preset, request.training, request.evaluation
    own = request.source is not None
    every = evaluation.eval_every
    # A preset's own numbers, written out, are the same experiment as the default. Those for other
    # environments follow from the number of steps, and are written out.
    default_every = preset.eval_every if own else None
    return Experiment(
        env=request.name,
        engine=resolve_engine(request.engine, request.env, device),
        steps=training.steps or preset.steps,
        n_envs=training.n_envs,
        width=width_of(request, device),
        pool=_places(training.pool),
        test_pool=_place(request.test_pool),
        test_hash=None if test_pool is None else test_pool.fingerprint,
        test_name=request.test_name,
        device=device,
        student=describe(request.student),
        eval_every=default_every if every in (None, preset.eval_every) else every,
        eval_episodes=_changed(evaluation.eval_episodes, preset.eval_episodes),
        eval_tasks=_changed(evaluation.eval_tasks, preset.eval_tasks),
        eval_stochastic=_changed(evaluation.eval_stochastic, preset.eval_stochastic),
        env_version=None if request.source is None else request.source.version,
    )


def _changed(value: Any, default: Any) -> Any:
    """The value, None if it is the default."""
    return None if value == default else value


def _places(pool: PoolText | Sequence[PoolText] | None) -> str | list[str] | None:
    """The place of each of several training pools, or of the only one."""
    places = [place for each in listed(pool) if (place := _place(each)) is not None]
    return places if len(places) > 1 else next(iter(places), None)


def _place(pool: PoolText | None) -> str | None:
    """The absolute path of a pool's file, or what the user wrote in its place."""
    if pool is None or isinstance(pool, TaskPool):
        return None
    return pool if pool.startswith("seeds:") else os.path.abspath(pool)


def width_of(request: ComparisonRequest, device: str) -> int:
    """The number of seeds to train side by side in a new directory.

    It depends on the request and the kind of device only, never on the number of cores, because a
    run's numbers depend on it. By default seeds fill as few batches as `CPU_WIDTH` or `GPU_WIDTH`
    allows; on a CPU all batches have about the same width.
    """
    width = request.training.width
    engine = resolve_engine(request.engine, request.env, device)
    if engine in ("host", "sb3"):
        if width not in (None, 1):
            raise ValueError(
                f"width must be 1 for the engine {engine}, which trains one run at a time in each "
                f"process, got {width}"
            )
        return 1
    if _differ_in_size(request):
        if width not in (None, 1):
            raise ValueError(
                f"width must be 1 for pools of different sizes, got {width}: runs that are trained "
                "side by side need pools with the same number of tasks"
            )
        return 1
    if width is not None:
        return width
    if device == "gpu":
        return min(request.seeds, GPU_WIDTH)
    batches = math.ceil(request.seeds / CPU_WIDTH)
    return math.ceil(request.seeds / batches)


def _differ_in_size(request: ComparisonRequest) -> bool:
    """Whether the training pools have different numbers of tasks; those that are drawn do not."""
    given = listed(request.training.pool)
    return len(given) > 1 and len({len(pool) for pool in request.pools.training}) > 1


def cost_of(request: ComparisonRequest, contender: Contender) -> float:
    """About how many environment steps a contender takes for each step of training."""
    steps = request.training.steps or request.preset.steps
    strategy = contender_strategy(request.name, contender).for_training(steps)
    plan = strategy.rollout_plan()
    if plan is None:
        return 1.0
    tasks = plan.tasks_of(len(request.pools.training[0]))
    episodes = tasks * plan.episodes / (strategy.refresh_every or 1)
    cost = 1.0 + episodes * _horizon(request)
    return float(min(cost, plan.budget or cost))


def _horizon(request: ComparisonRequest) -> int:
    if request.source is None:
        return make_host_env(request.env).horizon
    return request.spaces.horizon or USUAL_HORIZON
