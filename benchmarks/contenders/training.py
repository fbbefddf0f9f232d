"""PPO on PointMass-s in several libraries, with the same settings and network.

All have the settings of the paper, except that policy and value share no layer, which most of the
libraries cannot have: two networks with two layers of 64 units each. An update is 1,024 steps,
10 epochs and minibatches of 64 steps.
"""

import os
import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from turns import Turn

ENV = "pointmass-s"
N_STEPS = 1024  # of an update


class Trainer(NamedTuple):
    """One library that trains."""

    name: str  # what the tables call it
    package: str  # the module without which it is skipped
    make: Callable[[int, int], Turn]  # from environments and updates at a turn
    updates: int  # at a turn


def settings() -> Any:
    from procurl.ppo.learning.settings import paper_settings

    return replace(
        paper_settings(ENV), shared_layers=(), policy_layers=(64, 64), value_layers=(64, 64)
    )


def procurl_turn(strategy: str, n_envs: int, updates: int) -> Turn:
    from throughput_runs import finished, make_runs

    runs = make_runs(ENV, strategy, 1, n_envs, settings())

    def turn() -> int:
        before = runs.train_steps
        for _ in range(updates):
            runs.advance()
        finished(runs.state)
        return int(runs.train_steps - before)

    return turn


def sb3_envs(n_envs: int) -> Any:
    from stable_baselines3.common.vec_env import DummyVecEnv

    from procurl.envs import GymEnv

    return DummyVecEnv([lambda: GymEnv(ENV)] * n_envs)


def learn_turn(model: Any, updates: int) -> Turn:
    """A turn of a model with the interface of Stable-Baselines3."""
    from stable_baselines3.common.logger import Logger

    model.set_logger(Logger(None, []))

    def turn() -> int:
        before: int = model.num_timesteps
        model.learn(updates * N_STEPS, reset_num_timesteps=False)
        return int(model.num_timesteps) - before

    return turn


def sb3_turn(n_envs: int, updates: int) -> Turn:
    import torch

    from procurl.experiments.engines.sb3_ppo import paper_ppo

    torch.set_num_threads(1)
    return learn_turn(paper_ppo(sb3_envs(n_envs), settings(), seed=0), updates)


def sbx_turn(n_envs: int, updates: int) -> Turn:
    from flax import linen as nn
    from sbx import PPO

    own = settings()
    layers = {"pi": [*own.policy_layers], "vf": [*own.value_layers]}
    model = PPO(
        "MlpPolicy",
        sb3_envs(n_envs),
        learning_rate=own.learning_rate,
        n_steps=N_STEPS // n_envs,
        batch_size=own.batch_size,
        n_epochs=own.n_epochs,
        gamma=own.gamma,
        gae_lambda=own.gae_lambda,
        clip_range=own.clip_range,
        ent_coef=own.ent_coef,
        vf_coef=own.vf_coef,
        max_grad_norm=own.max_grad_norm,
        policy_kwargs={"net_arch": layers, "activation_fn": nn.relu},
        seed=0,
    )
    return learn_turn(model, updates)


def rejax_turn(n_envs: int, updates: int) -> Turn:
    import jax
    from rejax import PPO

    from contenders.jax_env import GymnaxPointMass
    from throughput_runs import finished

    own = settings()
    algorithm = PPO.create(
        env=GymnaxPointMass(),
        agent_kwargs={"hidden_layer_sizes": own.policy_layers, "activation": "relu"},
        num_envs=n_envs,
        num_steps=N_STEPS // n_envs,
        num_epochs=own.n_epochs,
        num_minibatches=own.n_minibatches,
        learning_rate=own.learning_rate,
        gamma=own.gamma,
        gae_lambda=own.gae_lambda,
        clip_eps=own.clip_range,
        ent_coef=own.ent_coef,
        vf_coef=own.vf_coef,
        max_grad_norm=own.max_grad_norm,
    )
    train = jax.jit(lambda state: jax.lax.fori_loop(0, updates, _iterate(algorithm), state))
    state = algorithm.init_state(jax.random.PRNGKey(0))

    def turn() -> int:
        nonlocal state
        before = int(state.global_step)
        state = finished(train(state))
        return int(state.global_step) - before

    return turn


def _iterate(algorithm: Any) -> Callable[[Any, Any], Any]:
    return lambda _, state: algorithm.train_iteration(state)


def brax_turn(n_envs: int, updates: int) -> Turn:
    """Brax has one function for a whole training, so it runs in a thread that waits for turns."""
    from brax.envs.wrappers.training import VmapWrapper
    from brax.training.agents.ppo import networks
    from brax.training.agents.ppo.train import train
    from flax import linen as nn

    from contenders.jax_env import brax_point_mass

    own = settings()
    go: queue.Queue[None] = queue.Queue()
    reached: queue.Queue[int] = queue.Queue()
    most_turns = 10_000

    def wait(step: int, *_: Any) -> None:
        reached.put(step)
        go.get()

    unroll = own.batch_size  # of one environment: a minibatch is one unroll
    work = partial(
        train,
        environment=brax_point_mass(),
        num_timesteps=most_turns * updates * N_STEPS,
        num_evals=most_turns + 1,  # as often it calls `wait`
        run_evals=False,
        policy_params_fn=wait,
        wrap_env_fn=lambda env, **_: VmapWrapper(env),
        num_envs=n_envs,
        episode_length=100,
        unroll_length=unroll,
        batch_size=own.batch_size // unroll,
        num_minibatches=own.n_minibatches,
        num_updates_per_batch=own.n_epochs,
        learning_rate=own.learning_rate,
        discounting=own.gamma,
        gae_lambda=own.gae_lambda,
        clipping_epsilon=own.clip_range,
        entropy_cost=own.ent_coef,
        vf_loss_coefficient=own.vf_coef,
        max_grad_norm=own.max_grad_norm,
        network_factory=partial(
            networks.make_ppo_networks,
            policy_hidden_layer_sizes=own.policy_layers,
            value_hidden_layer_sizes=own.value_layers,
            activation=nn.relu,
            distribution_type="normal",
            noise_std_type="log",
        ),
    )

    def run() -> None:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)  # else `turn` would wait for ever

    threading.Thread(target=run, daemon=True).start()
    step = reached.get()

    def turn() -> int:
        nonlocal step
        before = step
        go.put(None)
        step = reached.get()
        return step - before

    return turn


def skrl_turn(n_envs: int, updates: int) -> Turn:
    from contenders.skrl_ppo import skrl_ppo

    return skrl_ppo(n_envs, updates, settings())


TRAINERS = {
    "procurl-iid": Trainer("procurl, `iid`", "procurl", partial(procurl_turn, "iid"), 60),
    "procurl": Trainer("procurl, `procurl`", "procurl", partial(procurl_turn, "procurl"), 60),
    "sb3": Trainer("Stable-Baselines3", "stable_baselines3", sb3_turn, 1),
    "sbx": Trainer("SBX", "sbx", sbx_turn, 2),
    "rejax": Trainer("rejax", "rejax", rejax_turn, 40),
    "brax": Trainer("Brax", "brax", brax_turn, 40),
    "skrl": Trainer("skrl, JAX", "skrl", skrl_turn, 1),
}
