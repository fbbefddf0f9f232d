"""SparseGoal: walk through a corridor around a square wall until the goal is near enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv, Transition, require_context
from procurl.envs.sparse_goal.pool import sparse_goal_pool
from procurl.envs.sparse_goal.rules import (
    CONTEXT_HIGH,
    CONTEXT_LOW,
    CONTEXT_NAMES,
    HORIZON,
    INNER,
    OUTER,
    START,
    START_REACH,
    STEP,
    SparseGoalState,
)
from procurl.internals.arrays import Array, namespace
from procurl.tasks.pool import TaskPool


@dataclass(frozen=True)
class SparseGoal(ArrayEnv):
    """Reward 1 within the tolerance of the goal, which ends the episode, else 0.

    The point starts in the lower left corner of a corridor around a square wall. An action is a
    move of at most 0.3, see `move`. The episode also ends at the horizon of 200 actions. A goal
    may lie inside the walls: then it is reached only if the tolerance is large enough.
    """

    horizon = HORIZON
    context_names = CONTEXT_NAMES
    observation_low = np.array([-OUTER, -OUTER, *CONTEXT_LOW], dtype=np.float32)
    observation_high = np.array([OUTER, OUTER, *CONTEXT_HIGH], dtype=np.float32)
    action_low = np.full(2, -1.0, dtype=np.float32)
    action_high = np.full(2, 1.0, dtype=np.float32)
    n_actions = None
    noise_shape = (0,)
    start_noise_shape = (2, 2)

    def initial(self, contexts: Array) -> SparseGoalState:
        """In the middle of the corner, at (−6, −6)."""
        return self.start(contexts, namespace(contexts).zeros((contexts.shape[0], 2, 2)))

    def start(self, contexts: Array, noise: Array) -> SparseGoalState:
        """Uniform in the corner [−7, −5]².

        The direction of two normal numbers is uniform over the circle, so each coordinate takes
        one direction.
        """
        xp = namespace(contexts, noise)
        reach = xp.asarray(START_REACH / np.pi, dtype=np.float32)
        angle = xp.arctan2(noise[:, :, 0], noise[:, :, 1]).astype(np.float32)
        place = START + reach * angle
        return SparseGoalState(
            x=place[:, 0],
            y=place[:, 1],
            goal_x=contexts[:, 0].astype(np.float32),
            goal_y=contexts[:, 1].astype(np.float32),
            tolerance=contexts[:, 2].astype(np.float32),
            steps=xp.zeros(contexts.shape[0], dtype=np.int32),
        )

    def observe(self, state: SparseGoalState) -> Array:
        """[b, 5]: x, y, goal x, goal y, tolerance."""
        return namespace(state.x).stack(list(state[:-1]), axis=1)

    def step(self, state: SparseGoalState, actions: Array, noise: Array) -> Transition:
        xp = namespace(state.x, actions)
        state = move(state, actions)
        distance = xp.sqrt((state.x - state.goal_x) ** 2 + (state.y - state.goal_y) ** 2)
        success = distance < state.tolerance
        done = success | (state.steps >= HORIZON)
        return Transition(state, success.astype(np.float32), done, success)

    def check_context(self, context: Array) -> None:
        require_context(context, CONTEXT_NAMES, CONTEXT_LOW, CONTEXT_HIGH)

    def default_pool(self) -> TaskPool:
        return sparse_goal_pool("uniform")

    def draw(self, states: Sequence[Any]) -> NDArray[np.uint8]:
        from procurl.envs.sparse_goal.picture import sparse_goal_picture

        return sparse_goal_picture(states)


def move(state: SparseGoalState, actions: Array) -> SparseGoalState:
    """The state after one action: position += 0.3 · a / max(1, |a|), stopped by the walls.

    The outer wall clips each coordinate to ±7. A move that ends inside the inner wall is stopped
    at its edge: each coordinate that was beyond ±5 before the move stays there.

    Args:
        state: of b points.
        actions: [b, 2], clipped to ±1 here.
    """
    xp = namespace(state.x, actions)
    actions = xp.asarray(actions, dtype=np.float32)
    heading = xp.minimum(xp.maximum(actions.T, -1.0), 1.0)  # [2, b]
    length = xp.sqrt((heading**2).sum(axis=0))
    before = xp.stack([state.x, state.y])
    after = before + STEP * heading / xp.maximum(length, 1.0)
    after = xp.minimum(xp.maximum(after, -OUTER), OUTER)
    in_wall = (xp.abs(after) < INNER).all(axis=0)
    stopped = xp.where(before <= -INNER, -INNER, xp.where(before >= INNER, INNER, after))
    x, y = xp.where(in_wall, stopped, after).astype(np.float32)
    return state._replace(x=x, y=y, steps=state.steps + 1)
