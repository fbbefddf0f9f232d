"""Counts of played tasks: NumPy computes with these alone, JAX with all, and both agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import Evidence, Scale, make_strategy
from procurl.success.counts import Fading, add_outcomes, fading, no_counts
from procurl.success.played import played_tasks

NAN = np.nan
WINS = np.array([2.0, 0.0, NAN, 1.0, 0.0, 1.0])
LOSSES = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 2.0])
PARTIAL = np.array([0.5, 0.0, 0.0, NAN, 0.0, 0.3])
EVIDENCE = Evidence(1, wins=WINS, losses=LOSSES, partial=PARTIAL)


def test_numpy_has_the_tasks_played_and_jax_all():
    ours = played_tasks(EVIDENCE, WINS)
    np.testing.assert_array_equal(ours.tasks, [0, 2, 3, 5])
    np.testing.assert_array_equal(ours.wins, [2, 0, 1, 1])  # of task 2 nothing counts
    np.testing.assert_array_equal(ours.losses, [0, 0, 1, 2])
    np.testing.assert_array_equal(ours.partial, [0.5, 0, 0, 0.3])
    everywhere = played_tasks(EVIDENCE, jnp.asarray(WINS))
    assert everywhere.tasks is ...
    np.testing.assert_array_equal(everywhere.episodes, [2, 0, 0, 2, 0, 3])


def test_counts_worked_by_hand():
    """Of six tasks three were played; all fade by √0.7, and two visits to one by (15/16)²."""
    counts = no_counts(6, partial=True)._replace(wins=np.ones(6), losses=np.full(6, 2.0))
    played = played_tasks(EVIDENCE, WINS)
    after = add_outcomes(counts, played, fading(6, played, 0.7), None)
    all_tasks, visit = 0.7**0.5, 15 / 16
    each = all_tasks * visit ** np.array([2, 0, 0, 2, 0, 3])
    np.testing.assert_allclose(after.wins - each, [2, 0, 0, 1, 0, 1])
    np.testing.assert_allclose(after.losses - 2 * each, [0, 0, 0, 1, 0, 2])
    # Of task 0 nothing: two wins and no loss leave no room for a part of one.
    np.testing.assert_allclose(after.partial, [0, 0, 0, 0, 0, 0.3])


def test_counts_of_numpy_equal_those_of_jax_on_a_new_range():
    counts = no_counts(6, partial=True)._replace(
        wins=np.linspace(0.5, 3, 6), losses=np.linspace(2, 1, 6), partial=np.full(6, 0.2)
    )
    scale = Scale(np.float64(-1.0), np.float64(3.0), np.False_)

    def after(counts, evidence, scale):
        played = played_tasks(evidence, counts.wins)
        return add_outcomes(counts, played, fading(6, played, 0.7), scale)

    there = jax.jit(after)(*jax.tree.map(jnp.asarray, (counts, EVIDENCE, scale)))
    jax.tree.map(
        lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-6),
        after(counts, EVIDENCE, scale),
        there,
    )


def test_nothing_that_is_handed_over_changes():
    counts = no_counts(6)._replace(wins=np.ones(6))
    kept = counts.wins.copy()
    after = add_outcomes(counts, played_tasks(EVIDENCE, WINS), Fading(np.float64(1.0)), None)
    np.testing.assert_array_equal(counts.wins, kept)
    np.testing.assert_array_equal(after.wins - kept, [2, 0, 0, 1, 0, 1])


@pytest.mark.parametrize("name", ["procurl", "procurl-group", "procurl-out", "procurl-val"])
def test_a_state_of_jax_takes_evidence_of_numpy(name):
    strategy = make_strategy(name)
    values = np.array([0.1, 0.9, 0.5, 0.2])
    evidence = Evidence(8, values=values, wins=np.eye(4)[1], losses=np.eye(4)[2])
    ours = strategy.init(4)
    theirs = jax.tree.map(jnp.asarray, ours)
    update = jax.jit(lambda state: strategy.update(state, evidence))
    for _ in range(2):
        ours, theirs = strategy.update(ours, evidence), update(theirs)
    np.testing.assert_allclose(
        strategy.probabilities(ours), strategy.probabilities(theirs), atol=1e-5
    )
