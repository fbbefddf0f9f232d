"""The strategies that the conformance suite runs over: all registered ones, and variants.

A case says what the suite needs to know of a strategy, so that no test branches on its name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from procurl import (
    Anneal,
    CriticSuccess,
    LinearSchedule,
    Mix,
    NoProgress,
    OutcomeSuccess,
    ProCuRL,
    ProCuRLArgmax,
    ProCuRLTarget,
    RolloutSuccess,
    Stage,
    Stages,
    Steps,
    Strategy,
    SuccessAbove,
    Switch,
    Target,
    TaskPool,
    TopRollouts,
    make_strategy,
    strategy_names,
)

N = 7  # tasks, if a test does not say otherwise


@dataclass(frozen=True)
class Case:
    """A strategy, and which of the properties hold for it that do not hold for all.

    Args:
        make: the strategy for a pool of n tasks.
        bound: whether to bind it to the pool.
        relabel: the strategy for tasks in another order; None if the rule depends on the order.
        chooses: whether it leaves a choice among several tasks, so that seeds show.
        keeps_range: whether an entry that is not finite counts like the latest one before it.
        numeric: a setting that may differ between the runs of a batch, None if there is none.
    """

    make: Callable[[int], Strategy]
    bound: bool = True
    relabel: Callable[[Any, Any], Strategy] | None = lambda strategy, order: strategy
    chooses: bool = True
    keeps_range: bool = True
    numeric: str | None = None

    def strategy(self, n: int = N, contexts: Any = None) -> Strategy:
        """The strategy for `n` tasks, bound to a pool with these contexts [n, 2]."""
        strategy = self.make(n)
        return strategy.bind(pool_of(n, contexts)) if self.bound else strategy


def pool_of(n: int = N, contexts: Any = None) -> TaskPool:
    """A pool of random contexts, or of those given; the larger half of the first are targets."""
    contexts = np.random.default_rng(5).random((n, 2)) if contexts is None else contexts
    first = np.asarray(contexts)[:, 0]
    return TaskPool(contexts, features={"target": first >= np.median(first)})


def scaled(strategy: Strategy, setting: str, factor: float) -> Strategy:
    """`strategy` with a numeric setting, its own or one inside it, multiplied by `factor`.

    `strategies.0.beta` is that of the first of its strategies.
    """
    owner, _, rest = setting.partition(".")
    outer: Any = strategy
    inner = getattr(outer, owner)
    if not rest:
        return replace(outer, **{owner: inner * factor})
    if isinstance(inner, tuple):
        position, _, rest = rest.partition(".")
        i = int(position)
        changed: Any = (*inner[:i], scaled(inner[i], rest, factor), *inner[i + 1 :])
    else:
        changed = scaled(inner, rest, factor)
    return replace(outer, **{owner: changed})


def _registered(name: str) -> Callable[[int], Strategy]:
    return lambda n: make_strategy(name)


# What differs from the defaults of `Case`, for registered strategies.
REGISTERED: dict[str, dict[str, Any]] = {
    "procurl": {"numeric": "floor"},
    "procurl-group": {"numeric": "floor"},
    "procurl-argmax": {"chooses": False, "numeric": "gamma2"},
    "space": {"relabel": None, "chooses": False, "numeric": "eta"},
    "spdl": {"numeric": "threshold"},
    "sfl": {"numeric": "floor"},
    "plr": {"numeric": "rho"},
    "iid": {},
    "target": {"numeric": "floor"},
    "currot": {"relabel": None, "numeric": "threshold"},
    "learning-progress": {"numeric": "center"},
    "alp-gmm": {"numeric": "floor"},
    "stages": {"numeric": "keep"},
    "anneal": {"chooses": False, "numeric": "notch"},
    "mix": {"numeric": "strategies.0.beta"},
    "switch": {"numeric": "when.steps"},
}

VARIANTS: dict[str, Case] = {
    "noise": Case(lambda n: ProCuRL(epsilon=0.2), numeric="epsilon"),
    "schedule": Case(
        lambda n: ProCuRL(beta=LinearSchedule(5.0, 25.0, 4096.0), floor=0.1), numeric="floor"
    ),
    "p* per task": Case(
        lambda n: ProCuRL(p_star=np.linspace(0.2, 1.0, n)),
        relabel=lambda strategy, order: replace(strategy, p_star=strategy.p_star[order]),
        numeric="p_star",
    ),
    "p* estimated": Case(
        lambda n: ProCuRL(success=RolloutSuccess(), p_star=TopRollouts()), numeric="gamma1"
    ),
    "plr by the best return": Case(
        lambda n: make_strategy("plr", score="maxmc", robust=True), numeric="rho"
    ),
    "sfl that keeps three": Case(
        lambda n: make_strategy("sfl", keep=3, floor=0.2, epsilon=0.1), numeric="floor"
    ),
    "sfl by the critic": Case(
        lambda n: make_strategy("sfl", success=CriticSuccess(v_min=0.0, v_max=1.0)),
        numeric="floor",
    ),
    "rollouts on part of the pool": Case(
        lambda n: ProCuRL(success=RolloutSuccess(rollout_tasks=3), p_star=TopRollouts()),
        numeric="gamma1",
    ),
    "range of part of the pool": Case(
        lambda n: ProCuRL(success=RolloutSuccess(rollout_tasks=3, v_min=None, v_max=None)),
        keeps_range=False,
        numeric="beta",
    ),
    "pool range": Case(
        lambda n: ProCuRL(success=CriticSuccess(v_min=None, v_max=None)),
        keeps_range=False,
        numeric="beta",
    ),
    "procurl with a budget": Case(
        lambda n: make_strategy("procurl", budget=1.5),
        keeps_range=False,  # a rollout that is not finite is missing, as if it was not played
        numeric="success.prior_weight",
    ),
    "procurl-env-2 that spends early": Case(
        lambda n: make_strategy("procurl-env-2", spending="early", training_steps=1_000_000),
        numeric="beta",
    ),
    "outcomes without sharing": Case(
        lambda n: ProCuRL(success=OutcomeSuccess()), bound=False, numeric="success.prior_weight"
    ),
    "argmax of outcomes": Case(
        lambda n: ProCuRLArgmax(success=OutcomeSuccess(v_min=None, v_max=None)),
        chooses=False,
        numeric="gamma2",
    ),
    "space-alt over the pool range": Case(
        lambda n: make_strategy("space-alt", v_min=None, v_max=None),
        keeps_range=False,
        numeric="beta",
    ),
    "space with a cap": Case(
        lambda n: make_strategy("space", kappa=3, max_size=4),
        relabel=None,
        chooses=False,
        numeric="eta",
    ),
    "spdl in full steps": Case(
        lambda n: make_strategy("spdl", full_step=True), numeric="threshold"
    ),
    "relative to the best near targets": Case(
        lambda n: make_strategy("procurl-target", relative=True, bandwidth=0.2),
        numeric="bandwidth",
    ),
    "targets by outcomes, only some of them": Case(
        lambda n: ProCuRLTarget(success=OutcomeSuccess(), samples=2, floor=0.1),
        relabel=None,
        numeric="beta",
    ),
    "particles in short steps": Case(
        lambda n: make_strategy(
            "currot", success=CriticSuccess(), particles=5, candidates=3, max_step=0.4, floor=0.1
        ),
        relabel=None,
        numeric="max_step",
    ),
    "targets with a floor": Case(lambda n: Target(floor=0.2), numeric="floor"),
    "absolute learning progress": Case(
        lambda n: make_strategy("learning-progress", form="absolute"), numeric="center"
    ),
    "alp-gmm with frequent fits": Case(
        lambda n: make_strategy(
            "alp-gmm", fit_every=5, buffer=32, memory=64, min_components=1, max_components=3
        ),
        numeric="floor",
    ),
    "stages of several kinds": Case(
        lambda n: Stages(
            stages=(
                Stage(tasks=np.arange(n) % 2 == 0, until=SuccessAbove(0.2, episodes=2.0)),
                Stage(tasks={"context_1": (0.0, 0.9)}, until=Steps(500.0) | NoProgress(2000.0)),
                Stage(tasks=[0], until=Steps(500.0) & SuccessAbove(0.1)),
            )
        ),
        relabel=None,
        numeric="window",
    ),
    "stages that pass quickly": Case(
        lambda n: Stages(by="-context_1", parts=3, until=SuccessAbove(0.3, episodes=1.0)),
        numeric="until.above",
    ),
    "anneal by steps": Case(lambda n: Anneal(steps=4096.0), numeric="steps"),
    "anneal from a corner": Case(
        lambda n: Anneal(start={"context_0": (-1.0, 0.1)}, episodes=2.0, notch=0.3),
        numeric="notch",
    ),
    "mix of three kinds of evidence": Case(
        lambda n: Mix(
            (make_strategy("procurl-env"), make_strategy("plr"), Stages()), (0.5, 0.3, 0.2)
        ),
        numeric="strategies.1.rho",
    ),
    "switch on success": Case(
        lambda n: Switch(
            make_strategy("plr"),
            ProCuRL(success=OutcomeSuccess()),
            when=SuccessAbove(0.4, episodes=3.0),
        ),
        numeric="second.beta",
    ),
    "switch inside a mix": Case(
        lambda n: Mix((Switch(when=Steps(2000.0)), make_strategy("space-alt")), (2.0, 1.0)),
        numeric="strategies.0.second.beta",
    ),
    "spdl that stops early": Case(
        lambda n: make_strategy("spdl", early_stop=True), numeric="threshold"
    ),
    "spdl with a floor": Case(lambda n: make_strategy("spdl", floor=0.1), numeric="floor"),
}

CASES: dict[str, Case] = {
    name: Case(_registered(name), **REGISTERED.get(name, {"numeric": "beta"}))
    for name in strategy_names()
} | VARIANTS
