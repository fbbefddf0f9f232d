"""The candidates of a space for a batch of runs: each run draws and replaces its own."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from procurl.curriculum.candidates import Candidates, kept_tasks, require_renewable
from procurl.curriculum.records import PROVIDED, no_outcomes
from procurl.envs.array_env import ArrayEnv
from procurl.evidence import forget_tasks
from procurl.internals.arrays import Floats, Ids, NamedArrays
from procurl.internals.state_arrays import add_prefix, take_prefix
from procurl.ppo.teacher import Teaching
from procurl.strategies.strategy import Strategy
from procurl.tasks.space import STREAM, TaskSpace


class BatchCandidates:
    """The candidates of w runs, and each run's strategy bound to them.

    Random numbers come from a run's seed and the number of updates alone, so a run has the same
    candidates in any batch and after any interruption.

    Args:
        space: that candidates are drawn from.
        env: checks and translates their contexts.
        strategies: [w] not bound to any pool.
        seeds: [w] of the runs.
    """

    def __init__(
        self, space: TaskSpace, env: ArrayEnv, strategies: Sequence[Strategy], seeds: Sequence[int]
    ) -> None:
        self._env, self._unbound, self._seeds = env, strategies, seeds
        drawn = [Candidates.draw(space, self._generator(run, 0)) for run in range(len(seeds))]
        for strategy, candidates in zip(strategies, drawn, strict=True):
            require_renewable(strategy, candidates)
        self._set(drawn)

    def _generator(self, run: int, updates: int) -> np.random.Generator:
        return np.random.default_rng((self._seeds[run], STREAM, updates))

    def _set(self, candidates: list[Candidates]) -> None:
        self._candidates = candidates
        pools = [own.pool for own in candidates]
        both = zip(self._unbound, pools, strict=True)
        self.strategies = [strategy.bind(pool) for strategy, pool in both]  # [w]
        self.contexts: Floats = np.stack([self._env.contexts_of(pool) for pool in pools])  # [w,n,c]

    def renew(
        self,
        teaching: Teaching,
        refreshed: NDArray[np.bool_],
        probabilities: Floats,
        playing: Ids,
        updates: int,
        step: int,
    ) -> Teaching:
        """Replace the least promising candidates; returns the teaching with the new ones.

        Its cumulative probabilities are still those of the tasks before.

        Args:
            teaching: of w runs.
            refreshed: [w] the runs whose candidates are replaced.
            probabilities: [w, n] of the strategies.
            playing: [w, b] ids of tasks to keep in any case.
            updates: so far.
            step: training steps so far.
        """
        leaves, tree = jax.tree.flatten(teaching)
        leaves = [np.array(leaf) for leaf in leaves]
        for run in np.flatnonzero(refreshed).tolist():
            own = self._candidates[run]
            ids = own.least_promising(probabilities[run], playing[run])
            self._candidates[run] = own.renew(ids, self._generator(run, updates))
            if ids.size:
                before: Teaching = jax.tree.unflatten(tree, [leaf[run] for leaf in leaves])
                for leaf, new in zip(
                    leaves, jax.tree.leaves(self._move(run, before, ids, step)), strict=True
                ):
                    leaf[run] = new
        after: Teaching = jax.tree.unflatten(tree, [jnp.array(leaf) for leaf in leaves])
        return after

    def _move(self, run: int, teaching: Teaching, ids: Ids, step: int) -> Teaching:
        """The teaching of one run with its new candidates `ids` [k], as `Curriculum` does it."""
        pool = self._candidates[run].pool
        new, n = pool.subset(ids), len(pool)
        self.contexts[run, ids] = self._env.contexts_of(new)
        strategy = self.strategies[run] = self._unbound[run].bind(pool)
        state = strategy.carry_over(teaching.strategy, strategy.init(n), kept_tasks(n, ids))
        if set(strategy.needs) <= PROVIDED:
            state = strategy.update(state, no_outcomes(strategy, n, step))
        return teaching._replace(strategy=state, episodes=forget_tasks(teaching.episodes, ids))

    def arrays(self) -> NamedArrays:
        """Everything needed to continue identically."""
        arrays: NamedArrays = {}
        for run, own in enumerate(self._candidates):
            arrays |= add_prefix(f"{run}/", own.arrays())
        return arrays

    def restore(self, arrays: NamedArrays) -> None:
        """Continue with the candidates of `arrays()`; raises if they do not fit the space."""
        left: dict[str, Any] = dict(arrays)
        runs = enumerate(self._candidates)
        self._set([own.from_arrays(take_prefix(f"{run}/", left)) for run, own in runs])
