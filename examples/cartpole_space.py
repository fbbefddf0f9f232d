"""CartPole with any pole, gravity and push: a curriculum over a space, or over a fixed pool.

A context holds (length of the pole, gravity, force of a push). With `--tasks space`, the curriculum
draws candidates from the whole space and replaces the least promising after every update. With
`--tasks pool`, it chooses from 1,000 contexts drawn beforehand.

    python examples/cartpole_space.py --steps 50000

compares both over several seeds. Performance is the mean number of steps held, at most 200, over
contexts drawn evenly from the space that no run was trained on.
"""

import argparse

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.wrappers import TimeLimit
from scipy import stats
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from procurl import TaskEnv, TaskSpace
from procurl.sb3 import CurriculumCallback, evaluate_pool

HORIZON = 200  # steps to balance the pole; each is worth 1
SPACE = TaskSpace([0.1, 4.0, 2.0], [3.0, 25.0, 20.0], names=["length", "gravity", "force"])


class AnyCartPole(CartPoleEnv):
    """CartPole with the pole, the gravity and the push of the context."""

    def __init__(self) -> None:
        super().__init__()
        seen = self.observation_space
        low = np.append(seen.low, SPACE.low / SPACE.high)
        high = np.append(seen.high, np.ones(3))
        self.observation_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))

    def reset(self, *, seed=None, options=None):
        self.context = options["context"]
        self.length, self.gravity, self.force_mag = self.context
        self.polemass_length = self.masspole * self.length
        observation, info = super().reset(seed=seed)
        return self.with_context(observation), info

    def step(self, action):
        observation, *rest = super().step(action)
        return self.with_context(observation), *rest

    def with_context(self, observation):
        return np.append(observation, self.context / SPACE.high).astype(np.float32)


def make_env() -> gymnasium.Env:
    return TimeLimit(AnyCartPole(), HORIZON)


def train(tasks, strategy: str, steps: int, seed: int) -> PPO:
    """An agent after training on `tasks`, a space or a pool."""
    model = PPO(
        "MlpPolicy",
        make_vec_env(lambda: TaskEnv(make_env(), tasks), n_envs=8),
        n_steps=128,
        batch_size=256,
        gamma=0.98,
        learning_rate=1e-3,
        seed=seed,
        device="cpu",
    )
    callback = CurriculumCallback(strategy, eval_env=make_env, check_env=False)
    return model.learn(steps, callback=callback)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=["space", "pool"], default=["space", "pool"])
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--strategy", default="procurl")
    parser.add_argument("--test-tasks", type=int, default=500)
    args = parser.parse_args()

    test = SPACE.pool(args.test_tasks, seed=123_456)
    for kind in args.tasks:
        found = []
        for seed in range(args.seeds):
            tasks = SPACE if kind == "space" else SPACE.pool(1_000, seed=seed)
            model = train(tasks, args.strategy, args.steps, seed)
            found.append(evaluate_pool(model, make_env, test).performance)
            print(f"{kind}, seed {seed}: {found[-1]:.1f} steps held", flush=True)
        mean = np.mean(found)
        half = stats.sem(found) * stats.t.ppf(0.975, len(found) - 1) if len(found) > 1 else np.nan
        print(f"{kind}: {mean:.1f} ± {half:.1f} (95% interval, {len(found)} seeds)", flush=True)


if __name__ == "__main__":
    main()
