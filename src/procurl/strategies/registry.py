"""Strategies by name: the paper's, ours, and a user's own."""

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from procurl.evidence import Evidence
from procurl.internals.checks import require_known, suggest
from procurl.internals.setting_text import read_settings
from procurl.internals.settings import with_settings
from procurl.strategies.baselines.easy_hard import Easy, Hard
from procurl.strategies.baselines.plr import PLR
from procurl.strategies.baselines.sfl import SFL
from procurl.strategies.baselines.space import SPaCE, SPaCEAlt
from procurl.strategies.baselines.spdl import SPDL
from procurl.strategies.combined import Mix, Switch
from procurl.strategies.handmade import Anneal, Stages
from procurl.strategies.iid import IID
from procurl.strategies.parts_text import MakeStrategy, parts_of, read_parts
from procurl.strategies.procurl import AutoProCuRL, GroupProCuRL, ProCuRL, ProCuRLArgmax
from procurl.strategies.progress import ALPGMM, LearningProgress
from procurl.strategies.strategy import Strategy
from procurl.strategies.targeted import CURROT, ProCuRLTarget, Target
from procurl.success import CriticSuccess, OutcomeSuccess, RolloutSuccess

DEFAULT_STRATEGY = "procurl"
DEFAULT_GROUP_STRATEGY = "procurl-group"  # if episodes of one task are compared with each other


class Entry(NamedTuple):
    """What the registry holds of a name."""

    default: Callable[[], Any]  # returns the strategy with its default settings
    when: str  # one line: when to use it


_REGISTRY: dict[str, Entry] = {
    "procurl": Entry(
        AutoProCuRL,
        "The first choice: nothing to set, any algorithm, any rewards.",
    ),
    "procurl-group": Entry(
        GroupProCuRL,
        "Language models: prompts whose completions are compared in groups, as in GRPO.",
    ),
    "procurl-val": Entry(
        lambda: ProCuRL(success=CriticSuccess()),
        "The paper's choice: the algorithm has a good critic and environment steps are expensive.",
    ),
    "procurl-env": Entry(
        lambda: ProCuRL(success=RolloutSuccess()),
        "Environment steps are cheap and the critic cannot be trusted.",
    ),
    "procurl-env-2": Entry(
        lambda: ProCuRL(success=RolloutSuccess(budget=2.0)),
        "As procurl-env, with at most as many steps for rollouts as for training.",
    ),
    "procurl-env-4": Entry(
        lambda: ProCuRL(success=RolloutSuccess(budget=4.0)),
        "As procurl-env, with at most three times as many steps for rollouts as for training.",
    ),
    "procurl-out": Entry(
        lambda: ProCuRL(success=OutcomeSuccess()),
        "The critic is poor or missing; it works best if tasks have contexts.",
    ),
    "procurl-argmax": Entry(
        ProCuRLArgmax,
        "A small pool and a good critic; otherwise procurl-val explores more.",
    ),
    "procurl-target": Entry(
        ProCuRLTarget,
        "Some tasks matter more than the others, and success carries over to near tasks.",
    ),
    "currot": Entry(
        CURROT,
        "A baseline for targets: move to them from the whole pool, as far as success allows.",
    ),
    "space": Entry(
        SPaCE,
        "A baseline: a small set of tasks that grows once the critic stops improving on it.",
    ),
    "space-alt": Entry(
        SPaCEAlt,
        "A baseline: follow the critic's improvement without a growing set.",
    ),
    "sfl": Entry(
        SFL,
        "Environment steps are cheap and the pool is large: rollouts on a sample of it suffice.",
    ),
    "spdl": Entry(
        SPDL,
        "Performance must not fall below a known level during training.",
    ),
    "plr": Entry(
        PLR,
        "Success has no clear meaning, or tasks are random levels without structure.",
    ),
    "learning-progress": Entry(
        LearningProgress,
        "Success rates are all you have, and tasks that are never solved should not take up time.",
    ),
    "alp-gmm": Entry(
        ALPGMM,
        "Contexts are continuous, so that near tasks say something about each other's progress.",
    ),
    "iid": Entry(
        IID,
        "The baseline to compare with, and enough if tasks are about equally hard.",
    ),
    "target": Entry(
        Target,
        "The baseline for targets, and enough if the agent can learn them without others.",
    ),
    "easy": Entry(
        Easy,
        "A baseline: the agent stays where it is good already.",
    ),
    "hard": Entry(
        Hard,
        "A baseline: the agent faces what it cannot do yet.",
    ),
    "stages": Entry(
        Stages,
        "You know an order of the tasks: move on once the agent can do a part of them.",
    ),
    "anneal": Entry(
        Anneal,
        "You know where in the context space to start: widen the range from there.",
    ),
    "mix": Entry(
        Mix,
        "One strategy is not enough: a share of the draws for each of several.",
    ),
    "switch": Entry(
        Switch,
        "Training has two halves: one strategy to begin with, then another.",
    ),
}


def strategy_names() -> tuple[str, ...]:
    """The names that `make_strategy` knows."""
    return tuple(_REGISTRY)


def when_to_use(name: str) -> str:
    """One line on when to use the strategy of that name; empty if its author wrote none."""
    require_known("strategy", name, _REGISTRY, "strategies")
    return _REGISTRY[name].when


