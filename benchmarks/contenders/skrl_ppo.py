"""PPO of skrl on JAX, which steps a Gymnasium environment from Python."""

from typing import Any

import gymnasium
from skrl.agents.jax.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.jax import wrap_env
from skrl.memories.jax import RandomMemory
from skrl.trainers.jax import SequentialTrainer
from skrl.utils.model_instantiators.jax import deterministic_model, gaussian_model

from procurl.envs import GymEnv
from turns import Turn

ENV = "pointmass-s"


def skrl_ppo(n_envs: int, updates: int, settings: Any) -> Turn:
    """A turn of so many updates, with the settings of procurl."""
    steps = settings.n_steps // n_envs
    if n_envs == 1:
        env = wrap_env(GymEnv(ENV), wrapper="gymnasium", verbose=False)
    else:
        many = gymnasium.vector.SyncVectorEnv([lambda: GymEnv(ENV)] * n_envs)
        env = wrap_env(many, wrapper="gymnasium", verbose=False)
    spaces = {
        "observation_space": env.observation_space,
        "action_space": env.action_space,
        "device": env.device,
    }
    models = {
        "policy": gaussian_model(
            **spaces, network=_layers(settings.policy_layers), output="ACTIONS"
        ),
        "value": deterministic_model(
            **spaces, network=_layers(settings.value_layers), output="ONE"
        ),
    }
    for role, model in models.items():
        model.init_state_dict(role=role)
    agent = PPO(
        models=models,
        memory=RandomMemory(memory_size=steps, num_envs=n_envs, device=env.device),
        **spaces,
        cfg=PPO_CFG(
            rollouts=steps,
            learning_epochs=settings.n_epochs,
            mini_batches=settings.n_minibatches,
            discount_factor=settings.gamma,
            gae_lambda=settings.gae_lambda,
            learning_rate=settings.learning_rate,
            grad_norm_clip=settings.max_grad_norm,
            ratio_clip=settings.clip_range,
            value_clip=0.0,
            entropy_loss_scale=settings.ent_coef,
            value_loss_scale=settings.vf_coef,
        ),
    )
    agent.cfg.experiment.write_interval = 0
    agent.cfg.experiment.checkpoint_interval = 0
    trainer = SequentialTrainer(
        env=env,
        agents=agent,
        cfg={"timesteps": updates * steps, "headless": True, "disable_progressbar": True},
    )

    def turn() -> int:
        trainer.train()
        return updates * int(settings.n_steps)

    return turn


def _layers(widths: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"name": "net", "input": "OBSERVATIONS", "layers": [*widths], "activations": "relu"}]
