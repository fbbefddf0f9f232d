"""One PPO update: epochs of minibatch steps over the collected steps.

Given the same weights, batch and permutations, it computes the same as Stable-Baselines3; tests
check this.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from procurl.internals.arrays import Array
from procurl.ppo.learning.networks import ActorCritic, forward
from procurl.ppo.learning.settings import COMPILED_IN, TRACED, PPOSettings

ADAM_EPSILON = 1e-5
STD_EPSILON = 1e-8  # added to the standard deviation that advantages are divided by
NORM_EPSILON = 1e-6  # added to the norm that gradients are divided by

jax.tree_util.register_dataclass(PPOSettings, TRACED, COMPILED_IN)


class Batch(NamedTuple):
    """Steps to learn from, in any order."""

    observations: Array  # [n, o]
    actions: Array  # [n, a] float, or [n] int for discrete actions; before clipping to the box
    log_probs: Array  # [n] of the actions, under the policy that took them
    advantages: Array  # [n] not normalized
    returns: Array  # [n] the critic's targets


class StudentState(NamedTuple):
    """Everything that an update changes."""

    params: dict[str, Array]
    optimizer: optax.OptState


class Diagnostics(NamedTuple):
    """Statistics of an update, each [], the mean over its minibatches."""

    loss: Array  # what was minimized
    policy_loss: Array
    value_loss: Array  # mean squared error of the critic
    entropy: Array
    approx_kl: Array  # estimate of KL(old policy‖new policy), over the last epoch of an update
    clip_fraction: Array  # share of steps whose ratio is outside the clip range
    grad_norm: Array  # before clipping

    def finite(self) -> Array:
        """[] bool, False if a loss or gradient was not finite: the run must stop."""
        return jnp.isfinite(self.loss) & jnp.isfinite(self.grad_norm)


def init_student(params: dict[str, Array]) -> StudentState:
    """A student with weights `params` and a new optimizer.

    The state of a new optimizer does not depend on the settings.
    """
    return StudentState(params, optimizer(PPOSettings()).init(params))


def draw_permutations(key: Array, settings: PPOSettings) -> Array:
    """[n_epochs, n_steps] int32: for each epoch, a random permutation of the steps.

    The index is stored in the low bits of a random number, and sorting the numbers shuffles the
    indices; on a CPU this is six times as fast as sorting pairs. Two steps with equal random bits
    keep their order; for 1024 steps this happens once in 2²² pairs, too rarely to matter.
    """
    index_bits = (settings.n_steps - 1).bit_length()
    if index_bits > 16:
        keys = jax.random.split(key, settings.n_epochs)
        return jax.vmap(lambda k: jax.random.permutation(k, settings.n_steps))(keys)
    index = jnp.arange(settings.n_steps, dtype=jnp.uint32)
    random = jax.random.bits(key, (settings.n_epochs, settings.n_steps), jnp.uint32)
    shuffled = jnp.sort((random << index_bits) | index, axis=-1)
    return (shuffled & ((1 << index_bits) - 1)).astype(jnp.int32)


def update(
    network: ActorCritic,
    settings: PPOSettings,
    student: StudentState,
    batch: Batch,
    permutations: Array,
) -> tuple[StudentState, Diagnostics]:
    """Learn from `batch`: in every epoch, one gradient step per minibatch.

    Args:
        network: static.
        settings: numeric settings may be traced and differ between vmapped runs.
        student: the current student.
        batch: n = `settings.n_steps` steps.
        permutations: [n_epochs, n] the order of the steps in each epoch, split into minibatches.
    """
    minibatches = permutations.reshape(
        settings.n_epochs * settings.n_minibatches, settings.batch_size
    )

    def step(student: StudentState, chosen: Array) -> tuple[StudentState, Diagnostics]:
        minibatch = Batch(*(part[chosen] for part in batch))
        return minibatch_step(network, settings, student, minibatch)

    student, steps = jax.lax.scan(step, student, minibatches)
    last_epoch = steps.approx_kl[-settings.n_minibatches :]
    means = Diagnostics(*(jnp.mean(part) for part in steps))
    return student, means._replace(approx_kl=jnp.mean(last_epoch))


def minibatch_step(
    network: ActorCritic, settings: PPOSettings, student: StudentState, minibatch: Batch
) -> tuple[StudentState, Diagnostics]:
    """One gradient step on the loss of one minibatch."""
    gradient = jax.grad(_loss, has_aux=True)
    grads, diagnostics = gradient(student.params, network, settings, minibatch)
    changes, optimizer_state = optimizer(settings).update(grads, student.optimizer)
    params = optax.apply_updates(student.params, changes)
    diagnostics = diagnostics._replace(grad_norm=optax.tree.norm(grads))
    return StudentState(params, optimizer_state), diagnostics


def optimizer(settings: PPOSettings) -> optax.GradientTransformation:
    """Gradients clipped by their norm, then Adam."""
    return optax.chain(
        clip_by_norm(settings.max_grad_norm),
        optax.adam(settings.learning_rate, eps=ADAM_EPSILON),
    )


def clip_by_norm(max_norm: Array) -> optax.GradientTransformation:
    """Scale the gradient by min(1, max_norm / (norm + 1e-6)), as PyTorch does.

    `optax.clip_by_global_norm` omits the small constant.
    """

    def clip(grads: optax.Updates, params: optax.Params | None = None) -> optax.Updates:
        scale = jnp.minimum(1.0, max_norm / (optax.tree.norm(grads) + NORM_EPSILON))
        return jax.tree.map(lambda grad: grad * scale, grads)

    return optax.stateless(clip)


def _loss(
    params: dict[str, Array], network: ActorCritic, settings: PPOSettings, minibatch: Batch
) -> tuple[Array, Diagnostics]:
    """PPO's clipped surrogate loss (Schulman et al. 2017), value loss and entropy bonus:

        −mean min(A·ratio, A·clip(ratio, 1 ± ε)) + c_V·mean (V − return)² − c_H·mean entropy,

    with ratio = π(a|s) / π_old(a|s) and A normalized over the minibatch.
    """
    policy, values = forward(network, params, minibatch.observations)
    log_ratio = policy.log_prob(minibatch.actions) - minibatch.log_probs
    ratio = jnp.exp(log_ratio)
    clip_range = settings.clip_range
    clipped = jnp.clip(ratio, 1.0 - clip_range, 1.0 + clip_range)
    advantages = _normalize(minibatch.advantages)

    policy_loss = -jnp.mean(jnp.minimum(advantages * ratio, advantages * clipped))
    value_loss = jnp.mean((minibatch.returns - values) ** 2)
    entropy = jnp.mean(policy.entropy())
    loss = policy_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy
    return loss, Diagnostics(
        loss,
        policy_loss,
        value_loss,
        entropy,
        approx_kl=jnp.mean(ratio - 1.0 - log_ratio),
        clip_fraction=jnp.mean(jnp.abs(ratio - 1.0) > clip_range),
        grad_norm=jnp.zeros_like(loss),
    )


def _normalize(advantages: Array) -> Array:
    """Scaled to mean 0 and (unbiased) standard deviation 1."""
    return (advantages - jnp.mean(advantages)) / (jnp.std(advantages, ddof=1) + STD_EPSILON)