def make_strategy(name: str, **settings: Any) -> Strategy:
    """The strategy of that name, with `settings` in place of its defaults.

    A setting may belong to the strategy or to the success estimate inside it. Raises ValueError on
    an unknown name or setting and on a value out of range.

    >>> make_strategy("procurl-val", beta=10.0, v_max=60.0)  # doctest: +NORMALIZE_WHITESPACE
    ProCuRL(success=CriticSuccess(measure='auto', v_min=0.0, v_max=60.0, refresh_every=None,
                                  tasks_per_refresh=None),
            beta=10.0, gamma1=1.0, gamma2=1.0, p_star=1.0, floor=0.0, epsilon=None)
    """
    return make_with_parts(name, settings, make_strategy)


def make_with_parts(name: str, settings: dict[str, Any], make: MakeStrategy) -> Strategy:
    """The strategy of that name, whose parts `make` makes if they are defaults or text.

    Args:
        name: of the strategy.
        settings: in place of its defaults. Strategies inside it may be text, such as
            `procurl-val[beta=10]`.
        make: the strategy of a name and settings.
    """
    _require_name(name)
    default: Strategy = _REGISTRY[name].default()
    names = {
        part: [strategy_name(each) for each in inside]
        if isinstance(inside, tuple)
        else strategy_name(inside)
        for part, inside in parts_of(default).items()
    }
    strategy: Strategy = with_settings(name, default, read_parts(default, names | settings, make))
    strategy.check()
    return strategy


def strategy_name(strategy: Strategy) -> str:
    """The registered name of a strategy of this kind, whatever its settings, or else its class.

    >>> strategy_name(make_strategy("procurl-env", beta=10.0))
    'procurl-env'
    """
    alike = [name for name in _REGISTRY if _kind(_REGISTRY[name].default()) == _kind(strategy)]
    budget = _budget(strategy)
    same_budget = [name for name in alike if _budget(_REGISTRY[name].default()) == budget]
    return next(iter(same_budget + alike), type(strategy).__name__)


def _kind(strategy: Strategy) -> tuple[type, type]:
    return type(strategy), type(getattr(strategy, "success", None))


def _budget(strategy: Strategy) -> Any:
    return getattr(getattr(strategy, "success", None), "budget", None)


def as_strategy(strategy: Strategy | str) -> Strategy:
    """`strategy` itself with its settings checked, or the strategy of that name."""
    if isinstance(strategy, str):
        return make_strategy(strategy)
    if not isinstance(strategy, Strategy):
        raise TypeError(
            "strategy must be a Strategy, such as one from make_strategy, or a name "
            f"({', '.join(_REGISTRY)}), got {strategy!r}"
        )
    strategy.check()
    _check_evidence_fields(strategy)
    return strategy


def _check_evidence_fields(strategy: Strategy) -> None:
    """Raise if `needs` or `uses` is not a tuple of fields of `Evidence`."""
    known = Evidence._fields[1:]  # without the step, which always comes
    for attribute in ("needs", "uses"):
        names: object = getattr(strategy, attribute)
        if not isinstance(names, tuple):
            raise TypeError(
                f"{type(strategy).__name__}.{attribute} must be a property that returns a tuple of "
                f"fields of Evidence, such as ('values',), got {names!r}"
            )
        for name in names:
            if name not in known:
                raise ValueError(
                    f"{type(strategy).__name__}.{attribute}: Evidence has no field {name!r}."
                    f"{suggest(name, known)} Its fields: {', '.join(known)}"
                )


def register_strategy(name: str, default: Callable[[], Any], when: str = "") -> None:
    """Add a strategy of your own to those of `make_strategy`, in this process.

    The command line knows it if a script registers it and then runs `procurl.cli.main`.

    Args:
        name: a name that is not taken.
        default: returns the strategy with its default settings; the class itself, if every field
            has a default.
        when: one line on when to use it, for `procurl strategies`.
    """
    if name in _REGISTRY:
        raise ValueError(f"strategy {name!r} is registered already; choose another name")
    if not isinstance(name, str) or not name or any(sign in name for sign in ":,=+[] "):
        raise ValueError(
            "the name of a strategy must be text, not empty, and not contain a colon, a comma, an "
            f"equals or plus sign, a bracket or a space, got {name!r}: the command line could not "
            "use it"
        )
    strategy = default()
    if not (isinstance(strategy, Strategy) and is_dataclass(type(strategy))):
        raise TypeError(
            f"strategy {name!r} must be a dataclass derived from procurl.Strategy, got {strategy!r}"
        )
    strategy.check()
    _check_evidence_fields(strategy)
    _REGISTRY[name] = Entry(default, when)


def _require_name(name: object) -> None:
    """Raise unless `name` is known; settings that follow a known name get a remedy of their own."""
    base, sign, settings = name.partition(":") if isinstance(name, str) else ("", "", "")
    if sign and base in _REGISTRY:
        given = "".join(
            f", {key}={value!r}" for key, value in read_settings(settings, base).items()
        )
        raise ValueError(
            f"strategy must be a name without settings, got {name!r}, which is for the command "
            f"line: pass make_strategy({base!r}{given})"
        )
    require_known("strategy", name, _REGISTRY, "strategies")
