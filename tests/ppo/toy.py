"""A corridor with a known answer: small enough to compile at once, with easy and hard tasks.

In cell p the right action is p mod 2. A right action leads one cell on, a wrong one ends the
episode, and the end of the corridor is the goal. Acting at random reaches the end of a corridor of
length L with probability 2^−L; the best policy always does.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from procurl.envs.array_env import ArrayEnv, Transition
from procurl.internals.arrays import Array, namespace
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.runs import Runs
from procurl.strategies import Strategy
from procurl.tasks.pool import TaskPool

LONGEST = 6
HORIZON = 9
# Lengths 1 to 6, out of order, so that a task's number says nothing of its length.
CONTEXTS = np.array([[3.0], [1.0], [6.0], [2.0], [5.0], [4.0]])
LENGTHS = CONTEXTS[:, 0]
POOL = TaskPool(CONTEXTS, features={"target": LENGTHS >= 5.0})
SHORTEST_TASK, LONGEST_TASK = 1, 2


class CorridorState(NamedTuple):
    """Where b walkers are."""

    cell: Array  # [b] int32
    length: Array  # [b] int32
    steps: Array  # [b] int32


@dataclass(frozen=True)
class Corridor(ArrayEnv):
    """Dynamics of both forms; a form says what kind of action is right.

    Args:
        slip: noise above this keeps the walker where it is, whatever it does.
        toll: reward of every right step besides the 1 at the goal.
    """

    slip: float = math.inf
    toll: float = 0.0

    horizon = HORIZON
    context_names = ("length",)
    observation_low = np.zeros(2 * LONGEST, dtype=np.float32)
    observation_high = np.ones(2 * LONGEST, dtype=np.float32)
    noise_shape = (1,)

    @abstractmethod
    def turns(self, actions: Array) -> Array:
        """[b] int, 0 or 1, what each of `actions` means."""

    def initial(self, contexts: Array) -> CorridorState:
        length = contexts[:, 0].astype("int32")
        start = namespace(contexts).zeros_like(length)
        return CorridorState(start, length, start)

    def observe(self, state: CorridorState) -> Array:
        """[b, 12]: which cell, then how long the corridor is, one bit each."""
        xp = namespace(state.cell)
        cells = xp.arange(LONGEST)
        bits = [state.cell[:, None] == cells, state.length[:, None] == cells + 1]
        return xp.concatenate(bits, axis=1).astype("float32")

    def step(self, state: CorridorState, actions: Array, noise: Array) -> Transition:
        xp = namespace(state.cell, actions, noise)
        slips = noise[:, 0] > self.slip
        right = (self.turns(actions) == state.cell % 2) & ~slips
        cell = xp.where(right, state.cell + 1, state.cell)
        steps = state.steps + 1
        success = cell >= state.length
        done = success | (~right & ~slips) | (steps >= HORIZON)
        reward = success + self.toll * right
        after = CorridorState(cell.astype("int32"), state.length, steps.astype("int32"))
        return Transition(after, reward.astype("float32"), done, success)

    def check_context(self, context: Any) -> None:
        if not 1 <= float(context[0]) <= LONGEST:
            raise ValueError(f"length must be 1 to {LONGEST}, got {context[0]}")


@dataclass(frozen=True)
class StepCorridor(Corridor):
    """Two discrete actions."""

    action_low = None
    action_high = None
    n_actions = 2

    def turns(self, actions: Array) -> Array:
        return actions


@dataclass(frozen=True)
class PushCorridor(Corridor):
    """One continuous action, of which the sign counts."""

    action_low = np.full(1, -1.0, dtype=np.float32)
    action_high = np.full(1, 1.0, dtype=np.float32)
    n_actions = None

    def turns(self, actions: Array) -> Array:
        return (actions[:, 0] > 0.0).astype("int32")


# A linear policy is enough, as the right action depends on the cell alone.
SMALL = PPOSettings(
    learning_rate=0.01,
    gamma=1.0,
    n_steps=64,
    n_epochs=2,
    batch_size=32,
    policy_layers=(),
    value_layers=(8,),
)


def biased(params: dict[str, Any], by_cell: Array) -> dict[str, Any]:
    """`params` with the linear policy of `StepCorridor` set by hand.

    Args:
        params: of a network without policy layers.
        by_cell: [6] how much action 1 is preferred in each cell; 0 leaves it to chance.
    """
    kernel = np.zeros((2 * LONGEST, 2), dtype=np.float32)
    kernel[:LONGEST, 1] = by_cell
    output = {"kernel": jnp.asarray(kernel), "bias": jnp.zeros(2)}
    return params | {"head": {"output": output}}


EXPERT = np.where(np.arange(LONGEST) % 2 == 1, 50.0, -50.0)  # always right
COIN = np.zeros(LONGEST)  # either action with probability 1/2


def make_runs(strategies: Strategy | list[Strategy], **others: Any) -> Runs:
    """Three runs in the corridor; whatever differs in numbers only shares the compiled programs."""
    if isinstance(strategies, Strategy):
        strategies = [strategies] * 3
    given: dict[str, Any] = {"ppo": SMALL, "seeds": (0, 1, 2), "n_envs": 4}
    given |= {"evaluation": EvaluationPlan(every=128)} | others
    if isinstance(given["ppo"], PPOSettings):
        given["ppo"] = [given["ppo"]] * len(strategies)
    return Runs(StepCorridor(), POOL, strategies, **given)


def set_policies(runs: Runs, *by_cell: Array) -> None:
    """Set the linear policy of each run by hand, see `biased`; its anchor moves with it."""
    training = runs.state.training
    params = training.student.params
    one = [biased({}, row)["head"] for row in by_cell]
    head = jax.tree.map(lambda *leaves: jnp.stack(leaves), *one)
    student = training.student._replace(params=params | {"head": head})
    anchor = training.anchor
    if anchor is not None:
        anchor = anchor._replace(student=jax.tree.map(jnp.copy, student))
    training = training._replace(student=student, anchor=anchor)
    runs.state = runs.state._replace(training=training)


def same(one: Any, other: Any) -> bool:
    """Whether two trees of arrays are equal bit for bit."""
    equal = jax.tree.map(
        lambda a, b: np.asarray(a).tobytes() == np.asarray(b).tobytes(), one, other
    )
    return all(jax.tree.leaves(equal))


def after(updates, strategies, **others):
    runs = make_runs(strategies, **others)
    for _ in range(updates):
        runs.advance()
    return runs


def kept(tree):
    """A copy that stays, whatever happens to the buffers of `tree`."""
    return jax.tree.map(lambda leaf: np.array(leaf), tree)


def row(tree, run):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[run], tree)
