"""Ctrl-C during training: the signal waits until the run has been saved."""

import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from procurl.sb3.callback_list import callbacks_in

IGNORED = (signal.SIG_IGN, None)  # handlers with which Ctrl-C has no effect here


class DelayedInterrupt:
    """Holds back the first Ctrl-C while `learn` runs; a second one takes effect at once.

    Args:
        callback: of that call of `learn`.
        message: printed when Ctrl-C is pressed.
    """

    def __init__(self, callback: BaseCallback, message: str) -> None:
        self.pressed = False
        self._callback = callback
        self._message = message
        self._before: Any = None  # the handler that is replaced; None if none is
        # Only the main thread receives signals.
        if threading.current_thread() is threading.main_thread():
            before: Any = signal.getsignal(signal.SIGINT)
            if isinstance(left := getattr(before, "__self__", None), DelayedInterrupt):
                left.stop()  # of an earlier call of `learn`, which raised
                before = signal.getsignal(signal.SIGINT)
            if before not in IGNORED:
                self._before = before
                signal.signal(signal.SIGINT, self._handle)

    def stop(self) -> None:
        """Restore the earlier handler."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def deliver(self) -> None:
        """Let the Ctrl-C that was held back take effect: usually this raises KeyboardInterrupt."""
        self.stop()
        self.pressed = False
        signal.raise_signal(signal.SIGINT)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # After an error in `learn` the handler is still there.
        if self.pressed or not _is_learning(self._callback, frame):
            self.deliver()
            return
        self.pressed = True
        with suppress(RuntimeError):  # the signal came while something was being printed
            print(self._message, file=sys.stderr, flush=True)


def _is_learning(callback: BaseCallback, frame: FrameType | None) -> bool:
    """Whether `frame` was called by a `learn` that `callback` was passed to."""
    while frame is not None:
        if frame.f_code.co_name == "learn":
            given = frame.f_locals.get("callback")
            known = callbacks_in(given) if isinstance(given, BaseCallback) else ()
            if any(each is callback for each in known):
                return True
        frame = frame.f_back
    return False
