"""CURROT: particles that move from the whole pool to the targets, as far as the agent follows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace, segment_sum
from procurl.internals.checks import require_integer, require_number
from procurl.strategies.potentials import Potential
from procurl.strategies.samplers import Proportional
from procurl.strategies.success_strategy import SuccessState, SuccessStrategy
from procurl.strategies.targeted.transport import Terrain, terrain_of, transport
from procurl.success import JointSuccess, Success
from procurl.tasks.matching import SharedTasks
from procurl.tasks.pool import TaskPool
from procurl.tasks.targets import TARGET


@dataclass(frozen=True)
class Particles(Potential):
    """The number of particles on each task. The state is the task of every particle, [m].

    Args:
        targets: the feature that marks the targets.
        particles: m.
        candidates: largest number of tasks that particles can move to, besides the targets.
        terrain: of the pool, None before `settings_for`.
    """

    targets: str
    particles: int
    candidates: int
    terrain: Terrain | None = None

    def init(self, n: int) -> Array:
        return self.known().start

    def __call__(self, probability: Array, state: Array) -> Array:
        xp = namespace(probability, state)
        ones = xp.ones(state.shape, dtype=probability.dtype)
        return segment_sum(ones, state, probability.shape[0])

    def known(self) -> Terrain:
        """The terrain; raises without a pool."""
        if self.terrain is None:
            raise ValueError(
                "targets are tasks of a pool: call strategy.bind(pool) first, as Curriculum and "
                "the engines do"
            )
        return self.terrain

    def check(self, success: Success) -> None:
        require_integer("particles", self.particles, at_least=1)
        require_integer("candidates", self.candidates, at_least=1)

    def settings_for(self, pool: TaskPool) -> dict[str, Any]:
        return {"terrain": terrain_of(pool, self.targets, self.particles, self.candidates)}


@dataclass(frozen=True)
class CURROT(SuccessStrategy):
    """Curriculum RL via constrained optimal transport (Klink et al. 2022) on a pool.

    P(s) is the share of m particles on task s. They start spread evenly over the pool, and every
    refresh moves them closer to the targets, with distances between contexts scaled to [0, 1]:

    1. Particles on tasks with a success of at most the threshold return to tasks above it, those
       nearest to the targets.
    2. Every particle is assigned a target, at the smallest total of squared distances.
    3. It moves to the task nearest to its target among those above the threshold and in reach of
       one step.

    If no task is above the threshold, the particles wait.

    Args:
        success: the estimate of the success on each task.
        threshold: δ, the success that a task must exceed before particles move to it.
        max_step: ε, the largest distance of one move; None: 0.1, or on small pools twice the
            spacing n^(−1/d) of n tasks in d columns.
        particles: m.
        targets: the feature of the pool that is not 0 on targets.
        candidates: largest number of tasks, besides the targets, that particles can move to; a
            larger pool is represented by tasks spread evenly over it.
        floor: share of the mass that is always spread evenly over the pool.
        epsilon: size of the noise on the estimate, for robustness tests; None: no noise.
    """

    success: Success = field(default_factory=lambda: JointSuccess(measure="auto"))
    threshold: float = 0.5
    max_step: float | None = None
    particles: int = 100
    targets: str = TARGET
    candidates: int = 32768
    floor: float = 0.0
    epsilon: float | None = None
    # Not a setting: `bind` computes it from the pool. None before that.
    terrain: Terrain | None = field(default=None, repr=False, compare=False)

    @property
    def potential(self) -> Particles:
        return Particles(self.targets, self.particles, self.candidates, self.terrain)

    @property
    def sampler(self) -> Proportional:
        return Proportional(self.floor)

    def update(self, state: SuccessState, evidence: Evidence) -> SuccessState:
        state = super().update(state, evidence)
        terrain = self.potential.known()
        step = terrain.step if self.max_step is None else self.max_step
        success = self.estimated_success(state)
        moved = transport(terrain, state.potential, success, self.threshold, step)
        return state._replace(potential=moved)

    def metrics(self, state: SuccessState) -> Mapping[str, Array]:
        """`at_targets`, the share of particles that are on a target."""
        if self.terrain is None:
            return {}
        xp = namespace(state.potential, self.terrain.goals)
        at_targets = xp.any(state.potential[:, None] == self.terrain.goals, axis=1)
        return {"at_targets": xp.mean(at_targets)}

    def carry_over(
        self, state: SuccessState, fresh: SuccessState, shared: SharedTasks
    ) -> SuccessState:
        """Particles on tasks that both pools share stay there; the others start anew."""
        place = dict(zip(shared.before.tolist(), shared.after.tolist(), strict=True))
        pairs = zip(state.potential.tolist(), fresh.potential.tolist(), strict=True)
        particles = np.array([place.get(old, new) for old, new in pairs], dtype=np.int32)
        carried: SuccessState = super().carry_over(state, fresh, shared)
        return carried._replace(potential=particles)

    def check(self) -> None:
        super().check()
        require_number("threshold", self.threshold, at_least=0.0, at_most=1.0)
        if self.max_step is not None:
            require_number("max_step", self.max_step, above=0.0)
