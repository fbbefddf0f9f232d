"""The callbacks of one call of `learn`."""

from collections.abc import Iterator

from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EventCallback


def require_one(kind: type[BaseCallback], callback: BaseCallback | None) -> None:
    """Raise if `learn` received several callbacks of a kind that must be alone.

    Args:
        kind: of the callback.
        callback: what `learn` made of its argument; None if it is unknown.
    """
    found = [each for each in callbacks_in(callback) if isinstance(each, kind)]
    if len(found) > 1:
        raise ValueError(
            f"learn received {len(found)} callbacks of type {kind.__name__}, each of which would "
            "replace the tasks that the others choose: pass one"
        )


def callbacks_in(callback: BaseCallback | None) -> Iterator[BaseCallback]:
    """The callback and all callbacks inside it."""
    if callback is None:
        return
    yield callback
    inside: list[BaseCallback | None] = []
    if isinstance(callback, CallbackList):
        inside = list(callback.callbacks)
    elif isinstance(callback, EventCallback):
        inside = [callback.callback]
    for each in inside:
        yield from callbacks_in(each)
