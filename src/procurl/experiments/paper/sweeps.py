"""The sweeps behind the paper's tables and figures: environments, pools, steps and engines."""

from dataclasses import dataclass, field, replace

from procurl.envs.registry import make_pool
from procurl.experiments.own_pools import OwnPool
from procurl.experiments.presets import preset
from procurl.experiments.request import EvaluationOptions
from procurl.tasks.pool import TaskPool

PAPER_SEEDS = {
    "pointmass-s": 20,
    "pointmass-d": 20,
    "basickarel": 10,
    "ballcatching": 10,
    "antgoal": 5,
    "sgr": 20,
}


@dataclass(frozen=True)
class Sweep:
    """Runs that share a directory, so that entries share trained runs.

    Args:
        name: of the directory.
        env: name of the environment.
        steps: of training.
        kind: of the training pool, `uniform` or `hard`.
        size: of the training pool; None for the paper's.
        pools: number of training pools that are drawn, with the seeds 0 to n − 1, and that runs
            are spread over; None for the published pool.
        targets: kind of the pool of targets, if any: they are added to the training pool, and
            evaluations play them.
        engine: `jax` or `sb3`.
        ppo: settings that replace the paper's for the environment, as `name=value`.
        tested: whether evaluations also play a test pool.
        evaluation: when and how runs are evaluated, if not as in the environment's preset.
    """

    name: str
    env: str
    steps: int
    kind: str = "uniform"
    size: int | None = None
    pools: int | None = None
    targets: str | None = None
    engine: str = "jax"
    ppo: tuple[str, ...] = ()
    tested: bool = False
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)

    @property
    def paper_seeds(self) -> int:
        """The number of seeds in the paper."""
        return PAPER_SEEDS[self.env]

    @property
    def test_kind(self) -> str | None:
        """The kind of the pool that evaluations play besides the training pool, if any."""
        return self.targets or ("test" if self.tested else None)

    def training_pools(self) -> list[TaskPool]:
        """The training pool with the targets, or the pools that are drawn."""
        if self.pools is not None:
            return [make_pool(self.env, seed=seed) for seed in range(self.pools)]
        return [OwnPool(self.kind, self.size, self.targets).make(self.env)]


def _plain(env: str, tested: bool = False) -> Sweep:
    return Sweep(env, env, preset(env).steps, tested=tested)


POINT_MASS = _plain("pointmass-s", tested=True)
KAREL = _plain("basickarel", tested=True)
# With many environments the paper's own PPO settings learn nothing, see docs/ball_catching.md.
BALL = Sweep(
    "ballcatching",
    "ballcatching",
    preset("ballcatching").steps,
    ppo=("n_steps=20480", "batch_size=2048", "learning_rate=0.002", "gae_lambda=0.99"),
)
DENSE = _plain("pointmass-d")
SWEEPS = (POINT_MASS, DENSE, KAREL, BALL, _plain("antgoal"))
HARD = Sweep("pointmass-s-hard", "pointmass-s", 2_000_000, kind="hard", ppo=("ent_coef=0.002",))
# A quarter of the paper's steps: two cores train about 20 seeds of a strategy in half an hour.
SB3 = Sweep("pointmass-s-sb3", "pointmass-s", 250_000, engine="sb3")
# The paper's number of seeds on a small machine.
SMALL = replace(POINT_MASS, name="pointmass-s-cpu")
TABLED = (POINT_MASS, KAREL)
# Pools are random too. BallCatching has the paper's own PPO settings, for at most 16 environments;
# BasicKarel half of the paper's steps, where claims are judged, so that two cores suffice.
POOLED = tuple(
    replace(_plain(env), name=f"{env}-pools", pools=5, steps=steps)
    for env, steps in (
        ("pointmass-s", 1_000_000),
        ("basickarel", 1_000_000),
        ("ballcatching", 5_000_000),
    )
)
# With the paper's bounds of the critic's values all tasks of BallCatching look alike; these fit.
BOUNDED = ("procurl-val:v_min=16,v_max=42", "procurl-out:v_min=26,v_max=60")
# Other settings of strategies whose results differ from the paper's: the sweep with the paper's
# settings, the sweep with the others, and these.
VARIANTS = (
    (
        POINT_MASS,
        Sweep("pointmass-s-spdl", "pointmass-s", 1_000_000),
        (
            "spdl:early_stop=true",
            "spdl:full_step=true",
            "spdl:threshold=0.3",
            "spdl:floor=0.2",
            "spdl:max_kl=0.2",
            "spdl:max_kl=0.02",
            "spdl:refresh_every=10240",
        ),
    ),
    (
        KAREL,
        Sweep("basickarel-spdl", "basickarel", 1_000_000),
        ("spdl:early_stop=true", "spdl:refresh_every=20480"),
    ),
    (KAREL, Sweep("basickarel-space", "basickarel", 1_000_000), ("space:max_size=1000",)),
    (
        KAREL,
        Sweep("basickarel-easy", "basickarel", 1_000_000),
        (
            "easy:beta=20",
            "easy:beta=40",
            # As many rollouts, but from the first steps on: the paper's program starts with them.
            "easy:refresh_every=10240,rollout_tasks=2400",
            "easy:beta=20,refresh_every=10240,rollout_tasks=2400",
        ),
    ),
    (BALL, replace(BALL, name="ballcatching-val"), BOUNDED[:1]),
    (BALL, replace(BALL, name="ballcatching-out"), BOUNDED[1:]),
)

