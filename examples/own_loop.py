"""A custom training loop in one file: PPO in PyTorch, with `Curriculum` for the tasks.

procurl only decides which tasks come next (and provides PointMass as the environment). The three
lines that a loop needs are marked with (1), (2) and (3).

    python examples/own_loop.py --steps 150000
"""

import argparse

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

from procurl import Curriculum
from procurl.envs import GymVectorEnv, make_pool

N_ENVS, N_STEPS, EPOCHS, MINIBATCHES = 16, 64, 10, 16
GAMMA, LAMBDA, CLIP, RATE = 0.95, 0.95, 0.2, 3e-4


class Agent(nn.Module):
    """Policy and value function, each with two layers."""

    def __init__(self, observation_size: int, action_size: int) -> None:
        super().__init__()
        self.policy = _layers(observation_size, action_size, gain=0.01)
        self.critic = _layers(observation_size, 1, gain=1.0)
        self.log_std = nn.Parameter(torch.zeros(action_size))

    def actions(self, observations: torch.Tensor) -> Normal:
        return Normal(self.policy(observations), self.log_std.exp())

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        return self.critic(observations).squeeze(-1)


def _layers(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    layers = [nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()]
    last = nn.Linear(64, outputs)
    for layer, scale in [(layers[0], 2**0.5), (layers[2], 2**0.5), (last, gain)]:
        nn.init.orthogonal_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers, last)


def advantages_of(rewards, values, dones, last_value):
    """Generalized advantage estimates, [T, b] each."""
    advantages, following, running = torch.zeros_like(rewards), last_value, 0.0
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        error = rewards[t] + GAMMA * following * alive - values[t]
        running = error + GAMMA * LAMBDA * alive * running
        advantages[t], following = running, values[t]
    return advantages


def improve(agent, optimizer, batch) -> None:
    """One PPO update on T · b transitions."""
    observations, actions, old_log, advantages, returns = batch
    for _ in range(EPOCHS):
        for part in torch.randperm(len(observations)).chunk(MINIBATCHES):
            new_log = agent.actions(observations[part]).log_prob(actions[part]).sum(-1)
            ratio = (new_log - old_log[part]).exp()
            own = advantages[part]
            own = (own - own.mean()) / (own.std() + 1e-8)
            gain = torch.min(ratio * own, ratio.clamp(1 - CLIP, 1 + CLIP) * own).mean()
            error = (agent.values(observations[part]) - returns[part]).square().mean()
            optimizer.zero_grad()
            (0.5 * error - gain).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    pool = make_pool("pointmass-d")
    envs = GymVectorEnv("pointmass-d", N_ENVS, pool)

    curriculum = Curriculum("procurl", pool, seed=args.seed)  # (1)
    agent = Agent(envs.single_observation_space.shape[0], 2)
    optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    envs.push_tasks(curriculum.next(N_ENVS).reshape(N_ENVS, 1))
    seen = torch.as_tensor(envs.reset(seed=args.seed)[0])
    ended, gained = 0, 0.0
    running = np.zeros(N_ENVS)  # returns of the episodes so far

    for step in range(0, args.steps, N_ENVS * N_STEPS):
        # (2) more tasks than can begin before the next update; unused ones are dropped
        envs.push_tasks(curriculum.next(N_ENVS * N_STEPS).reshape(N_ENVS, N_STEPS))
        rows, tasks, returns = [], [], []
        for _ in range(N_STEPS):
            with torch.no_grad():
                chosen = agent.actions(seen)
                action, value = chosen.sample(), agent.values(seen)
                log_prob = chosen.log_prob(action).sum(-1)
            following, reward, done, _, info = envs.step(action.clamp(-10, 10).numpy())
            running += reward
            if done.any():
                tasks += info["final_info"]["task"][done].tolist()
                returns += running[done].tolist()
                running[done] = 0.0
            row = (torch.as_tensor(part, dtype=torch.float32) for part in (reward, done))
            rows.append((seen, action, log_prob, value, *row))
            seen = torch.as_tensor(following)
            ended, gained = ended + done.sum(), gained + reward.sum()
        observations, actions, log_probs, values, rewards, dones = map(
            torch.stack, zip(*rows, strict=True)
        )
        with torch.no_grad():
            advantages = advantages_of(rewards, values, dones, agent.values(seen))
        batch = (observations, actions, log_probs, advantages, advantages + values)
        improve(agent, optimizer, [part.flatten(0, 1) for part in batch])

        curriculum.record(tasks, returns, step=step + N_ENVS * N_STEPS)  # (3)
        if step // 10_240 < (step + N_ENVS * N_STEPS) // 10_240:
            metrics = curriculum.metrics()
            print(
                f"step {step + N_ENVS * N_STEPS}: mean return {gained / max(ended, 1):.1f}, "
                f"{metrics.effective_tasks:.0f} tasks in play"
            )
            ended, gained = 0, 0.0


if __name__ == "__main__":
    main()
