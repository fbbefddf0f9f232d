"""CartPole with any pole, cart, gravity and push: a curriculum over a space, or over a fixed pool.

A context holds (length of the pole, its mass, mass of the cart, gravity, force of a push). On the
space, the curriculum draws candidates from all of it and replaces the least promising after every
update. A fixed pool is the same without replacing any: 1,000 contexts, other ones for each seed.

    python examples/cartpole_space.py --seeds 16

compares both. Performance is the mean number of steps held, at most 500, over 500 contexts drawn
evenly from the space that no run was trained on, averaged over the last ten updates.

`AnyCartPole` is an array environment, so that many seeds train side by side on one core.
"""

import argparse
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from procurl import TaskSpace, make_strategy
from procurl.envs import ArrayEnv, Transition, require_context
from procurl.ppo import EvaluationPlan, PPOSettings, Runs

NAMES = ("length", "pole", "cart", "gravity", "force")
LOW, HIGH = np.array([[0.1, 0.05, 0.3, 4.0, 2.0], [3.0, 1.0, 3.0, 25.0, 20.0]])
FALLEN = 0.21  # radians
OFF_TRACK = 2.4
SECONDS = 0.02  # between two pushes
STEPS = 500  # to balance the pole; each is worth 1
SETTINGS = PPOSettings(learning_rate=1e-3, gamma=0.98, ent_coef=0.01, n_steps=4_096, batch_size=512)
TEST = TaskSpace(LOW, HIGH, NAMES).pool(500, seed=123_456)
LAST = 10  # updates after which performance is measured
WIDTH = 16  # seeds that train side by side


class Poles(NamedTuple):
    """The state of b episodes."""

    motion: Any  # [b, 4] position, its velocity, angle, its velocity
    context: Any  # [b, 5]
    steps: Any  # [b] int32


@dataclass(frozen=True)
class AnyCartPole(ArrayEnv):
    """Gymnasium's CartPole, with the pole, the cart, the gravity and the push of the context."""

    horizon = STEPS
    context_names = NAMES
    observation_low = np.array([-5.0] * 4 + [0.0] * 5, dtype=np.float32)
    observation_high = np.array([5.0] * 4 + [1.0] * 5, dtype=np.float32)
    action_low = action_high = None
    n_actions = 2
    noise_shape = (0,)
    start_noise_shape = (4,)

    def initial(self, contexts):
        return self.start(contexts, 0.0 * contexts[:, :4])

    def start(self, contexts, noise):
        motion = (0.03 * noise).astype("float32")
        return Poles(motion, contexts.astype("float32"), (0.0 * noise[:, 0]).astype("int32"))

    def observe(self, state):
        """[b, 9]: the motion, and the context as shares of its range."""
        xp = state.motion.__array_namespace__()
        shares = (state.context - LOW) / (HIGH - LOW)
        return xp.concatenate([state.motion, shares], axis=1).astype("float32")

    def step(self, state, actions, noise):
        xp = state.motion.__array_namespace__()
        _, speed, angle, spin = state.motion.T
        length, pole, cart, gravity, force = state.context.T
        sine, cosine, total = xp.sin(angle), xp.cos(angle), pole + cart
        push = xp.where(actions == 1, force, -force)
        pull = (push + pole * length * spin**2 * sine) / total
        inertia = length * (4.0 / 3.0 - pole * cosine**2 / total)
        turn = (gravity * sine - cosine * pull) / inertia
        drive = pull - pole * length * turn * cosine / total
        change = xp.stack([speed, drive, spin, turn], axis=1)
        motion = (state.motion + SECONDS * change).astype("float32")
        steps = state.steps + 1
        lost = (xp.abs(motion[:, 0]) > OFF_TRACK) | (xp.abs(motion[:, 2]) > FALLEN)
        done = lost | (steps >= STEPS)
        reward = xp.ones_like(motion[:, 0])
        return Transition(state._replace(motion=motion, steps=steps), reward, done, done & ~lost)

    def check_context(self, context):
        require_context(context, NAMES, LOW, HIGH)


def performances(space: TaskSpace, strategy: str, steps: int, seeds: list[int]) -> list[float]:
    """The performance of agents trained on `space`, one per seed."""
    w = len(seeds)
    runs = Runs(
        AnyCartPole(),
        space,
        [make_strategy(strategy)] * w,
        [SETTINGS] * w,
        seeds,
        n_envs=16,
        evaluation=EvaluationPlan(every=10 * steps, pool=TEST),  # only when asked to, see below
    )
    updates = -(-steps // SETTINGS.n_steps)
    while runs.updates < updates:
        runs.advance()
        if runs.updates > updates - LAST:
            runs.evaluate(runs.train_steps)
    return [float(np.mean([e.performance for e in found])) for found in runs.evaluations]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--strategy", default="procurl")
    parser.add_argument("--size", type=int, default=1_000, help="candidates of the space")
    parser.add_argument("--pool-size", type=int, default=1_000, help="tasks of the fixed pool")
    parser.add_argument("--fresh", type=float, default=0.1, help="share replaced after an update")
    args = parser.parse_args()

    seeds = list(range(args.first_seed, args.first_seed + args.seeds))
    kinds = {
        "space": TaskSpace(LOW, HIGH, NAMES, size=args.size, fresh=args.fresh),
        "pool": TaskSpace(LOW, HIGH, NAMES, size=args.pool_size, fresh=0.0),
    }
    held: dict[str, list[float]] = {kind: [] for kind in kinds}
    for first in range(0, len(seeds), WIDTH):
        for kind, space in kinds.items():
            batch = seeds[first : first + WIDTH]
            found = performances(space, args.strategy, args.steps, batch)
            held[kind] += found
            for seed, steps in zip(batch, found, strict=True):
                print(f"{kind}, seed {seed}: {steps:.1f} steps held", flush=True)
    for kind, found in held.items():
        low, high = stats.ttest_1samp(found, 0.0).confidence_interval()
        print(f"{kind}: {np.mean(found):.1f}, 95% interval {low:.1f} to {high:.1f}")
    low, high = stats.ttest_ind(*held.values(), equal_var=False).confidence_interval()
    more = np.mean(held["space"]) - np.mean(held["pool"])
    print(f"space less pool: {more:+.1f}, 95% interval {low:+.1f} to {high:+.1f}")


if __name__ == "__main__":
    main()
