"""MiniGrid with a pool of level seeds: each seed generates a level of the same game.

A randomly generated level has no context, only a seed. `TaskPool.from_seeds` makes a pool of seeds,
and `TaskEnv` resets the environment with the seed of the next task. Prioritized level replay
(`plr`) was designed for this; any other strategy works as well.

    pip install minigrid
    python examples/minigrid_levels.py --steps 100000
"""

import argparse

import gymnasium
import minigrid  # noqa: F401  (registers the environments with Gymnasium)
from gymnasium.wrappers import FlattenObservation
from minigrid.wrappers import ImgObsWrapper
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.sb3 import CurriculumCallback, evaluate_pool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="MiniGrid-SimpleCrossingS9N1-v0")
    parser.add_argument("--levels", type=int, default=40)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--strategy", default="plr")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    train, test = TaskPool.from_seeds(range(2 * args.levels)).split(0.5, seed=0)

    def level(pool: TaskPool) -> gymnasium.Env:
        """The agent's view, 7 × 7 cells, as one row of numbers."""
        return TaskEnv(FlattenObservation(ImgObsWrapper(gymnasium.make(args.game))), pool)

    model = PPO(
        "MlpPolicy",
        make_vec_env(lambda: level(train), n_envs=8),
        n_steps=128,
        batch_size=256,
        ent_coef=0.01,
        seed=args.seed,
        device="cpu",
    )
    callback = CurriculumCallback(make_strategy(args.strategy))
    model.learn(args.steps, callback=callback)

    for name, pool in [("training", train), ("unseen", test)]:
        found = evaluate_pool(model, lambda pool=pool: level(pool), pool, deterministic=False)
        solved = (found.returns > 0).mean()
        print(f"{name} levels: mean return {found.performance:.2f}, solved {solved:.0%}")
    chosen = callback.curriculum.metrics(top=5).most_likely
    print("most likely next: levels", *(train[task] for task in chosen))


if __name__ == "__main__":
    main()