# Rollouts within a budget: the strategies with the settings of the main table, and with others.
BUDGETED = ("procurl-env-4", "procurl-env-2", "procurl", "iid")
BUDGETS = Sweep("pointmass-s-budgets", "pointmass-s", 1_000_000)
BUDGET_ROWS = (
    "procurl-env-4:spending=early",
    # The paper refreshes less often if there is a budget, but does not say how often.
    "procurl-env-4:spending=early,refresh_every=20480",
    "procurl-env-4:spending=early,refresh_every=35840",
    "procurl-env-2:spending=early",
    "procurl-env-2:spending=early,refresh_every=51200",
    "procurl-env-2:spending=early,refresh_every=102400",
    "procurl:budget=4",
    "procurl:budget=2",
)

# The two parts of `procurl` one by one: uniform draws with patience, and its draws without.
PATIENCE = Sweep("pointmass-s-patience", "pointmass-s", 1_000_000)
PATIENCE_ROWS = ("procurl:floor=1", "procurl:patience=none")

# Strategies of other papers and made by hand, none of which is in the paper.
FIELD = (
    "learning-progress",
    "alp-gmm",
    "sfl",
    "plr:robust=true,score=maxmc",
    "stages",
    "anneal",
    "mix:strategies=procurl-val+iid",
)
FIELD_BY_SWEEP = {
    POINT_MASS: (*FIELD, "learning-progress:form=absolute", "plr:score=maxmc"),
    HARD: FIELD,
    # Karel's tasks have no contexts for alp-gmm.
    KAREL: tuple(name for name in FIELD if name != "alp-gmm"),
}


# Of the paper on targets (Tzannetos et al. 2024).
TARGET_ROWS = (
    "procurl-target",
    "procurl-target:relative=true",
    "procurl",
    "procurl-val",
    "spdl",
    "plr",
    "currot",
    "target",
    "iid",
)


def _modes(name: str, targets: str) -> Sweep:
    """PointMass with 20,000 tasks and targets: evaluations play 500 of them and the targets."""
    return Sweep(
        name,
        "pointmass-s",
        2_000_000,
        size=20_000,
        targets=targets,
        ppo=("n_steps=5120", "batch_size=128", "ent_coef=0.01"),
        evaluation=EvaluationOptions(eval_every=50_000, eval_tasks=500, eval_stochastic=True),
    )


ONE_MODE = _modes("pointmass-s-one-mode", "target-one-mode")
TWO_MODES = _modes("pointmass-s-two-modes", "target-two-modes")
SPARSE_GOAL = Sweep(
    "sgr",
    "sgr",
    preset("sgr").steps,
    targets="target",
    evaluation=EvaluationOptions(eval_every=50_000),
)
