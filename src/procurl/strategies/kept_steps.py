"""The training steps that an agent learns from, if its strategy excludes tasks."""

from procurl.internals.arrays import Array, namespace


def kept_steps(learning_mask: Array, tasks: Array) -> tuple[Array, Array]:
    """([m] positions, [] bool): the steps that count, repeated to the length of the update.

    Each is repeated equally often, up to one. If none counts, the flag is False and the positions
    are meaningless.

    Args:
        learning_mask: [n] bool, as of `Strategy.learning_mask`.
        tasks: [m] the task of each step.
    """
    xp = namespace(learning_mask, tasks)
    counts = xp.asarray(learning_mask)[tasks]
    kept_first = xp.argsort(~counts, stable=True)
    total = xp.sum(counts)
    positions = kept_first[xp.arange(counts.shape[0]) % xp.maximum(total, 1)]
    return positions, total > 0
