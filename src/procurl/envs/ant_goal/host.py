"""AntGoal on the host: a batch of ants shared among threads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.ant_goal.base import AntGoal
from procurl.envs.ant_goal.rules import (
    FRAME_SKIP,
    GOAL_RADIUS,
    HORIZON,
    POSITIONS,
    VELOCITIES,
    distances,
    observations,
    rewards,
)
from procurl.envs.array_env import Transition
from procurl.envs.mujoco.threads import Threads, thread_count
from procurl.internals.arrays import Array, Floats

# MuJoCo's vector of a full state holds time, positions and velocities.
AT = slice(1, 1 + POSITIONS)
SPEED = slice(1 + POSITIONS, 1 + POSITIONS + VELOCITIES)


class AntGoalState(NamedTuple):
    """State of b ants, and their goals; the simulation depends on nothing else."""

    physics: Floats  # [b, 30] time, 15 positions and 14 velocities
    goals: Floats  # [b, 2]
    steps: NDArray[np.int32]  # [b] actions taken in this episode


@dataclass(frozen=True)
class HostAntGoal(AntGoal):
    """AntGoal: reward 10·exp(−2·distance) per step, less effort and contact forces.

    MuJoCo's C library steps it.

    Threads step the ants one by one, because the contact cost needs forces that MuJoCo's batched
    rollouts do not return. MuJoCo releases the GIL while it steps.

    Args:
        threads: number of threads that share a batch; by default one per core.
    """

    threads: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in this process or another, makes its own threads and simulations."""
        return type(self), (self.threads,)

    @cached_property
    def model(self) -> Any:
        """The `mujoco.MjModel`."""
        from procurl.envs.ant_goal.model import ant_goal_model
        from procurl.envs.mujoco.library import mujoco

        model, without = ant_goal_model(), mujoco.mjtDisableBit
        # All constraints of an ant are connected, so there are no islands to find. A cold start
        # makes the future depend on positions and velocities alone; the solver comes as close to
        # the solution as with a warm start, in fewer evaluations.
        model.opt.disableflags |= without.mjDSBL_ISLAND | without.mjDSBL_WARMSTART
        return model

    def initial(self, contexts: Array) -> AntGoalState:
        """The ant in the model's own pose, at rest."""
        goals = np.array(contexts, dtype=np.float64)
        physics = np.repeat(self._at_rest[None], len(goals), axis=0)
        return AntGoalState(physics, goals, np.zeros(len(goals), dtype=np.int32))

    def observe(self, state: AntGoalState) -> Array:
        return observations(state.goals, state.physics[:, AT], state.physics[:, SPEED])

    def step(self, state: AntGoalState, actions: Array, noise: Array) -> Transition:
        actions = np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0)
        physics, forces = self._simulate(state.physics, actions)
        distance = distances(state.goals, physics[:, AT])
        steps = state.steps + np.int32(1)
        done = steps >= HORIZON
        following = AntGoalState(physics, state.goals, steps)
        success = done & (distance < GOAL_RADIUS)
        return Transition(following, rewards(distance, actions, forces), done, success)

    def draw(self, states: Sequence[Any]) -> NDArray[np.uint8]:
        from procurl.envs.ant_goal.picture import ant_goal_picture

        path = [state.physics[0] for state in states]
        return ant_goal_picture(
            [physics[AT] for physics in path],
            [physics[SPEED] for physics in path],
            states[-1].goals[0],
        )

    def _simulate(self, physics: Floats, actions: Floats) -> tuple[Floats, Floats]:
        """(states [b, 30], external forces [b, bodies, 6]) after an action [b, 8] in each.

        The forces come from `mj_rnePostConstraint`, which a step does not call.
        """
        from procurl.envs.mujoco.library import mujoco

        whole = mujoco.mjtState.mjSTATE_FULLPHYSICS
        after = np.empty_like(physics)
        forces = np.empty((len(physics), self.model.nbody, 6))

        def work(thread: int, rows: Iterator[int]) -> None:
            model, simulation = self.model, self._simulations[thread]
            for row in rows:
                mujoco.mj_setState(model, simulation, physics[row], whole)
                simulation.ctrl[:] = actions[row]
                mujoco.mj_step(model, simulation, FRAME_SKIP)
                mujoco.mj_rnePostConstraint(model, simulation)
                mujoco.mj_getState(model, simulation, after[row], whole)
                forces[row] = simulation.cfrc_ext

        self._threads.share(len(physics), work)
        return after, forces

    @cached_property
    def _threads(self) -> Threads:
        return Threads(thread_count(self.threads))

    @cached_property
    def _simulations(self) -> list[Any]:
        from procurl.envs.mujoco.library import mujoco

        return [mujoco.MjData(self.model) for _ in range(self._threads.count)]

    @cached_property
    def _at_rest(self) -> Floats:
        from procurl.envs.mujoco.library import mujoco

        whole = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.empty(mujoco.mj_stateSize(self.model, whole))
        mujoco.mj_getState(self.model, mujoco.MjData(self.model), state, whole)
        return state
