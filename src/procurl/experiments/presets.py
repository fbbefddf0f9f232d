"""Training steps, evaluations and settings: the paper's, and those for other environments."""

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

from procurl.experiments.algorithms import NET_ARCH, AlgorithmSettings, read_widths
from procurl.internals.checks import require_known
from procurl.internals.setting_text import read_settings
from procurl.internals.settings import with_settings
from procurl.ppo.learning.settings import PPOSettings, paper_settings
from procurl.records.experiment import Contender, Experiment
from procurl.strategies import Strategy, make_strategy
from procurl.strategies.registry import make_with_parts

Settings = dict[str, Any]
# For environments that are not the paper's.
OWN_STEPS = 100_000
OWN_EVALUATIONS = 20
OWN_EVAL_TASKS = 100
LAYERS = ("shared_layers", "policy_layers", "value_layers")


class Preset(NamedTuple):
    """How one environment is trained and evaluated."""

    steps: int  # training steps
    eval_every: int  # training steps between evaluations
    eval_tasks: int | None  # size of the fixed subset that evaluations play; None for the pool
    settings: dict[str, Settings]  # of each strategy, if they differ from the defaults
    eval_episodes: int = 1  # on each task of an evaluation
    eval_stochastic: bool = False  # whether evaluations sample actions
    whole_at: tuple[int, ...] = ()  # steps at which the JAX engine evaluates the whole pool


# With which the records of `procurl-out` were made; the paper does not have it.
_FIRST_OUTCOMES: Settings = {"decay": 0.9, "decay_steps": 1024.0, "bandwidth": 0.1}
_ZERO_ONE: Settings = {"v_min": 0.0, "v_max": 1.0}
_POOL_RANGE: Settings = {"v_min": None, "v_max": None}
# Agents solve tasks of low friction first; wide gates matter less.
_LOW_FRICTION = ("friction", "friction:0")


def _settings(
    beta: float,
    bounds: Settings,
    refresh_every: int,
    space: Settings,
    spdl: Settings,
    plr: Settings,
    rollouts: Settings | None = None,
    easiest: tuple[str, str] | None = None,
    sfl: Settings | None = None,
) -> dict[str, Settings]:
    """The settings of all strategies from the entries of the paper's table.

    Args:
        beta: inverse temperature of the softmax strategies.
        bounds: `v_min` and `v_max` of the critic's values.
        refresh_every: training steps between the teacher's rollouts.
        space, spdl, plr: settings of these strategies.
        rollouts: settings of the rollout estimates; None for `bounds`.
        easiest: where the hand-made strategies start, which the paper does not have: the column
            that `stages` follows, and the first box of `anneal`. None for their defaults.
        sfl: further settings of `sfl`.
    """
    by_critic = {"beta": beta} | bounds
    by_rollouts = {"beta": beta, "refresh_every": refresh_every} | (
        bounds if rollouts is None else rollouts
    )
    hand_made: dict[str, Settings] = {}
    if easiest is not None:
        hand_made = {"stages": {"by": easiest[0]}, "anneal": {"start": easiest[1]}}
    return hand_made | {
        "procurl-val": by_critic,
        "procurl-env": by_rollouts,
        "procurl-env-2": by_rollouts,
        "procurl-env-4": by_rollouts,
        "procurl-out": by_critic | _FIRST_OUTCOMES,
        "procurl-argmax": bounds,
        "procurl-target": bounds,
        "space-alt": by_critic,
        "easy": by_rollouts,
        "hard": by_rollouts,
        "sfl": {name: given for name, given in by_rollouts.items() if name != "beta"} | (sfl or {}),
        "space": space,
        "spdl": spdl,
        "plr": plr,
    }


