"""The update does what Stable-Baselines3's does, for many runs at once, and says how it went."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from procurl.ppo.learning.advantages import estimate_advantages
from procurl.ppo.learning.networks import CategoricalHead, GaussianHead, actor_critic, forward
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.learning.update import (
    Batch,
    StudentState,
    draw_permutations,
    init_student,
    minibatch_step,
    update,
)
from tests.ppo.sb3_reference import OBSERVATION_SIZE, learn, make_model, params_of, record

# A high learning rate and strong terms, so that ratios are clipped and nothing is too small to see.
STRONG = PPOSettings(
    learning_rate=1e-2,
    gamma=0.97,
    gae_lambda=0.9,
    clip_range=0.1,
    ent_coef=0.03,
    vf_coef=0.7,
    max_grad_norm=0.4,
    n_steps=128,
    n_epochs=4,
    batch_size=32,
)
SHARED = replace(STRONG, shared_layers=(12,), policy_layers=(10,), value_layers=(8,))
SEPARATE = replace(STRONG, policy_layers=(12, 8), value_layers=(10, 6))
HEADS: dict[bool, GaussianHead | CategoricalHead] = {
    False: GaussianHead(2),
    True: CategoricalHead(3),
}
ALL_KINDS = [(s, d) for s in (SHARED, SEPARATE) for d in (False, True)]


def orders(settings: PPOSettings, seed: int) -> np.ndarray:
    """A permutation of the steps per epoch."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(settings.n_steps) for _ in range(settings.n_epochs)])


def batch_of(network, settings, params, recording) -> Batch:
    """The batch of a recording as `params` see it, one environment's steps after another's."""
    observations = jnp.asarray(recording.observations, dtype=params["value"]["bias"].dtype)
    policy, values = forward(network, params, observations)
    _, last_values = forward(network, params, recording.last_observations)
    found = estimate_advantages(
        recording.rewards, values, recording.dones, last_values, settings.gamma, settings.gae_lambda
    )
    actions = jnp.asarray(recording.actions)
    parts = (observations, actions, policy.log_prob(actions), *found)
    return Batch(*(part.swapaxes(0, 1).reshape(-1, *part.shape[2:]) for part in parts))


@partial(jax.jit, static_argnums=0)
def learnt(network, settings, student, recording, order):
    """The student after one update on a recording."""
    batch = batch_of(network, settings, student.params, recording)
    return update(network, settings, student, batch, order)


@jax.jit
def learnt_together(settings, students, batches, permutations):
    """Runs with shared layers and continuous actions, each with settings of its own."""
    network = actor_critic(SHARED, HEADS[False])
    return jax.vmap(lambda *run: update(network, *run))(settings, students, batches, permutations)


def assert_same_params(ours, theirs, atol: float) -> None:
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=0, atol=atol), ours, theirs)


