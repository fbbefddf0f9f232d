"""The problems of the gallery.

Defaults of procurl were chosen on four of them and confirmed on the others.
"""

from stable_baselines3 import DQN, PPO, SAC

from gallery import bandits, control, grids, levels
from gallery.problem import Problem
from gallery.sb3_runs import Sb3Learner

ON_POLICY = ("iid", "procurl", "procurl-val", "procurl-out", "plr")
OFF_POLICY = ("iid", "procurl", "procurl-val", "procurl-out")  # plr needs advantages
WITH_CONTEXTS = ("learning-progress", "alp-gmm", "stages")  # `anneal` must be told where to start
WITHOUT_CONTEXTS = ("learning-progress", "stages")
ESTIMATES = ("procurl", "procurl-val", "procurl-out")

CARTPOLE = Sb3Learner(
    pool=control.CARTPOLES,
    make_env=control.make_cartpole,
    algorithm=PPO,
    settings={
        "n_steps": 64,
        "batch_size": 128,
        "n_epochs": 6,
        "gamma": 0.98,
        "learning_rate": 1e-3,
    },
    steps=60_000,
    returns=(0.0, control.CARTPOLE_STEPS),
    episodes=6,
)
MAZE = Sb3Learner(
    pool=grids.MAZES,
    make_env=grids.make_maze,
    algorithm=DQN,
    settings={
        "learning_rate": 1e-3,
        "learning_starts": 1_000,
        "train_freq": 1,
        "batch_size": 64,
        "gamma": 0.97,
        "target_update_interval": 1_000,
        "exploration_fraction": 0.3,
        "buffer_size": 20_000,
    },
    steps=30_000,
    episodes=10,
)
LEVELS = Sb3Learner(
    pool=levels.LEVELS,
    make_env=levels.make_level,
    algorithm=PPO,
    settings={
        "n_steps": 128,
        "batch_size": 256,
        "n_epochs": 6,
        "gamma": 0.97,
        "learning_rate": 5e-4,
        "ent_coef": 0.01,
    },
    steps=60_000,
    eval_tasks=20,
    episodes=8,
)
PENDULUM = Sb3Learner(
    pool=control.PENDULUMS,
    make_env=control.make_pendulum,
    algorithm=SAC,
    settings={
        "learning_rate": 2e-3,
        "learning_starts": 400,
        "batch_size": 64,
        "gamma": 0.95,
        "policy_kwargs": {"net_arch": [32, 32]},
    },
    steps=16_000,
    n_envs=4,
    returns=(-900.0, 0.0),  # hanging down is the worst
    episodes=8,
)
HEATER = Sb3Learner(
    pool=control.HEATERS,
    make_env=control.make_heater,
    algorithm=PPO,
    settings={"n_steps": 64, "batch_size": 128, "n_epochs": 6, "gamma": 0.9, "learning_rate": 1e-3},
    steps=50_000,
    returns=(0.0, control.HEATER_STEPS),
    episodes=3,
)
ROOMS = Sb3Learner(
    pool=grids.ROOMS,
    make_env=grids.make_rooms,
    algorithm=PPO,
    settings={
        "n_steps": 64,
        "batch_size": 128,
        "n_epochs": 6,
        "gamma": 0.97,
        "learning_rate": 1e-3,
        "ent_coef": 0.01,
    },
    steps=50_000,
    returns=(0.0, 1.0),
    episodes=12,
)
CHAIN = Sb3Learner(
    pool=grids.CHAINS,
    make_env=grids.make_chain,
    algorithm=PPO,
    settings={"n_steps": 32, "batch_size": 64, "n_epochs": 6, "gamma": 0.99, "learning_rate": 1e-3},
    steps=30_000,
    returns=(0.0, 1.0),
    episodes=24,
)

PROBLEMS = (
    Problem(
        name="cartpole",
        text="CartPole, 60 contexts, +1 per step up to 200, PPO",
        role="choose",
        strategies=ON_POLICY,
        others=WITH_CONTEXTS,
        calibrated=ESTIMATES,
        train=CARTPOLE.train,
    ),
    Problem(
        name="bandit",
        text="bandits, 1,000 contexts, reward 0 or 1, one step, REINFORCE in NumPy",
        role="choose",
        strategies=ON_POLICY,
        others=WITH_CONTEXTS,
        calibrated=ESTIMATES,
        train=bandits.train_bandits,
    ),
    Problem(
        name="maze",
        text="maze, 94 contexts, −1 per step up to 60, success reported, DQN",
        role="choose",
        strategies=OFF_POLICY,
        others=WITH_CONTEXTS,
        calibrated=ESTIMATES,
        train=MAZE.train,
    ),
    Problem(
        name="levels",
        text="MiniGrid, 40 seeds, up to 1 at the goal, success reported, 80 steps, PPO",
        role="choose",
        strategies=ON_POLICY,
        others=WITHOUT_CONTEXTS,
        calibrated=ESTIMATES,
        train=LEVELS.train,
    ),
    Problem(
        name="pendulum",
        text="Pendulum, 30 contexts, negative rewards, 100 steps, SAC",
        role="confirm",
        strategies=OFF_POLICY,
        others=WITH_CONTEXTS,
        calibrated=("procurl", "procurl-out"),  # the critic of SAC holds an entropy bonus
        train=PENDULUM.train,
    ),
    Problem(
        name="prompts",
        text="prompts, 5,000 opaque tasks, 8 samples of 0 or 1 per draw, no critic, GRPO in NumPy",
        role="confirm",
        strategies=("iid", "procurl", "procurl-group", "procurl-out", "plr"),
        others=("learning-progress",),
        calibrated=("procurl", "procurl-group", "procurl-out"),
        train=bandits.train_prompts,
    ),
    Problem(
        name="chain",
        text="code of 1 to 20 digits, 20 contexts, each needs the one before, reward 0 or 1, PPO",
        role="confirm",
        strategies=(*ON_POLICY, "procurl-env-2"),
        others=(*WITH_CONTEXTS, "sfl"),
        calibrated=ESTIMATES,
        train=CHAIN.train,
    ),
    Problem(
        name="rooms",
        text="rooms, 200 opaque tasks, 30% impossible and 30% trivial, reward 0 or 1, PPO",
        role="confirm",
        strategies=ON_POLICY,
        others=WITHOUT_CONTEXTS,
        calibrated=ESTIMATES,
        train=ROOMS.train,
    ),
    Problem(
        name="heater",
        text="heater, 500 contexts of 8 columns, up to 1 per step for 40 steps, PPO",
        role="confirm",
        strategies=ON_POLICY,
        others=WITH_CONTEXTS,
        calibrated=ESTIMATES,
        train=HEATER.train,
    ),
)
