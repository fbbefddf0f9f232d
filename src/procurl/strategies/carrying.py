"""Carry the state of a strategy over to another pool, task by task."""

from collections.abc import Callable
from typing import Any

from procurl.internals.state_arrays import state_arrays, with_arrays
from procurl.tasks.matching import SharedTasks


def carry_rows(
    owner: str, state: Any, fresh: Any, shared: SharedTasks, init: Callable[[int], Any]
) -> Any:
    """`state` on another pool: one entry per task is taken from `state` if both pools hold it.

    Args:
        owner: of the state, for errors.
        state: on the pool before.
        fresh: on the pool after; new tasks take their entries from it.
        shared: the tasks in both.
        init: a fresh state by the number of tasks; shows which arrays have one entry per task.
    """
    before, after = state_arrays(state), state_arrays(fresh)
    one, two = state_arrays(init(1)), state_arrays(init(2))
    for name, array in after.items():
        old = before.get(name)
        by_task = one[name].shape[:1] == (1,) and two[name].shape[:1] == (2,)
        same = None if old is None else (old.shape[1:] if by_task else old.shape)
        if old is None or same != (array.shape[1:] if by_task else array.shape):
            raise ValueError(
                f"{owner} cannot keep its state on another pool: {name} depends on the pool in "
                "another way than one entry per task. Override carry_over, or create a new "
                "Curriculum"
            )
        if by_task:
            array = array.copy()
            array[shared.after] = old[shared.before]
            old = array
        after[name] = old
    return with_arrays(fresh, after)


def refuse_another_pool(owner: str, reason: str) -> ValueError:
    """The error of a strategy whose state fits only the pool that it was made on."""
    return ValueError(
        f"{owner} cannot keep its state on another pool: {reason}. Create a new Curriculum, or "
        "use a strategy that judges tasks one by one, such as procurl-out"
    )
