"""Actor-critic in plain PyTorch on CartPole with many poles, gravities and forces.

Lines (1) to (4) add the curriculum. Compare with `--strategy iid`, which draws tasks evenly.
"""

import argparse

import gymnasium
import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import TransformObservation
from torch.nn import Linear, Sequential, Tanh

from procurl import Curriculum, CurriculumVectorEnv, TaskEnv, TaskPool

N_ENVS, N_STEPS, HORIZON, GAMMA = 8, 32, 200, 0.98
CONTEXTS = np.random.default_rng(0).uniform([0.1, 4.0, 2.0], [2.5, 25.0, 12.0], size=(80, 3))
POOL = TaskPool(CONTEXTS, names=["length", "gravity", "force"])


def set_task(env, context):
    cartpole = env.unwrapped
    cartpole.length, cartpole.gravity, cartpole.force_mag = context
    cartpole.polemass_length = cartpole.masspole * cartpole.length


def make_env():
    env = TaskEnv(gymnasium.make("CartPole-v1", max_episode_steps=HORIZON), POOL, set_task)
    # The critic judges a task by its first observation, so observations contain the task.
    scaled, space = np.float32(CONTEXTS / 10), gymnasium.spaces.Box(-np.inf, np.inf, (7,))
    return TransformObservation(env, lambda seen: np.append(seen, scaled[env.task]), space)


def mean_return(policy):
    envs = SyncVectorEnv([make_env] * len(POOL))
    envs.set_attr("queue", [[task] for task in range(len(POOL))])
    seen = envs.reset(seed=1)[0]
    for _ in range(HORIZON):
        seen = envs.step(policy(torch.as_tensor(seen)).argmax(-1).numpy())[0]
    return np.mean([episodes.returns[0] for episodes in envs.call("collect")])


def main(steps, strategy):
    torch.manual_seed(0)
    policy, critic = (Sequential(Linear(7, 128), Tanh(), Linear(128, k)) for k in (2, 1))
    adam = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=1e-3)
    envs = SyncVectorEnv([make_env] * N_ENVS, autoreset_mode="SameStep")
    curriculum = Curriculum(strategy, POOL)  # (1)
    envs = CurriculumVectorEnv(envs, curriculum)  # (2)
    first = torch.as_tensor(envs.first_observations(seed=0))  # (3) [n, 7]
    seen = torch.as_tensor(envs.reset(seed=0)[0])
    for step in range(N_ENVS * N_STEPS, steps + 1, N_ENVS * N_STEPS):
        rows = []
        for _ in range(N_STEPS):
            choice = torch.distributions.Categorical(logits=policy(seen))
            action, value = choice.sample(), critic(seen)[:, 0]
            following, reward, terminated, truncated, _ = envs.step(action.numpy())
            played = map(torch.as_tensor, (reward, terminated | truncated))
            rows.append((choice.log_prob(action), value, *played))
            seen = torch.as_tensor(following)
        log_probs, values, rewards, dones = map(torch.stack, zip(*rows, strict=True))
        returns, ahead = torch.zeros_like(values), critic(seen)[:, 0].detach()
        for t in reversed(range(N_STEPS)):
            ahead = returns[t] = rewards[t] + GAMMA * ahead * ~dones[t]
        advantages = (returns - values).detach()
        adam.zero_grad()
        ((returns - values).square() - advantages * log_probs).mean().backward()
        adam.step()
        curriculum.observe(envs.evidence(step, critic(first)[:, 0].detach(), advantages))  # (4)
        if step % 25_600 == 0 or step == steps:
            print(f"step {step}: mean return over the pool {mean_return(policy):.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=204_800)
    parser.add_argument("--strategy", default="procurl")
    main(**vars(parser.parse_args()))
