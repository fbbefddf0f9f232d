"""Equal numbers on a GPU whenever a command is repeated."""

import os

from procurl.ppo.gpu.shape import Shape
from procurl.ppo.gpu.update import kernel_for

VARIABLE = "PROCURL_DETERMINISTIC"
# Options for programs that are to give the same bits again. Without them, threads of a GPU add up
# in any order, and XLA times several programs for a matrix product and takes the one that was
# fastest this time.
REPEATABLE = {"xla_gpu_exclude_nondeterministic_ops": True}


def is_repeatable(shape: Shape) -> bool:
    """Whether updates of this shape are to be compiled with `REPEATABLE`.

    They are where that costs nothing, because a kernel makes the products of the update, and
    elsewhere if the user asks for it.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "0", "1"):
        raise ValueError(
            f"{VARIABLE} must be 1 for equal numbers whenever a command is repeated on a GPU, or 0 "
            f"for speed, got {wanted!r}"
        )
    return wanted == "1" if wanted else kernel_for(shape) is not None