@pytest.mark.parametrize(("settings", "discrete"), ALL_KINDS)
def test_one_minibatch_step_equals_stable_baselines3_in_float32(settings, discrete):
    settings = replace(settings, n_steps=64, batch_size=64, n_epochs=1)
    model = make_model(settings, 1, discrete=discrete, double=False)
    recording = record(np.random.default_rng(1), 64, 1, discrete)
    params = jax.tree.map(jnp.asarray, params_of(model))
    network = actor_critic(settings, HEADS[discrete])

    @jax.jit
    def step(student):
        batch = batch_of(network, settings, student.params, recording)
        return minibatch_step(network, settings, student, batch)

    student, _ = step(init_student(params))
    learn(model, recording, orders(settings, seed=0))

    moved = np.abs(student.params["value"]["kernel"] - params["value"]["kernel"])
    assert moved.max() > 1e-3
    assert_same_params(student.params, params_of(model), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "discrete"),
    [
        (SHARED, False),
        (SEPARATE, True),
        pytest.param(SHARED, True, marks=pytest.mark.soak),
        pytest.param(SEPARATE, False, marks=pytest.mark.soak),
    ],
)
def test_updates_in_a_row_equal_stable_baselines3_in_float64(settings, discrete):
    """Three rollouts in four environments: each side continues from its own weights."""
    model = make_model(settings, 4, discrete=discrete, double=True)
    network = actor_critic(settings, HEADS[discrete])
    rng = np.random.default_rng(2)
    clipped = 0.0
    with jax.enable_x64(True):
        student = init_student(jax.tree.map(jnp.asarray, params_of(model)))
        for seed in range(3):
            recording = record(rng, settings.n_steps // 4, 4, discrete)
            order = orders(settings, seed)
            student, diagnostics = learnt(network, settings, student, recording, order)
            learn(model, recording, order)
            assert_same_params(student.params, params_of(model), atol=1e-6)

            theirs = model.logger.name_to_value
            assert_allclose(diagnostics.policy_loss, theirs["train/policy_gradient_loss"])
            assert_allclose(diagnostics.value_loss, theirs["train/value_loss"])
            assert_allclose(diagnostics.entropy, -theirs["train/entropy_loss"])
            assert_allclose(diagnostics.approx_kl, theirs["train/approx_kl"])
            assert_allclose(diagnostics.clip_fraction, theirs["train/clip_fraction"])
            assert diagnostics.grad_norm > settings.max_grad_norm
            clipped += float(diagnostics.clip_fraction)
    assert clipped > 0.05


def test_a_short_gradient_is_left_alone():
    """Adam alone, with a bound on the norm that is never reached, against Stable-Baselines3."""
    settings = replace(SHARED, max_grad_norm=1e6)
    model = make_model(settings, 4, discrete=False, double=True)
    network = actor_critic(settings, HEADS[False])
    recording = record(np.random.default_rng(5), settings.n_steps // 4, 4, discrete=False)
    with jax.enable_x64(True):
        student = init_student(jax.tree.map(jnp.asarray, params_of(model)))
        order = orders(settings, seed=6)
        student, _ = learnt(network, settings, student, recording, order)
    learn(model, recording, order)
    assert_same_params(student.params, params_of(model), atol=1e-6)


@pytest.fixture(scope="module")
def runs() -> tuple[StudentState, Batch, jax.Array]:
    """Three students, and for each a batch and permutations."""
    return jax.tree.map(lambda *parts: jnp.stack(parts), *(one_run(seed) for seed in range(3)))


def one_run(seed: int) -> tuple[StudentState, Batch, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = SHARED.n_steps
    like = params_of(make_model(SHARED, 1, discrete=False, double=False))
    params = jax.tree.map(lambda leaf: np.asarray(rng.normal(0.0, 0.3, leaf.shape), "f4"), like)
    shapes = Batch((n, OBSERVATION_SIZE), (n, 2), (n,), (n,), (n,))
    batch = Batch(*(np.asarray(rng.normal(size=shape), "f4") for shape in shapes))
    batch = batch._replace(log_probs=0.1 * batch.log_probs - 3.0)
    return init_student(params), batch, orders(SHARED, seed)


def stacked(*settings: PPOSettings) -> PPOSettings:
    return jax.tree.map(lambda *numbers: jnp.array(numbers), *settings)


def nth(tree, i: int):
    return jax.tree.map(lambda x: x[i], tree)


def test_runs_with_settings_of_their_own_learn_together_as_they_would_alone(runs):
    """Other numbers do not compile again."""
    network = actor_critic(SHARED, HEADS[False])
    settings = (
        SHARED,
        replace(SHARED, learning_rate=1e-4, clip_range=0.3, max_grad_norm=10.0),
        replace(SHARED, ent_coef=0.2, vf_coef=0.1),
    )
    compiled = []

    @jax.jit
    def alone(*run):
        compiled.append(run)
        return update(network, *run)

    together, diagnostics = learnt_together(stacked(*settings), *runs)
    for i, own in enumerate(settings):
        student, own_diagnostics = alone(own, *nth(runs, i))
        assert_same_params(nth(together.params, i), student.params, atol=1e-5)
        assert_allclose(nth(diagnostics, i), own_diagnostics, atol=1e-4)
    assert len(compiled) == 1


def test_a_run_with_nan_says_so_and_leaves_the_others_untouched(runs):
    students, batches, permutations = runs
    settings = stacked(SHARED, SHARED, SHARED)
    healthy, _ = learnt_together(settings, students, batches, permutations)
    spoilt = batches._replace(returns=batches.returns.at[1, 7].set(jnp.nan))
    found, diagnostics = learnt_together(settings, students, spoilt, permutations)
    assert diagnostics.finite().tolist() == [True, False, True]
    for i in (0, 2):
        assert_same_params(nth(found.params, i), nth(healthy.params, i), atol=0.0)


def test_the_same_update_twice_is_the_same_to_the_bit(runs):
    settings = stacked(SHARED, SHARED, SHARED)
    first, _ = learnt_together(settings, *runs)
    second, _ = learnt_together(settings, *runs)
    assert_same_params(first, second, atol=0.0)


def test_steps_that_minibatches_do_not_divide_are_refused(runs):
    network = actor_critic(SHARED, HEADS[False])
    with pytest.raises(TypeError, match="reshape"):
        update(network, replace(SHARED, batch_size=48), *nth(runs, 0))


def test_a_bandit_with_a_known_best_action_is_solved():
    """The reward is 1 for the action that the observation names, else 0; 30 updates suffice."""
    settings = replace(SHARED, learning_rate=3e-3, clip_range=0.2, shared_layers=(32,))
    network = actor_critic(settings, HEADS[True])

    def one_update(student: StudentState, key: jax.Array) -> tuple[StudentState, jax.Array]:
        keys = jax.random.split(key, 3)
        best = jax.random.randint(keys[0], (settings.n_steps,), 0, 3)
        observations = jax.nn.one_hot(best, OBSERVATION_SIZE)
        policy, values = forward(network, student.params, observations)
        actions = policy.sample(policy.draw_noise(keys[1], (settings.n_steps, 3)))
        rewards = (actions == best).astype(jnp.float32)
        batch = Batch(observations, actions, policy.log_prob(actions), rewards - values, rewards)
        order = draw_permutations(keys[2], settings)
        student, _ = update(network, settings, student, batch, order)
        return student, jnp.mean(rewards)

    model = make_model(settings, 1, discrete=True, double=False)
    student = init_student(jax.tree.map(jnp.asarray, params_of(model)))
    keys = jax.random.split(jax.random.key(0), 30)
    student, rewards = jax.jit(lambda *start: jax.lax.scan(one_update, *start))(student, keys)
    assert rewards[0] < 0.5
    assert rewards[-1] > 0.97
    _, values = forward(network, student.params, jnp.eye(3, OBSERVATION_SIZE))
    assert_allclose(values, 1.0, atol=0.1)


@pytest.mark.parametrize("n_steps", [96, 1024, 2**17])
def test_permutations_hold_every_step_once_and_differ_between_epochs(n_steps):
    settings = replace(SHARED, n_steps=n_steps)
    drawn = np.asarray(draw_permutations(jax.random.key(0), settings))
    assert drawn.dtype == np.int32
    assert (np.sort(drawn, axis=1) == np.arange(n_steps)).all()
    assert (drawn[0] != drawn[1]).any()
    assert (drawn != draw_permutations(jax.random.key(1), settings)).any()


def test_every_step_is_as_likely_in_every_place():
    """12,000 orders of 8 steps: each of the 64 pairs of step and place about 1,500 times."""
    settings = replace(SHARED, n_steps=8, batch_size=4, n_epochs=12_000)
    drawn = np.asarray(draw_permutations(jax.random.key(0), settings))
    counts = np.stack([np.bincount(place, minlength=8) for place in drawn.T])
    # 49 degrees of freedom: exceeded once in a thousand seeds.
    assert np.sum((counts - 1500) ** 2 / 1500) < 85.4
