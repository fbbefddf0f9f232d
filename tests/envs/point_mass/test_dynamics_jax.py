"""PointMass under JAX: the same numbers as on NumPy, jitted and vmapped."""

import numpy as np
import pytest

from procurl.envs.point_mass.dynamics import DensePointMass, SparsePointMass
from procurl.envs.point_mass.rules import CONTEXT_HIGH, CONTEXT_LOW

jax = pytest.importorskip("jax")
jnp = jax.numpy

# XLA fuses multiplications with additions, NumPy rounds each: the last bits differ, and over an
# episode of 1,000 substeps the differences add up to no more than this.
TOLERANCE = 1e-4


def recording(seed, steps, b):
    rng = np.random.default_rng(seed)
    contexts = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (b, 3)).astype(np.float32)
    actions = rng.uniform(-12.0, 12.0, (steps, b, 2)).astype(np.float32)
    actions[..., 1] -= 3.0
    noise = rng.standard_normal((steps, b, 10, 2), dtype=np.float32)
    return contexts, actions, noise


@pytest.mark.parametrize("env", [SparsePointMass(), DensePointMass()])
def test_numpy_equals_jax_over_10000_steps(env):
    contexts, actions, noise = recording(seed=3, steps=100, b=100)

    @jax.jit
    def episode(contexts, actions, noise):
        def step(state, inputs):
            transition = env.step(state, *inputs)
            return transition.state, (env.observe(transition.state), *transition[1:])

        return jax.lax.scan(step, env.initial(contexts), (actions, noise))[1]

    theirs = [np.asarray(out) for out in episode(contexts, actions, noise)]
    state = env.initial(contexts)
    playing = np.ones(100, dtype=bool)
    endings = 0
    for t in range(100):
        transition = env.step(state, actions[t], noise[t])
        state = transition.state
        ours = (env.observe(state), *transition[1:])
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine[playing], other[t][playing], atol=TOLERANCE)
        endings += np.sum(playing & transition.done)
        playing &= ~transition.done
    assert endings > 50


def test_numpy_equals_jax_step_by_step_from_10000_random_states():
    env = SparsePointMass()
    rng = np.random.default_rng(5)
    contexts, actions, noise = recording(seed=4, steps=1, b=10_000)
    state = env.initial(contexts)._replace(
        x=rng.uniform(-4.0, 4.0, 10_000).astype(np.float32),
        y=rng.uniform(-1.0, 1.0, 10_000).astype(np.float32),
        vx=rng.normal(0.0, 4.0, 10_000).astype(np.float32),
        vy=rng.normal(0.0, 4.0, 10_000).astype(np.float32),
    )
    ours = env.step(state, actions[0], noise[0])
    theirs = jax.jit(env.step)(state, actions[0], noise[0])
    assert 500 < ours.done.sum() < 9500
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, np.asarray(other), atol=1e-5)


def test_vmapped_over_runs_equals_one_run_at_a_time():
    env = SparsePointMass()
    contexts, actions, noise = recording(seed=6, steps=4, b=8)
    runs = jnp.stack([jnp.asarray(contexts), jnp.asarray(contexts[::-1])])

    def observations(contexts):
        state = env.initial(contexts)
        seen = []
        for t in range(4):
            transition = env.step(state, actions[t], noise[t])
            state = transition.state
            seen.append(env.observe(state))
        return jnp.stack(seen)

    together = jax.jit(jax.vmap(observations))(runs)
    for run in range(2):
        np.testing.assert_allclose(together[run], observations(runs[run]), atol=1e-5)


def test_a_second_batch_of_the_same_size_does_not_compile_again():
    env = SparsePointMass()
    traced = []

    @jax.jit
    def step(state, actions, noise):
        traced.append(1)
        return env.step(state, actions, noise)

    for seed in (0, 1):
        contexts, actions, noise = recording(seed, steps=1, b=4)
        step(env.initial(jnp.asarray(contexts)), actions[0], noise[0])
    assert len(traced) == 1
