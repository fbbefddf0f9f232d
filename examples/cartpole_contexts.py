"""CartPole with poles of any length and weight, and a curriculum over them.

A context is a row of numbers: here (length, mass) of the pole, 60 of them drawn at random. The
environment is Gymnasium's own. The subclass takes a context at reset and adds it to observations,
because the critic judges a task by its first observation.

    python examples/cartpole_contexts.py --steps 50000

The command line takes the same environment and pool:

    procurl check examples/cartpole_contexts.py:make_pole --pool examples/cartpole_contexts.py:poles
    procurl compare examples/cartpole_contexts.py:make_pole \\
        --pool examples/cartpole_contexts.py:poles --seeds 3 --steps 50000

The second command makes the figure of this example in the documentation. Both strategies hold every
pole in the end, and three seeds show no advantage of the curriculum.
"""

import argparse

import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from procurl import TaskEnv, TaskPool
from procurl.sb3 import CurriculumCallback, evaluate_pool

HORIZON = 200  # steps to balance the pole; each is worth 1


class AnyPole(CartPoleEnv):
    """CartPole whose pole is as long and as heavy as the context says."""

    def __init__(self) -> None:
        super().__init__()
        seen = self.observation_space
        low, high = [np.append(bound, [0.0, 0.0]) for bound in (seen.low, seen.high)]
        high[-2:] = 5.0
        self.observation_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))

    def reset(self, *, seed=None, options=None):
        self.length, self.masspole = options["context"]
        self.total_mass = self.masspole + self.masscart
        self.polemass_length = self.masspole * self.length
        observation, info = super().reset(seed=seed)
        return self.with_pole(observation), info

    def step(self, action):
        observation, *rest = super().step(action)
        return self.with_pole(observation), *rest

    def with_pole(self, observation):
        return np.append(observation, [self.length, self.masspole]).astype(np.float32)


def make_pole() -> TimeLimit:
    """The environment, for `procurl compare` as well."""
    return TimeLimit(AnyPole(), HORIZON)


def poles(count: int = 60, seed: int = 1) -> TaskPool:
    """Poles from a tenth to five times the usual length, light and heavy."""
    rng = np.random.default_rng(seed)
    contexts = rng.uniform([0.05, 0.05], [2.5, 1.0], size=(count, 2))
    return TaskPool(contexts, names=["length", "mass"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--strategy", default="procurl")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    pool = poles()

    def make_env():
        return TaskEnv(make_pole(), pool)

    model = PPO(
        "MlpPolicy",
        make_vec_env(make_env, n_envs=8),
        n_steps=128,
        batch_size=256,
        gamma=0.98,
        learning_rate=1e-3,
        seed=args.seed,
        device="cpu",
    )
    callback = CurriculumCallback(args.strategy, reset_samples=4)

    before = evaluate_pool(model, make_env, pool)
    model.learn(args.steps, callback=callback)
    after = evaluate_pool(model, make_env, pool)
    print(f"steps held, mean over the pool: {before.performance:.0f}, now {after.performance:.0f}")
    print(f"poles held to the end: {np.mean(after.returns == HORIZON):.0%}")
    for task in callback.curriculum.metrics(top=3).most_likely:
        length, mass = pool[task]
        print(f"most likely next: length {length:.2f}, mass {mass:.2f}")


if __name__ == "__main__":
    main()
