"""Signals: Ctrl-C, SIGTERM and SIGHUP stop long work in one way, wherever it runs.

``interruptible`` makes all of them raise a KeyboardInterrupt, so that work which keeps its results
on that keeps them on every signal; one that hits a destructor or a callback from C, where Python
drops whatever is raised, comes again. ``noted_interrupt`` holds a signal back from a block
that must not be broken off, and lets it ask whether to stop. ``signals_apart`` says what a signal
raised from what somebody's code raised by itself.
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
    """A signal that ends the work at hand; its number is that of the exit status less 128."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.number = int(number)


_SOON = 0.02
"""Seconds until a signal comes again."""


@contextlib.contextmanager
def _repeated() -> Iterator[None]:
    """What a signal raises in this block is raised, even where Python drops it at first."""
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
    """Send a signal to the main thread, which ends what it waits for, where that is possible."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


@contextlib.contextmanager
def _handled(handler: Callable[[int, Any], None], numbers: tuple[Any, ...]) -> Iterator[None]:
    """Handle signals in this block, in the main thread; one ignored from outside stays so."""
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
    """The exit status of a program that has ended its work on a signal: 130 after Ctrl-C."""
    return 128 + _last


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """All of `SIGNALS` raise ``Interrupted`` in this block."""
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
    """A signal is only noted in this block; gives a function that returns its number, 0 for none.

    Args:
        noted: called when the first signal comes.
        twice: whether a second signal raises ``Interrupted`` at once.
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
    """A signal waits for the end of this block, which is short and must not be broken off."""
    with noted_interrupt() as pressed:
        yield
    if pressed():
        raise Interrupted(pressed())


_RAISING = (*SIGNALS, *(getattr(signal, name) for name in ("SIGALRM",) if hasattr(signal, name)))


@contextlib.contextmanager
def signals_apart() -> Iterator[Callable[[], None]]:
    """Run code that may raise anything; gives a function that raises what a signal has raised.

    A handler that raises, as that of Ctrl-C does, raises inside whatever code runs. Call the
    function wherever that code's exceptions are caught, and at the end of the block: the code may
    have caught the signal's exception itself.
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
