"""What the paper ran: training steps and the settings of every strategy in every environment."""

from dataclasses import fields
from typing import Any, NamedTuple

from procurl.internals.checks import suggest
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.experiment import Experiment
from procurl.strategies import Strategy, make_strategy

Settings = dict[str, Any]


class Preset(NamedTuple):
    """How one environment is trained and evaluated."""

    steps: int  # of training
    eval_every: int  # training steps between evaluations
    eval_tasks: int | None  # how many fixed tasks an evaluation plays; None for the whole pool
    settings: dict[str, Settings]  # of each strategy, where they differ from the defaults
    eval_episodes: int = 1  # on every task of an evaluation
    eval_stochastic: bool = False  # whether they draw actions, instead of taking the likeliest
    whole_at: tuple[int, ...] = ()  # steps at which the JAX engine's evaluations play all tasks


def _settings(
    beta: float,
    bounds: Settings,
    refresh_every: int,
    space: Settings,
    spdl: Settings,
    plr: Settings,
    rollouts: Settings | None = None,
) -> dict[str, Settings]:
    """The settings of all strategies from what the paper's table lists.

    Args:
        beta: of the softmax strategies.
        bounds: `v_min` and `v_max` of the critic's values.
        refresh_every: training steps between the teacher's rollouts.
        space, spdl, plr: of these strategies.
        rollouts: of the estimates by rollouts, where they differ from `bounds`.
    """
    by_critic = {"beta": beta} | bounds
    by_rollouts = {"beta": beta, "refresh_every": refresh_every} | (
        bounds if rollouts is None else rollouts
    )
    return {
        "procurl-val": by_critic,
        "procurl-env": by_rollouts,
        "procurl-env-2": by_rollouts,
        "procurl-env-4": by_rollouts,
        "procurl-out": by_critic,
        "procurl-argmax": bounds,
        "space-alt": by_critic,
        "easy": by_rollouts,
        "hard": by_rollouts,
        "space": space,
        "spdl": spdl,
        "plr": plr,
    }


_POOL_RANGE: Settings = {"v_min": None, "v_max": None}

PRESETS: dict[str, Preset] = {
    "pointmass-s": Preset(
        1_000_000,
        25_000,
        None,
        _settings(
            beta=20.0,
            bounds={},
            refresh_every=5120,
            space={"eta": 0.1, "kappa": 1},
            spdl={"threshold": 0.5, "max_kl": 0.5},
            plr={"rho": 0.5, "beta": 0.1},
        ),
    ),
    "pointmass-d": Preset(
        1_000_000,
        25_000,
        None,
        _settings(
            beta=10.0,
            bounds=_POOL_RANGE,
            refresh_every=5120,
            space={"eta": 0.1, "kappa": 1},
            spdl={"threshold": 3.5},
            plr={"rho": 0.9, "beta": 0.3},
        ),
    ),
    "basickarel": Preset(
        2_000_000,
        25_000,
        2_400,
        _settings(
            beta=10.0,
            bounds={},
            refresh_every=102_400,
            space={"eta": 0.5, "kappa": 64},
            spdl={"threshold": 0.5},
            plr={"rho": 0.9, "beta": 0.1},
        ),
        whole_at=(250_000, 500_000, 1_000_000, 2_000_000),
    ),
    "ballcatching": Preset(
        5_000_000,
        100_000,
        None,
        _settings(
            beta=10.0,
            bounds={"v_min": 0.0, "v_max": 60.0},
            refresh_every=20_480,
            space={"eta": 0.1, "kappa": 1},
            spdl={"threshold": 30.0},
            plr={"rho": 0.7, "beta": 0.3},
            rollouts={"measure": "success"},
        ),
    ),
    "antgoal": Preset(
        5_000_000,
        100_000,
        None,
        _settings(
            beta=10.0,
            bounds={"v_min": 0.0, "v_max": 300.0},
            refresh_every=81_920,
            space={"eta": 0.1, "kappa": 1},
            spdl={"threshold": 100.0},
            plr={"rho": 0.3, "beta": 0.1},
        ),
        eval_episodes=10,
        eval_stochastic=True,
    ),
}


def preset(env: str) -> Preset:
    """The preset of the environment of that name."""
    if env not in PRESETS:
        raise ValueError(
            f"environment {env!r} is not known.{suggest(env, PRESETS)} "
            f"Known environments: {', '.join(PRESETS)}"
        )
    return PRESETS[env]


def preset_of(experiment: Experiment) -> Preset:
    """The preset of an experiment's environment, evaluated as the experiment says."""
    known = preset(experiment.env)
    return known._replace(
        eval_every=experiment.eval_every or known.eval_every,
        eval_episodes=experiment.eval_episodes or known.eval_episodes,
    )


def paper_strategy(env: str, name: str, **settings: Any) -> Strategy:
    """A strategy with the paper's settings for an environment, and `settings` in their place."""
    known = preset(env).settings.get(name, {})
    return make_strategy(name, **(known | settings))


def ppo_of(experiment: Experiment) -> PPOSettings:
    """PPO's settings that an experiment was described with."""
    told = experiment.student or {}
    known = {field.name for field in fields(PPOSettings)}
    given = {name: value for name, value in told.items() if name in known}
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return PPOSettings(**(given | lists))
