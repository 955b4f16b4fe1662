"""Signals: Ctrl-C, SIGTERM and SIGHUP stop long work in the same way everywhere.

``interruptible`` turns all of them into a KeyboardInterrupt, so work that keeps its results on
Ctrl-C keeps them on every signal. Python drops an exception raised in a destructor or a C callback.
Such a signal is sent again. ``noted_interrupt`` keeps a signal from breaking off a block. The block
can ask whether to stop. ``signals_apart`` separates the exceptions that signals raise from the
exceptions of users' code.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interrupted(KeyboardInterrupt):
    """A signal that ends the work. Its `number` is the exit status less 128."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.number = int(number)


_SOON = 0.02
"""Seconds until a signal is sent again."""


@contextlib.contextmanager
def _repeated() -> Iterator[None]:
    """Send each signal of this block again if Python drops its exception."""
    report = sys.unraisablehook
    timers: list[threading.Timer] = []

    def repeat(dropped: sys.UnraisableHookArgs) -> None:
        if not isinstance(dropped.exc_value, Interrupted):
            report(dropped)
            return
        timer = threading.Timer(_SOON, _signal_main, (dropped.exc_value.number,))
        timer.daemon = True
        timer.start()
        timers.append(timer)

    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = report
        for timer in timers:
            timer.cancel()
            timer.join()


def _signal_main(number: int) -> None:
    """Send a signal to the main thread. This ends its blocking calls where the system can."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


@contextlib.contextmanager
def _handled(handler: Callable[[int, Any], None], numbers: tuple[Any, ...]) -> Iterator[None]:
    """Handle signals in this block, in the main thread. Signals already ignored stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        for number, old in before.items():
            if old is not signal.SIG_IGN:  # as `nohup` sets SIGHUP
                signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old if old is not None else signal.SIG_DFL)


_last = int(signal.SIGINT)


def exit_status() -> int:
    """Return the exit status of a program that a signal has ended: 130 after Ctrl-C."""
    return 128 + _last


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``Interrupted`` for each of `SIGNALS` in this block."""
    global _last
    _last = int(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        global _last
        _last = number
        raise Interrupted(number)

    with _handled(stop, SIGNALS), _repeated():
        yield


@contextlib.contextmanager
def noted_interrupt(
    noted: Callable[[], None] | None = None, *, twice: bool = False
) -> Iterator[Callable[[], int]]:
    """Note signals in this block, and do not raise them.

    Yield a function that returns the number of a signal, or 0.

    Args:
        noted: called on the first signal. If None, nothing is called.
        twice: if True, a second signal raises ``Interrupted`` at once.
    """
    pressed = 0

    def note(number: int, frame: Any) -> None:
        global _last
        nonlocal pressed
        _last = number
        if pressed and twice:
            raise Interrupted(number)
        is_first, pressed = not pressed, number
        if is_first and noted is not None:
            noted()

    with _handled(note, SIGNALS):
        yield lambda: pressed


@contextlib.contextmanager
def held_interrupt() -> Iterator[None]:
    """Delay signals to the end of this block. It must be short, as it cannot be stopped."""
    with noted_interrupt() as pressed:
        yield
    if pressed():
        raise Interrupted(pressed())


_RAISING = (*SIGNALS, *(getattr(signal, name) for name in ("SIGALRM",) if hasattr(signal, name)))


@contextlib.contextmanager
def signals_apart() -> Iterator[Callable[[], None]]:
    """Run code that may raise anything. Yield a function that raises the exception of a signal.

    Ctrl-C and other signals raise inside any code, here the code of a user. A caller that catches
    the exceptions of that code would also catch the signal, and the code may have caught it before.
    So call the function in the ``except`` clause and at the end of the block::

        with signals_apart() as check_signals:
            try:
                answer = users_code()
            except BaseException as error:
                check_signals()  # raises the signal's exception, if there was a signal
                fault = error    # else the exception belongs to the code
            check_signals()
    """
    raised: list[BaseException] = []

    def check() -> None:
        if raised:
            raise raised[0]

    found: dict[int, Any] = {number: signal.getsignal(number) for number in _RAISING}
    before = {number: handler for number, handler in found.items() if callable(handler)}

    def handle(number: int, frame: Any) -> None:
        try:
            before[number](number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    with _handled(handle, tuple(before)):
        yield check
