"""PointMass: push a mass through a gate in a wall to the goal behind it.

The sparse and the dense form share one set of dynamics.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv, Transition, require_context
from procurl.envs.point_mass.pool import point_mass_pool
from procurl.envs.point_mass.rules import (
    ARENA,
    CONTEXT_HIGH,
    CONTEXT_LOW,
    CONTEXT_NAMES,
    DT,
    FORCE,
    GOAL,
    GOAL_RADIUS,
    HORIZON,
    NOISE,
    PUSH,
    START,
    SUBSTEPS,
    TOP_SPEED,
    PointMassState,
)
from procurl.internals.arrays import Array, namespace
from procurl.tasks.pool import TaskPool


@dataclass(frozen=True)
class PointMass(ArrayEnv):
    """The dynamics of both forms; a form defines the reward and the end of an episode.

    An action is applied for 10 Euler substeps of 0.01, see `move`. The episode ends in a crash, at
    the horizon of 100 actions, and when the form says so.
    """

    horizon = HORIZON
    context_names = CONTEXT_NAMES
    observation_low = np.array(
        [-ARENA, -TOP_SPEED, -ARENA, -TOP_SPEED, *CONTEXT_LOW], dtype=np.float32
    )
    observation_high = np.array(
        [ARENA, TOP_SPEED, ARENA, TOP_SPEED, *CONTEXT_HIGH], dtype=np.float32
    )
    action_low = np.full(2, -FORCE, dtype=np.float32)
    action_high = np.full(2, FORCE, dtype=np.float32)
    n_actions = None
    noise_shape = (SUBSTEPS, 2)

    @abstractmethod
    def outcome(self, distance: Array, ended: Array) -> tuple[Array, Array, Array]:
        """(reward [b], done [b], success [b]) after an action.

        Args:
            distance: [b] from the goal.
            ended: [b] bool, whether the episode has ended in a crash or at the horizon.
        """

    def initial(self, contexts: Array) -> PointMassState:
        """At rest at (0, 3)."""
        xp = namespace(contexts)
        b = contexts.shape[0]
        at_rest = xp.zeros(b, dtype=np.float32)
        return PointMassState(
            x=xp.full(b, START[0], dtype=np.float32),
            y=xp.full(b, START[1], dtype=np.float32),
            vx=at_rest,
            vy=at_rest,
            gate_position=contexts[:, 0].astype(np.float32),
            gate_width=contexts[:, 1].astype(np.float32),
            friction=contexts[:, 2].astype(np.float32),
            steps=xp.zeros(b, dtype=np.int32),
        )

    def observe(self, state: PointMassState) -> Array:
        """[b, 7]: x, ẋ, y, ẏ, gate position, gate width, friction."""
        xp = namespace(state.x)
        motion = [state.x, state.vx, state.y, state.vy]
        return xp.stack([*motion, state.gate_position, state.gate_width, state.friction], axis=1)

    def step(self, state: PointMassState, actions: Array, noise: Array) -> Transition:
        xp = namespace(state.x, actions, noise)
        state, crashed = move(state, actions, noise)
        distance = xp.sqrt((state.x - GOAL[0]) ** 2 + (state.y - GOAL[1]) ** 2)
        reward, done, success = self.outcome(distance, crashed | (state.steps >= HORIZON))
        return Transition(state, reward, done, success)

    def check_context(self, context: Array) -> None:
        require_context(context, CONTEXT_NAMES, CONTEXT_LOW, CONTEXT_HIGH)

    def default_pool(self) -> TaskPool:
        return point_mass_pool("uniform")

    def draw(self, states: Sequence[Any]) -> NDArray[np.uint8]:
        from procurl.envs.point_mass.picture import point_mass_picture

        return point_mass_picture(states)


@dataclass(frozen=True)
class SparsePointMass(PointMass):
    """PointMass-s: reward 1 within 0.30 of the goal, which ends the episode, else 0."""

    def outcome(self, distance: Array, ended: Array) -> tuple[Array, Array, Array]:
        success = distance < GOAL_RADIUS
        return success.astype(np.float32), ended | success, success


@dataclass(frozen=True)
class DensePointMass(PointMass):
    """PointMass-d: reward exp(−0.6·distance) for every action; the goal does not end the episode.

    An episode succeeds if it ends within 0.30 of the goal. (The paper's text writes a squared
    exponential; its program computes this.)
    """

    def outcome(self, distance: Array, ended: Array) -> tuple[Array, Array, Array]:
        xp = namespace(distance)
        return xp.exp(-0.6 * distance), ended, ended & (distance < GOAL_RADIUS)


def move(state: PointMassState, actions: Array, noise: Array) -> tuple[PointMassState, Array]:
    """(state after the substeps of one action, crashed [b]).

    In each substep, with w = 0.05·noise and the right-hand sides taken before it,

        position += dt·velocity, then clipped to ±4,
        velocity += dt·(1.5·a − friction·velocity + w).

    The substeps are first computed as if there were no wall. A mass that hits the wall stays there,
    so it ends at rest at the first crash on that path.

    Args:
        state: of b masses.
        actions: [b, 2], clipped to ±10 here.
        noise: [b, 10, 2] standard normal.
    """
    xp = namespace(state.x, actions, noise)
    # The batch comes last: NumPy and XLA are fastest along long contiguous rows.
    actions, noise = xp.asarray(actions, dtype=np.float32), xp.asarray(noise, dtype=np.float32)
    force = xp.minimum(xp.maximum(actions.T, -FORCE), FORCE)
    gain = (DT * PUSH) * force + (DT * NOISE) * xp.moveaxis(noise, 0, 2)  # [10, 2, b]
    kept = 1.0 - DT * state.friction
    position = xp.stack([state.x, state.y])  # [2, b]
    velocity = xp.stack([state.vx, state.vy])
    path = [position]
    for k in range(SUBSTEPS):
        position = xp.minimum(xp.maximum(position + DT * velocity, -ARENA), ARENA)
        velocity = kept * velocity + gain[k]
        path.append(position)
    crashed, crash_x = first_crash(xp.stack(path), state.gate_position, 0.5 * state.gate_width)
    at_rest = xp.zeros_like(crash_x)
    after = state._replace(
        x=xp.where(crashed, crash_x, position[0]),
        y=xp.where(crashed, at_rest, position[1]),
        vx=xp.where(crashed, at_rest, velocity[0]),
        vy=xp.where(crashed, at_rest, velocity[1]),
        steps=state.steps + 1,
    )
    return after, crashed


def first_crash(path: Array, gate: Array, reach: Array) -> tuple[Array, Array]:
    """(crashed [b], x of the first crash [b]): where a path meets the wall outside the gate.

    A substep crosses the wall if it leads from y ≥ 0 to y < 0 or from y ≤ 0 to y > 0. Its x at
    y = 0, interpolated linearly, may not be farther than `reach` from the gate.

    Args:
        path: [11, 2, b] x and y before and after each substep.
        gate: [b] x of the middle of the gate.
        reach: [b] half its width.
    """
    xp = namespace(path, gate)
    x, y = path[:, 0], path[:, 1]
    before, after = y[:-1], y[1:]
    crosses = ((before >= 0) & (after < 0)) | ((before <= 0) & (after > 0))
    share = before / xp.where(crosses, before - after, 1.0)
    crossing = x[:-1] + share * (x[1:] - x[:-1])  # [10, b]
    crashes = crosses & (xp.abs(crossing - gate) > reach)
    first = xp.argmax(crashes, axis=0), xp.arange(path.shape[2])  # substep 0 if there is none
    return crashes[first], crossing[first]
