"""What the pools of the MuJoCo environments share: their kinds and random numbers."""

import numpy as np

from procurl.internals.checks import require_choice, require_integer

KINDS = ("uniform", "test")


def pool_draw(
    env: str, kind: str, size: int | None, own_size: int, seed: int | None, own_seed: int
) -> tuple[np.random.Generator, int]:
    """(random generator of a pool, its number of tasks); raises on an unknown kind."""
    if kind == "hard":
        raise ValueError(
            f"kind must be one of {', '.join(KINDS)}, got 'hard': {env} has no pool of that kind"
        )
    require_choice("kind", kind, KINDS)
    size = own_size if size is None else size
    seed = own_seed if seed is None else seed
    require_integer("size", size, at_least=1)
    require_integer("seed", seed, at_least=0)
    return np.random.default_rng([seed, KINDS.index(kind)]), size
