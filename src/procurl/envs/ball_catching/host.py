"""BallCatching on the host: MuJoCo's threads step a batch of episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import Transition
from procurl.envs.ball_catching.base import BallCatching
from procurl.envs.ball_catching.rules import (
    MOVED,
    SPEED,
    START_NOISE,
    SUBSTEP,
    SUBSTEPS,
    net_normals,
    noisy_starts,
    observations,
    on_arm,
    rewards,
)
from procurl.envs.mujoco.threads import thread_count
from procurl.internals.arrays import Array, Floats

# MuJoCo's vector of a full state holds time, positions and velocities.
POSITIONS = slice(1, 11)
VELOCITIES = slice(11, 21)
BALL_VELOCITY = slice(18, 21)
NET_CONTACTS, CONTACTS = 0, 1  # of the model's sensors
NET_AXES_SENSED = slice(2, 11)  # the net's z, x and y axes

_SPEED = np.asarray(SPEED)
_PASSED = SUBSTEP * np.arange(1, SUBSTEPS + 1)[:, None]  # [5, 1] time at the end of each substep


class BallCatchingState(NamedTuple):
    """State of b arms and balls; the simulation depends on nothing else."""

    physics: Floats  # [b, 21] time, 10 positions and 10 velocities, the arm's before the ball's
    desired: Floats  # [b, 5] positions that the PD law steers the moved joints to


@dataclass(frozen=True)
class HostBallCatching(BallCatching):
    """BallCatching: reward 25 to 75 for a catch, by its angle, and 0.275 per step, less effort.

    MuJoCo's C library steps it.

    An action lasts five substeps of 0.002. All of them are simulated in one call, and what comes
    after the ball's first contact is discarded. This is possible because the controls of all
    substeps are known when the action starts.

    Args:
        threads: number of threads that share a batch; by default one per core.
        net_axis: what a catch is measured along: the net's axis, which is the third `column` of its
            rotation matrix, or the third `row`, as in the paper's program.
    """

    threads: int | None = None
    net_axis: str = "column"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in this process or another, makes its own threads and simulations."""
        return type(self), (self.threads, self.net_axis)

    @cached_property
    def model(self) -> Any:
        """The `mujoco.MjModel`."""
        from procurl.envs.ball_catching.model import ball_catching_model

        return ball_catching_model()

    def initial(self, contexts: Array) -> BallCatchingState:
        """The arm at home and at rest; the throw from the middle of its range."""
        return self.start(contexts, np.zeros((len(contexts), START_NOISE)))

    def start(self, contexts: Array, noise: Array) -> BallCatchingState:
        positions, velocities = noisy_starts(np.asarray(contexts, dtype=np.float64), noise)
        physics = np.zeros((len(positions), 1 + self.model.nq + self.model.nv))
        physics[:, POSITIONS], physics[:, VELOCITIES] = positions, velocities
        return BallCatchingState(physics, positions[:, MOVED])

    def observe(self, state: BallCatchingState) -> Array:
        physics = state.physics
        return observations(state.desired, physics[:, POSITIONS], physics[:, VELOCITIES])

    def step(self, state: BallCatchingState, actions: Array, noise: Array) -> Transition:
        actions = np.minimum(np.maximum(actions.astype(np.float64), -_SPEED), _SPEED)
        desired = state.desired[:, None] + _PASSED * actions[:, None]  # [b, 5, 5]
        path, sensed = self._simulate(state.physics, on_arm(desired))
        touched = sensed[:, :, CONTACTS] > 0  # [b, 5]
        done = touched.any(axis=1)
        last = np.where(done, touched.argmax(axis=1), SUBSTEPS - 1)
        rows = np.arange(len(last))
        physics, sensed = path[rows, last], sensed[rows, last]
        caught = sensed[:, NET_CONTACTS] > 0
        axes = sensed[:, NET_AXES_SENSED].reshape(-1, 3, 3)[:, [1, 2, 0]]  # x, y, z
        normals = net_normals(axes.swapaxes(1, 2), self.net_axis)
        reward = rewards(actions, caught, normals, physics[:, BALL_VELOCITY])
        return Transition(BallCatchingState(physics, desired[rows, last]), reward, done, caught)

    def draw(self, states: Sequence[Any]) -> NDArray[np.uint8]:
        from procurl.envs.ball_catching.picture import ball_catching_picture

        path = [state.physics[0] for state in states]
        return ball_catching_picture(
            [physics[POSITIONS] for physics in path], [physics[VELOCITIES] for physics in path]
        )

    def _simulate(self, physics: Floats, controls: Floats) -> tuple[Floats, Floats]:
        """(states [b, 5, 21], sensors [b, 5, 11]) after each substep from `physics` [b, 21] on.

        Args:
            physics: [b, 21].
            controls: [b, 5, 7].
        """
        rollout, simulations = self._alone if len(physics) == 1 else self._together
        path = np.empty((len(physics), SUBSTEPS, physics.shape[1]))
        sensed = np.empty((len(physics), SUBSTEPS, self.model.nsensordata))
        rollout.rollout(
            [self.model] * len(physics),
            simulations,
            physics,
            np.ascontiguousarray(controls),
            skip_checks=True,  # they take longer than the simulation of one arm
            nstep=SUBSTEPS,
            state=path,
            sensordata=sensed,
        )
        return path, sensed

    @cached_property
    def _alone(self) -> tuple[Any, list[Any]]:
        return _rollout(self.model, 1)

    @cached_property
    def _together(self) -> tuple[Any, list[Any]]:
        return _rollout(self.model, thread_count(self.threads))


def _rollout(model: Any, threads: int) -> tuple[Any, list[Any]]:
    """(rollout object, a simulation per thread); a single one runs in the calling thread."""
    from procurl.envs.mujoco.library import mujoco, rollout

    started = threads if threads > 1 else 0
    return rollout.Rollout(nthread=started), [mujoco.MjData(model) for _ in range(threads)]
