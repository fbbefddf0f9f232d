"""A warehouse robot: a custom environment whose tasks are dicts.

Tasks can be any objects. `TaskEnv` calls `set_task` before each reset to pass the next task to the
environment. `procurl` needs neither contexts nor a critic: it learns from the training episodes.

    python examples/dict_tasks.py --steps 40000
"""

import argparse
from itertools import product

import gymnasium
import numpy as np
from gymnasium import spaces
from stable_baselines3 import A2C
from stable_baselines3.common.env_util import make_vec_env

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.sb3 import CurriculumCallback, evaluate_pool

MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
LIMIT = 30


class Warehouse(gymnasium.Env):
    """Carry a parcel from one aisle to another, on a floor that may be slippery.

    An order is {"from": (x, y), "to": (x, y), "slip": probability of a random move}.
    """

    observation_space = spaces.Box(-8.0, 8.0, (4,), dtype=np.float32)
    action_space = spaces.Discrete(4)

    def take_order(self, order: dict) -> None:
        self.order = order

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = np.array(self.order["from"])
        self.steps = 0
        return self.observation(), {}

    def step(self, action):
        slipped = self.np_random.random() < self.order["slip"]
        move = MOVES[self.np_random.integers(4) if slipped else action]
        self.place = np.clip(self.place + move, 0, 7)
        self.steps += 1
        there = bool((self.place == self.order["to"]).all())
        late = self.steps == LIMIT
        return self.observation(), float(there), there or late, False, {"is_success": there}

    def observation(self):
        return np.concatenate([self.place, self.order["to"] - self.place]).astype(np.float32)


def orders() -> TaskPool:
    """Every route between four aisles, on a dry and on a wet floor."""
    aisles = [(0, 0), (3, 4), (7, 7), (7, 0)]
    return TaskPool.from_objects(
        [
            {"from": start, "to": goal, "slip": slip}
            for start, goal, slip in product(aisles, aisles, (0.0, 0.3))
            if start != goal
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--strategy", default="procurl")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    pool = orders()

    def make_env():
        return TaskEnv(
            Warehouse(), pool, set_task=lambda env, order: env.unwrapped.take_order(order)
        )

    env = make_vec_env(make_env, n_envs=8)
    model = A2C("MlpPolicy", env, n_steps=16, ent_coef=0.01, seed=args.seed, device="cpu")
    callback = CurriculumCallback(make_strategy(args.strategy))
    model.learn(args.steps, callback=callback)

    found = evaluate_pool(model, make_env, pool, episodes=5, deterministic=False)
    print(f"orders delivered in time: {found.success.mean():.0%}")
    for task in callback.curriculum.metrics(top=3).most_likely:
        print(f"most likely next: {pool[task]}, delivered {found.success[task]:.0%}")


if __name__ == "__main__":
    main()
