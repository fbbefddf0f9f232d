"""The source of the kernel, compiled for the CPU, computes the same as the program of XLA."""

import shutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from procurl.ppo.gpu.build import CPU, target
from procurl.ppo.gpu.shape import Shape
from procurl.ppo.gpu.update import fused_update
from procurl.ppo.learning.networks import (
    ActorCritic,
    CategoricalHead,
    GaussianHead,
    actor_critic,
    init_params,
)
from procurl.ppo.learning.settings import PPOSettings, paper_settings
from procurl.ppo.learning.update import Batch, StudentState, init_student, update

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")

OBSERVATION = 7
# A high learning rate and strong terms, so that ratios are clipped and nothing is too small to see.
STRONG = PPOSettings(
    learning_rate=1e-2,
    clip_range=0.1,
    ent_coef=0.03,
    vf_coef=0.7,
    max_grad_norm=0.4,
    n_steps=96,
    n_epochs=3,
    batch_size=32,
    shared_layers=(12,),
    policy_layers=(10,),
    value_layers=(8,),
)
CASES = {
    "shared layer": STRONG,
    "separate": replace(STRONG, shared_layers=(), policy_layers=(12, 8), value_layers=(10, 6)),
    "deeper policy": replace(STRONG, policy_layers=(9, 16), value_layers=()),
    "deeper critic": replace(STRONG, shared_layers=(16, 32), policy_layers=(), value_layers=(8, 4)),
    "linear": replace(STRONG, shared_layers=(), policy_layers=(), value_layers=()),
    "no clipping": replace(STRONG, max_grad_norm=1e9, clip_range=1e3),
    "more samples than threads": replace(STRONG, n_steps=384, batch_size=192),
    "small batches of small things": replace(STRONG, n_steps=60, batch_size=12),
    "the paper's": replace(paper_settings("pointmass-s"), n_epochs=2),
}


QUICK = {("shared layer", False), ("separate", True), ("more samples than threads", True)}
ALL_CASES = [
    pytest.param(case, discrete, marks=() if (case, discrete) in QUICK else pytest.mark.soak)
    for case in CASES
    for discrete in (False, True)
]


def kernel_of(settings: PPOSettings, discrete: bool) -> tuple[ActorCritic, Shape, str]:
    """A network, the shape of its updates and the name of their kernel."""
    network = actor_critic(settings, CategoricalHead(5) if discrete else GaussianHead(3))
    shape = Shape.of(network, settings, OBSERVATION)
    name = target(shape, CPU)
    assert name is not None
    return network, shape, name


def student_of(network: ActorCritic, seed: int) -> StudentState:
    """An agent whose policy is not near 0, with biases and a log_std to speak of."""
    rng = np.random.default_rng(seed)
    params = init_params(network, seed, OBSERVATION)
    return init_student(
        jax.tree.map(lambda x: jnp.asarray(x + rng.normal(0, 0.1, x.shape), jnp.float32), params)
    )


def batch_of(settings: PPOSettings, discrete: bool, seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    n = settings.n_steps
    actions = rng.integers(5, size=n) if discrete else rng.normal(size=(n, 3))
    log_probs = rng.normal(-1.6 if discrete else -4.5, 0.3, n)
    parts = rng.normal(size=(n, OBSERVATION)), actions, log_probs, rng.normal(size=n)
    return Batch(*(jnp.asarray(part) for part in (*parts, rng.normal(1.0, 2.0, n))))


def orders(settings: PPOSettings, seed: int) -> jax.Array:
    rng = np.random.default_rng(seed)
    return jnp.asarray(
        [rng.permutation(settings.n_steps) for _ in range(settings.n_epochs)], jnp.int32
    )


def both(settings: PPOSettings, discrete: bool, seed: int = 0):
    """The results of the program of XLA and of the kernel."""
    network, shape, name = kernel_of(settings, discrete)
    given = (
        settings,
        student_of(network, seed),
        batch_of(settings, discrete, seed),
        orders(settings, seed),
    )
    return (
        jax.jit(lambda *run: update(network, *run))(*given),
        jax.jit(lambda *run: fused_update(name, shape, *run))(*given),
    )


def assert_close(theirs, ours, atol: float = 2e-5) -> None:
    jax.tree.map(lambda a, b: assert_allclose(b, a, rtol=2e-4, atol=atol), theirs, ours)


@pytest.mark.parametrize(("case", "discrete"), ALL_CASES)
def test_an_update_equals_that_of_xla(case, discrete):
    (student, diagnostics), (fused, fused_diagnostics) = both(CASES[case], discrete)
    assert_close(student.params, fused.params)
    assert_close(student.optimizer, fused.optimizer)
    assert_close(diagnostics, fused_diagnostics)


def test_runs_side_by_side_equal_runs_alone_to_the_bit():
    settings = CASES["shared layer"]
    network, shape, name = kernel_of(settings, discrete=False)
    each = [
        (
            replace(settings, learning_rate=10.0**-seed),
            student_of(network, seed),
            batch_of(settings, False, seed),
            orders(settings, seed),
        )
        for seed in (2, 3, 4)
    ]
    alone = [jax.jit(lambda *run: fused_update(name, shape, *run))(*run) for run in each]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)
    runs = jax.jit(jax.vmap(lambda *run: fused_update(name, shape, *run)))(*together)
    for i, one in enumerate(alone):
        jax.tree.map(lambda a, b, i=i: assert_array_equal(a, b[i]), one, runs)


def test_updates_in_a_row_continue_adam_where_it_was():
    settings = CASES["separate"]
    network, shape, name = kernel_of(settings, discrete=True)
    ours = theirs = student_of(network, 0)
    for seed in range(3):
        rest = batch_of(settings, True, seed), orders(settings, seed)
        ours, _ = fused_update(name, shape, settings, ours, *rest)
        theirs, _ = update(network, settings, theirs, *rest)
    assert int(ours.optimizer[1][0].count) == 3 * settings.n_epochs * settings.n_minibatches
    assert_close(theirs, ours, atol=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        {"returns": np.nan},
        {"log_probs": np.nan},
        {"log_probs": -120.0, "advantages": 2.0},  # an infinite ratio, with a finite clipped gain
    ],
    ids=["return", "log-probability", "ratio"],
)
def test_a_run_that_diverges_shows_in_the_diagnostics_as_in_those_of_xla(changes):
    settings = CASES["shared layer"]
    network, shape, name = kernel_of(settings, discrete=False)
    batch = batch_of(settings, False, 0)
    batch = batch._replace(
        **{key: getattr(batch, key).at[7].set(value) for key, value in changes.items()}
    )
    run = settings, student_of(network, 0), batch, orders(settings, 0)
    _, fused = fused_update(name, shape, *run)
    _, plain = update(network, *run)
    assert not bool(plain.finite())
    assert not bool(fused.finite())


def test_numbers_in_double_precision_are_rounded():
    settings = CASES["shared layer"]
    network, shape, name = kernel_of(settings, discrete=False)
    student, order = student_of(network, 0), orders(settings, 0)
    batch = batch_of(settings, False, 0)
    expected, _ = fused_update(name, shape, settings, student, batch, order)
    with jax.enable_x64(True):
        double = Batch(*(part.astype(jnp.float64) for part in batch))
        found, _ = fused_update(name, shape, settings, student, double, order)
    jax.tree.map(assert_array_equal, expected.params, found.params)
