"""What a strategy is: settings, a state, and three pure functions over them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from procurl.evidence import Evidence, Scale
from procurl.internals.arrays import Array, namespace
from procurl.strategies.carrying import carry_rows
from procurl.success import RolloutPlan, outcomes_of
from procurl.tasks.matching import SharedTasks
from procurl.tasks.pool import TaskPool


class Strategy(ABC):
    """Decides how likely each task of a pool is to be played next.

    Subclass it as a frozen dataclass whose fields are the settings; keep the state in a NamedTuple
    of arrays. `init`, `update` and `probabilities` are pure and written against the array namespace
    of their inputs (`procurl.namespace`), so that they run on NumPy and under JAX's `jit` and
    `vmap`. Fields annotated with `float` are traced there and may be vmapped over; `int`, `str`
    and `bool` fields are compiled in.
    """

    refresh_every: int | None = None  # training steps between refreshes; None: every policy update
    # Tasks that the critic values at a refresh after the first, in rotation; the others keep the
    # values that they had. None: all, or 100,000 of a larger pool.
    tasks_per_refresh: int | None = None
    ends_evenly: bool = False  # whether drawing all tasks evenly is its aim, and no reason to warn

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """The fields of `Evidence` that `update` requires.

        Those of rollouts are missing at refreshes without rollouts if these are optional.
        """

    @property
    def uses(self) -> tuple[str, ...]:
        """The fields of `Evidence` that `update` reads, required or not."""
        return self.needs

    @abstractmethod
    def init(self, n: int) -> Any:
        """The state for a pool of `n` tasks before any evidence."""

    @abstractmethod
    def update(self, state: Any, evidence: Evidence) -> Any:
        """The state after `evidence`, whose arrays belong to the engine: copy what you keep.

        Non-finite entries keep what was known of their task.
        """

    @abstractmethod
    def probabilities(self, state: Any) -> Array:
        """[n] how likely each task is to be played next; sums to 1."""

    def check(self) -> None:
        """Raise on a bad setting. Not called by the constructor: settings may be traced arrays."""

    def bind(self, pool: TaskPool) -> Self:
        """The same strategy with what it takes from the pool; most take nothing."""
        return self

    def for_training(self, steps: int) -> Self:
        """The same strategy with what it takes from the length of training; most take nothing.

        Engines that know how long they will train call it before they use the strategy.

        Args:
            steps: training steps in all.
        """
        return self

    def trust_prior(self, state: Any) -> Any:
        """The state in which the next `values` count as known rates, not as a critic's estimate.

        If there were values before, the trust in them stays as it is.
        """
        return state

    def estimated_success(self, state: Any) -> Array | None:
        """[n] the probability of success that the strategy follows, None if it uses none."""
        return None

    def metrics(self, state: Any) -> Mapping[str, Array]:
        """Numbers of the strategy's own for logs, by name, such as the current stage."""
        return {}

    def shortfall(self, state: Any) -> str | None:
        """What has never taken effect so far and what to do about it; None if all has.

        Engines log it at the end of training. Its arrays are NumPy's.
        """
        return None

    def carry_over(self, state: Any, fresh: Any, shared: SharedTasks) -> Any:
        """The state on another pool, in which the tasks that both pools share keep what is known.

        By default, every array of the state that has one entry per task takes the entries of
        shared tasks from `state` and all others from `fresh`. Everything else stays as in `state`.
        Override it if entries depend on each other or the state holds task ids.

        Args:
            state: on the pool before.
            fresh: on the pool after, without evidence.
            shared: the tasks in both.
        """
        return carry_rows(type(self).__name__, state, fresh, shared, self.init)

    @property
    def outcome_measure(self) -> str:
        """What engines judge a training episode by: `return`, `success`, or `auto`."""
        return "auto"

    def outcomes(self, measured: Array, scale: Scale) -> tuple[Array, Array]:
        """[m] (wins, losses) of single episodes from what is `measured` [m] of each.

        Args:
            measured: [m] return or success, by `outcome_measure`.
            scale: of what was seen.
        """
        return outcomes_of(measured, scale.low, scale.high)

    def transition_score(self, advantages: Array, values: Array | None = None) -> Array:
        """What each transition adds to the score of its episode, which is the mean over them.

        Args:
            advantages: GAE advantages of any shape.
            values: the critic's values of the same steps; engines always pass them.
        """
        return namespace(advantages).abs(advantages)

    def learning_mask(self, state: Any) -> Array | None:
        """[n] bool, the tasks whose episodes the agent learns from; None: all of them.

        Engines replace every other step of an update by copies of the steps that count. An update
        without any leaves the agent as it was.
        """
        return None

    @property
    def patience(self) -> int | None:
        """Updates in a row without any reward that the agent may take; None: any number.

        Such an update says nothing about the tasks: normalized advantages magnify the noise of the
        critic, and the agent wanders. That is how it may find its first reward, and how it may get
        lost. After one more than `patience`, the agent returns to where its latest update with a
        reward left it; with 0, it stays there. Agents with a replay buffer learn as always.
        """
        return None

    def rollout_plan(self) -> RolloutPlan | None:
        """The rollouts that the strategy asks of an engine, None if it needs none."""
        return None

    def rollout_weights(self, state: Any) -> Array | None:
        """[n] how likely each task is to get rollouts if the plan covers only part of the pool.

        Not negative, and not all zero; they need not sum to 1. None weighs all tasks equally.
        Engines draw `RolloutPlan.tasks` different tasks in proportion to them.
        """
        return None

    def due(self, step: Array, refreshed_at: Array, teacher_steps: Array) -> Array:
        """Whether to refresh now: by default once `refresh_every` training steps have passed.

        With a rollout budget, all refreshes so far must be paid off as well:

            step − refreshed_at ≥ refresh_every   and   teacher_steps ≤ (budget − 1) · step.

        Optional rollouts do not delay a refresh; see `rolls_out`.

        Args:
            step: training steps so far.
            refreshed_at: the value of `step` at the last refresh, 0 before the first.
            teacher_steps: environment steps that the teacher's rollouts have taken so far.
        """
        waited = step - refreshed_at >= (self.refresh_every or 0)
        plan = self.rollout_plan()
        if plan is None or plan.budget is None or plan.optional:
            return waited
        return waited & plan.affordable(step, teacher_steps)

    def rolls_out(self, step: Array, teacher_steps: Array) -> Array:
        """Whether a refresh now plays the rollouts of the plan.

        Optional rollouts are played if the budget allows them. Without them, a refresh leaves the
        fields of rollouts in `Evidence` None. All other rollouts are played at every refresh.

        Args:
            step: training steps so far.
            teacher_steps: environment steps that the teacher's rollouts have taken so far.
        """
        plan = self.rollout_plan()
        if plan is None or not plan.optional:
            return plan is not None
        return plan.affordable(step, teacher_steps)

    @property
    def due_by_interval(self) -> bool:
        """Whether `due` is the default rule, which is the same for all runs of a batch."""
        return type(self).due is Strategy.due
