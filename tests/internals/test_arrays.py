"""Control flow that is written once for NumPy and JAX."""

import jax
import jax.numpy as jnp
import numpy as np

from procurl.internals.arrays import compute_if


def test_a_computation_depends_on_its_condition_in_every_run():
    due = np.array([True, False, True])
    old, new = np.arange(3.0), np.arange(10.0, 13.0)
    expected = np.where(due, new, old)
    here = [compute_if(np, d, lambda n=n: n, o) for d, o, n in zip(due, old, new, strict=True)]
    there = jax.jit(jax.vmap(lambda d, o, n: compute_if(jnp, d, lambda: n, o)))(due, old, new)
    np.testing.assert_array_equal(here, expected)
    np.testing.assert_array_equal(there, expected)


def test_a_computation_is_skipped_if_no_run_needs_it():
    computed = []

    def compute(value):
        jax.debug.callback(lambda v: computed.append(float(v)), value)
        return value

    compiled = jax.jit(
        jax.vmap(lambda due, value: compute_if(jnp, due, lambda: compute(value), -value))
    )
    values = jnp.array([1.0, 2.0])
    compiled(jnp.array([False, False]), values).block_until_ready()
    jax.effects_barrier()
    assert computed == []
    compiled(jnp.array([False, True]), values).block_until_ready()
    jax.effects_barrier()
    assert computed