PRESETS: dict[str, Preset] = {
    "pointmass-s": Preset(
        1_000_000,
        25_000,
        None,
        _settings(
            beta=20.0,
            bounds=_ZERO_ONE,
            refresh_every=5120,
            space={"eta": 0.1, "kappa": 1},
            spdl={"threshold": 0.5, "max_kl": 0.5},
            plr={"rho": 0.5, "beta": 0.1},
            easiest=_LOW_FRICTION,
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
            easiest=_LOW_FRICTION,
        ),
    ),
    "basickarel": Preset(
        2_000_000,
        25_000,
        2_400,
        _settings(
            beta=10.0,
            bounds=_ZERO_ONE,
            refresh_every=102_400,
            space={"eta": 0.5, "kappa": 64},
            spdl={"threshold": 0.5},
            plr={"rho": 0.9, "beta": 0.1},
            easiest=("solution_length", "solution_length:1"),
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
            rollouts=_ZERO_ONE | {"measure": "success"},
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
    "sgr": Preset(
        1_000_000,
        25_000,
        500,
        _settings(
            beta=20.0,
            bounds=_ZERO_ONE,
            refresh_every=5120,
            space={},
            spdl={"threshold": 0.5, "max_kl": 0.2},
            plr={"rho": 0.5, "beta": 0.1},
            easiest=("-tolerance", "tolerance:18"),
        ),
        eval_stochastic=True,
    ),
}


def preset(env: str) -> Preset:
    """The preset of an environment, by name."""
    require_known("environment", env, PRESETS, "environments")
    return PRESETS[env]


def own_preset(steps: int, update_steps: int = 1) -> Preset:
    """How an environment that is not the paper's is trained and evaluated.

    Args:
        steps: training steps.
        update_steps: of one update of the algorithm, between which runs are evaluated.
    """
    return Preset(steps, max(steps // OWN_EVALUATIONS, update_steps), OWN_EVAL_TASKS, {})


def preset_of(experiment: Experiment) -> Preset:
    """The preset of an experiment's environment, with the experiment's own evaluations."""
    known = PRESETS.get(experiment.env) or own_preset(experiment.steps)
    given: Settings = {
        "eval_every": experiment.eval_every,
        "eval_episodes": experiment.eval_episodes,
        "eval_tasks": experiment.eval_tasks,
        "eval_stochastic": experiment.eval_stochastic,
    }
    return known._replace(**{name: value for name, value in given.items() if value is not None})


def contender_strategy(env: str, contender: Contender) -> Strategy:
    """The strategy of a contender, with the paper's settings if the environment is the paper's."""
    make = partial(paper_strategy, env) if env in PRESETS else make_strategy
    return make(contender.strategy, **contender.settings())


def paper_strategy(env: str, name: str, **settings: Any) -> Strategy:
    """A strategy with the paper's settings for an environment; `settings` override them.

    Args:
        env: name of the environment.
        name: of the strategy, see `procurl.strategy_names`.
        settings: that replace the paper's.
    """
    known = preset(env).settings.get(name, {})
    return make_with_parts(name, known | settings, partial(paper_strategy, env))


def paper_ppo_settings(env: str, changes: Sequence[str] = ()) -> PPOSettings:
    """The paper's settings of PPO for an environment.

    Args:
        env: name of the environment.
        changes: settings that replace the paper's, each as `name=value`.
    """
    return changed_ppo_settings(paper_settings(env), changes)


def changed_ppo_settings(settings: PPOSettings, changes: Sequence[str]) -> PPOSettings:
    """Settings of PPO with changes, each as `name=value`."""
    given = read_settings(",".join(changes), "PPO")
    if NET_ARCH in given:
        raise ValueError(
            f"{NET_ARCH} is an argument of Stable-Baselines3's policies: set policy_layers and "
            "value_layers, as in policy_layers=64x64, or pass --algo PPO"
        )
    given |= {name: tuple(read_widths(name, given[name])) for name in LAYERS if name in given}
    changed: PPOSettings = with_settings("PPO", settings, given)
    return changed


def student_of(experiment: Experiment) -> PPOSettings | AlgorithmSettings:
    """The learning algorithm from an experiment's description."""
    student = experiment.student or {}
    if student.get("type") == AlgorithmSettings.__name__:
        return AlgorithmSettings(student["algo"], student["policy"], student["arguments"])
    return ppo_of(experiment)


def ppo_of(experiment: Experiment) -> PPOSettings:
    """The settings of PPO from an experiment's description."""
    student = experiment.student or {}
    known = {field.name for field in fields(PPOSettings)}
    # JSON turns tuples into lists.
    values: Settings = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in student.items()
        if name in known
    }
    return PPOSettings(**values)
