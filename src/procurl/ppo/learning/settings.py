"""The settings of PPO, and the papers' for each environment."""

from dataclasses import dataclass, replace

from procurl.internals.arrays import Array
from procurl.internals.checks import require_integer, require_number, suggest

# Array arguments of a program: the runs of a batch may differ in them without recompiling.
TRACED = (
    "learning_rate",
    "gamma",
    "gae_lambda",
    "clip_range",
    "ent_coef",
    "vf_coef",
    "max_grad_norm",
)
# Static arguments of a program: a change recompiles it.
COMPILED_IN = (
    "n_steps",
    "n_epochs",
    "batch_size",
    "shared_layers",
    "policy_layers",
    "value_layers",
)


@dataclass(frozen=True)
class PPOSettings:
    """Settings of PPO, with the names and defaults of Stable-Baselines3.

    Args:
        learning_rate: learning rate of Adam.
        gamma: γ, the discount factor.
        gae_lambda: λ of the generalized advantage estimate: 0 trusts the critic, 1 the returns.
        clip_range: how far the probability ratio may move from 1 before its gradient is clipped.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the value loss.
        max_grad_norm: gradients are clipped to this norm.
        n_steps: training steps per update, summed over all environments.
        n_epochs: passes over these steps per update.
        batch_size: steps per gradient step; must divide `n_steps`.
        shared_layers: widths of the layers shared by policy and value, may be empty.
        policy_layers: widths of the policy's hidden layers.
        value_layers: widths of the value function's hidden layers.
    """

    learning_rate: Array = 3e-4
    gamma: Array = 0.99
    gae_lambda: Array = 0.95
    clip_range: Array = 0.2
    ent_coef: Array = 0.0
    vf_coef: Array = 0.5
    max_grad_norm: Array = 0.5
    n_steps: int = 2048
    n_epochs: int = 10
    batch_size: int = 64
    shared_layers: tuple[int, ...] = ()
    policy_layers: tuple[int, ...] = (64, 64)
    value_layers: tuple[int, ...] = (64, 64)

    @property
    def n_minibatches(self) -> int:
        """Gradient steps per epoch."""
        return self.n_steps // self.batch_size

    def check(self) -> None:
        """Raise on a setting out of range."""
        for name in ("learning_rate", "clip_range", "max_grad_norm"):
            require_number(name, getattr(self, name), above=0.0)
        for name in ("ent_coef", "vf_coef"):
            require_number(name, getattr(self, name), at_least=0.0)
        for name in ("gamma", "gae_lambda"):
            require_number(name, getattr(self, name), at_least=0.0, at_most=1.0)
        require_integer("n_epochs", self.n_epochs, at_least=1)
        # Advantages are divided by their standard deviation over the minibatch: one is not enough.
        require_integer("batch_size", self.batch_size, at_least=2)
        require_integer("n_steps", self.n_steps, at_least=2)
        if self.batch_size > self.n_steps:
            raise ValueError(
                f"batch_size must be at most n_steps, the steps of an update, got "
                f"batch_size={self.batch_size} and n_steps={self.n_steps}"
            )
        if self.n_steps % self.batch_size:
            raise ValueError(
                f"batch_size must divide n_steps, so that all minibatches have the same size; "
                f"got batch_size={self.batch_size} and n_steps={self.n_steps}"
            )
        for name in ("shared_layers", "policy_layers", "value_layers"):
            widths = getattr(self, name)
            if not isinstance(widths, tuple):
                raise TypeError(
                    f"{name} must be a tuple of widths, such as (64, 64), got {widths!r}"
                )
            for width in widths:
                require_integer(f"every width in {name}", width, at_least=1)


_ONE_SHARED = PPOSettings(
    n_steps=1024, shared_layers=(64,), policy_layers=(64,), value_layers=(64,)
)
_PAPER = {
    "pointmass-s": _ONE_SHARED,
    "pointmass-d": replace(_ONE_SHARED, gamma=0.95),
    "basickarel": PPOSettings(n_steps=2048, policy_layers=(512, 256), value_layers=(256, 128)),
    "ballcatching": replace(_ONE_SHARED, n_steps=5120),
    "antgoal": PPOSettings(
        learning_rate=2e-5,
        gae_lambda=0.8,
        clip_range=0.1,
        ent_coef=5e-7,
        vf_coef=0.7,
        max_grad_norm=0.6,
        n_steps=1024,
        batch_size=32,
        policy_layers=(512, 512),
        value_layers=(512, 512),
    ),
    "sgr": PPOSettings(
        n_steps=5120,
        batch_size=256,
        shared_layers=(64,),
        policy_layers=(32,),
        value_layers=(32,),
    ),
}


def paper_settings(env: str) -> PPOSettings:
    """The paper's settings for the environment of that name (from the table in its appendix).

    Those of `sgr` are from the paper on targets (Tzannetos et al. 2024).

    >>> paper_settings("basickarel").policy_layers
    (512, 256)
    """
    if env not in _PAPER:
        raise ValueError(
            f"env {env!r} has no PPO settings in the paper.{suggest(env, _PAPER)} "
            f"Known environments: {', '.join(_PAPER)}"
        )
    return _PAPER[env]
