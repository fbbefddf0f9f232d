"""Every table, figure, ablation and theorem of the paper by name, with the runs that it needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from procurl.experiments.paper import claims, run_pages, setup_pages
from procurl.experiments.paper.agreement import (
    ABLATIONS,
    CURVE_ROWS,
    HARD_ROWS,
    METRICS_ROWS,
    TEST_ROWS,
)
from procurl.experiments.paper.one_strategy import one_strategy_page
from procurl.experiments.paper.pool_pages import pools_page
from procurl.experiments.paper.run_pages import CURRICULUM_ROWS, ENGINES_ROWS, Page, RecordsBySweep
from procurl.experiments.paper.sweeps import (
    BALL,
    BOUNDED,
    BUDGET_ROWS,
    BUDGETED,
    BUDGETS,
    DENSE,
    FIELD_BY_SWEEP,
    HARD,
    KAREL,
    ONE_MODE,
    PATIENCE,
    PATIENCE_ROWS,
    POINT_MASS,
    POOLED,
    SB3,
    SMALL,
    SPARSE_GOAL,
    SWEEPS,
    TABLED,
    TARGET_ROWS,
    TWO_MODES,
    VARIANTS,
    Sweep,
)
from procurl.internals.checks import suggest
from procurl.strategies.registry import DEFAULT_STRATEGY

ALL = "all"


@dataclass(frozen=True)
class Entry:
    """A table, figure, ablation or theorem of the paper.

    Args:
        name: on the command line.
        source: where it is in the paper.
        title: of its page.
        make: writes its files into a folder and returns its page.
        needs: the sweeps that it is built from, with the contenders of each.
        partly: whether it can be built from some of these sweeps.
    """

    name: str
    source: str
    title: str
    make: Callable[[RecordsBySweep, Path], Page]
    needs: Mapping[Sweep, tuple[str, ...]] = field(default_factory=dict)
    partly: bool = False


PICTURED = {
    POINT_MASS: ("Figure 4", (250_000, 500_000, 750_000)),
    KAREL: ("Figure 5", (100_000, 250_000, 500_000, 750_000, 1_500_000)),
}
VARIED = {
    "beta": ("Figure 8", "β of the softmax"),
    "noise": ("Figure 8", "noise ε in the critic's values"),
    "gamma": ("Figure 9", "γ2/γ1, how solved tasks count"),
}


def _curves() -> Iterable[Entry]:
    for sweep in SWEEPS:
        yield Entry(
            f"curves-{sweep.env}",
            "Figure 2",
            f"Learning curves on {sweep.env}",
            run_pages.curves_page,
            {sweep: CURVE_ROWS},
        )


def _pools() -> Iterable[Entry]:
    for sweep in POOLED:
        rows = (*METRICS_ROWS, *(BOUNDED if sweep.env == BALL.env else ()))
        yield Entry(
            f"pools-{sweep.env}",
            "not in the paper",
            f"Strategies on several pools of {sweep.env}",
            partial(pools_page, rows=rows),
            {sweep: rows},
        )


def _tables() -> Iterable[Entry]:
    for sweep in TABLED:
        yield Entry(
            f"metrics-{sweep.env}",
            "Figure 3",
            f"Performance, environment steps and time on {sweep.env}",
            run_pages.metrics_page,
            {sweep: METRICS_ROWS},
        )
    for sweep, (source, steps) in PICTURED.items():
        yield Entry(
            f"curriculum-{sweep.env}",
            source,
            f"What the curricula played on {sweep.env}",
            partial(run_pages.curriculum_page, steps=steps),
            {sweep: CURRICULUM_ROWS},
        )


def _ablations() -> Iterable[Entry]:
    for which, (source, title) in VARIED.items():
        for sweep in TABLED:
            rows = ABLATIONS[which].rows(sweep.env)
            yield Entry(
                f"ablation-{which}-{sweep.env}",
                source,
                f"procurl-val on {sweep.env}: {title}",
                partial(run_pages.ablation_page, which=which),
                {sweep: tuple(row.contender for row in rows)},
            )


def _tests() -> Iterable[Entry]:
    for sweep in TABLED:
        yield Entry(
            f"test-{sweep.env}",
            "Figure 10",
            f"The best models on training and test pool of {sweep.env}",
            run_pages.best_models_page,
            {sweep: TEST_ROWS},
        )
    yield Entry(
        "hard-pointmass-s",
        "Figure 11",
        "A pool of harder tasks, pointmass-s",
        run_pages.hard_page,
        {HARD: HARD_ROWS},
    )


def _without_runs() -> Iterable[Entry]:
    yield Entry("environments", "Figure 1", "The environments", setup_pages.environments_page)
    yield Entry("ppo-settings", "Figure 6", "PPO's settings", setup_pages.ppo_settings_page)
    yield Entry(
        "strategy-settings",
        "Figure 7",
        "The strategies' settings",
        setup_pages.strategy_settings_page,
    )
    yield Entry(
        "contexts-pointmass-s", "Figure 12", "Contexts of the two pools", setup_pages.contexts_page
    )
    for number, learners in ((1, setup_pages.REINFORCE), (2, setup_pages.ABSTRACT)):
        yield Entry(
            f"theorem-{number}",
            f"Theorem {number}",
            f"Expected improvement of {('a REINFORCE', 'an abstract')[number - 1]} learner",
            partial(setup_pages.theorem_page, learners=learners),
        )


def _engines() -> Entry:
    return Entry(
        "engines-pointmass-s",
        "not in the paper",
        "Both engines on pointmass-s",
        run_pages.engines_page,
        dict.fromkeys((POINT_MASS, SB3), ENGINES_ROWS),
    )


def _small() -> Entry:
    return Entry(
        "cpu-pointmass-s",
        "not in the paper",
        "The table of pointmass-s on two cores",
        run_pages.metrics_page,
        {SMALL: METRICS_ROWS},
    )


def _variants() -> Iterable[Entry]:
    for plain, sweep, contenders in VARIANTS:
        strategy = contenders[0].partition(":")[0]
        yield Entry(
            f"variants-{strategy}-{sweep.env}",
            "not in the paper",
            f"{strategy} on {sweep.env} with other settings",
            partial(run_pages.variants_page, strategies=(strategy,)),
            {plain: (strategy,), sweep: contenders},
            partly=True,
        )


def _budgets() -> Entry:
    return Entry(
        "budgets-pointmass-s",
        "not in the paper",
        "Budgets of rollouts on pointmass-s, spent evenly and early",
        partial(run_pages.variants_page, strategies=BUDGETED),
        {POINT_MASS: BUDGETED, BUDGETS: BUDGET_ROWS},
        partly=True,
    )


def _patience() -> Entry:
    strategies = ("procurl", "iid")
    return Entry(
        "patience-pointmass-s",
        "not in the paper",
        "The choice of tasks and patience one by one, pointmass-s",
        partial(run_pages.variants_page, strategies=strategies),
        {POINT_MASS: strategies, PATIENCE: PATIENCE_ROWS},
        partly=True,
    )


def _field() -> Iterable[Entry]:
    for sweep, others in FIELD_BY_SWEEP.items():
        rows = (*(HARD_ROWS if sweep is HARD else METRICS_ROWS), *others)
        hard = "hard-" if sweep is HARD else ""
        yield Entry(
            f"field-{hard}{sweep.env}",
            "not in the paper",
            f"Strategies of other papers on {'harder tasks of ' if hard else ''}{sweep.env}",
            partial(run_pages.field_page, rows=rows),
            {sweep: rows},
        )


def _targets() -> Iterable[Entry]:
    for name, sweep, title in (
        ("one-mode-pointmass-s", ONE_MODE, "one mode, pointmass-s"),
        ("two-modes-pointmass-s", TWO_MODES, "two modes, pointmass-s"),
        ("sgr", SPARSE_GOAL, "exact goals, sgr"),
    ):
        yield Entry(
            f"targets-{name}",
            "not in the paper",
            f"Toward targets: {title}",
            partial(run_pages.targets_page, rows=TARGET_ROWS),
            {sweep: TARGET_ROWS},
        )


def _one() -> Entry:
    rows = {
        sweep: (*(HARD_ROWS if sweep is HARD else METRICS_ROWS), *FIELD_BY_SWEEP.get(sweep, ()))
        for sweep in (POINT_MASS, HARD, *SWEEPS[1:])
    }
    others = {
        sweep.name: tuple(name for name in names if name != DEFAULT_STRATEGY)
        for sweep, names in rows.items()
    }
    return Entry(
        "one-strategy",
        "not in the paper",
        f"{DEFAULT_STRATEGY} with nothing to set beside all other strategies",
        partial(one_strategy_page, ours=DEFAULT_STRATEGY, others=others),
        rows,
        partly=True,
    )


def _claims() -> Entry:
    compared = ("procurl-val", "procurl-env", *claims.BASELINES)
    needs = {
        sweep: (
            *compared,
            "hard",
            *(row.contender for which in VARIED for row in ABLATIONS[which].rows(sweep.env)),
        )
        for sweep in TABLED
    }
    return Entry(
        "claims",
        "the text",
        "What the paper claims",
        claims.claims_page,
        {**needs, DENSE: compared, BALL: compared, HARD: ("procurl-val", "iid")},
        partly=True,
    )


def _claims_over_pools() -> Entry:
    return Entry(
        "claims-pools",
        "not in the paper",
        "What the paper claims, over several pools",
        partial(claims.claims_page, claims=claims.CLAIMS_OVER_POOLS),
        dict.fromkeys(POOLED, ("procurl", "procurl-val", "procurl-env", *claims.BASELINES, "hard")),
        partly=True,
    )


def _order(entry: Entry) -> tuple[bool, int]:
    """Sort key: figures by number, then theorems, then the rest."""
    kind, _, number = entry.source.partition(" ")
    return kind != "Figure", int(number) if number.isdecimal() else 99


ENTRIES: Mapping[str, Entry] = {
    entry.name: entry
    for entry in sorted(
        [
            *_without_runs(),
            *_curves(),
            *_tables(),
            *_ablations(),
            *_tests(),
            _claims(),
            _engines(),
            _small(),
            *_variants(),
            _budgets(),
            _patience(),
            *_field(),
            *_pools(),
            _claims_over_pools(),
            _one(),
            *_targets(),
        ],
        key=_order,
    )
}


def find_entries(names: Sequence[str]) -> list[Entry]:
    """The entries with these names, `all` for every one; raises ValueError on an unknown name."""
    for name in names:
        if name not in ENTRIES and name != ALL:
            longer = ", ".join(entry for entry in ENTRIES if name and entry.startswith(name))
            hint = suggest(name, [*ENTRIES, ALL])
            near = f" Names that start with it: {longer}." if longer else hint
            raise ValueError(f"unknown name {name!r}.{near} `procurl paper` lists all names")
    return [entry for entry in ENTRIES.values() if ALL in names or entry.name in names]


def contenders_by_sweep(entries: Iterable[Entry]) -> dict[Sweep, tuple[str, ...]]:
    """The contenders of each sweep that these entries need together."""
    wanted: dict[Sweep, dict[str, None]] = {}
    for entry in entries:
        for sweep, contenders in entry.needs.items():
            wanted.setdefault(sweep, {}).update(dict.fromkeys(contenders))
    return {sweep: tuple(contenders) for sweep, contenders in wanted.items()}
