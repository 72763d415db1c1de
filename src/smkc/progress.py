"""A progress bar for long work: it appears after a second, on terminals only.

In: a description and, if known, a total; or a line to write. Out: a function to call with the
amount done.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

APPEARS_AFTER_SECONDS = 1.0


class Advance(Protocol):
    """Function that advances a bar by an amount, and may set a note to show after its name."""

    def __call__(self, amount: float, note: str = "") -> None:
        """Advance the bar."""


_is_quiet: ContextVar[bool] = ContextVar("smkc_progress_is_quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Show no progress bar inside this block."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def _is_wanted() -> bool:
    if _is_quiet.get():
        return False
    asked = os.environ.get("SMKC_PROGRESS")
    return asked != "0" if asked is not None else sys.stderr.isatty()


def note(message: str) -> None:
    """Write a line to standard error where a bar would be shown, and in notebooks."""
    is_notebook = "ipykernel" in sys.modules and not _is_quiet.get()
    if _is_wanted() or is_notebook:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()


@contextmanager
def task(description: str, total: float | None = None) -> Iterator[Advance]:
    """Yield ``advance(amount, note)``; a bar appears once the work has lasted a second.

    The bar goes to standard error when that is a terminal. The environment variable
    ``SMKC_PROGRESS`` set to 1 forces it, set to 0 forbids it.

    Examples
    --------
    >>> with task("reading", total=3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not _is_wanted():
        yield lambda amount, note="": None
        return
    bar = _Bar(description, total)
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    """A progress bar of rich, built only once the work has lasted a second."""

    def __init__(self, description: str, total: float | None) -> None:
        self._description = description
        self._total = total
        self._done = 0.0
        self._started = time.monotonic()
        self._shown: Any = None

    def advance(self, amount: float, note: str = "") -> None:
        self._done += amount
        if self._shown is None:
            if time.monotonic() - self._started < APPEARS_AFTER_SECONDS:
                return
            self._open()
        text = f"{self._description}: {note}" if note else self._description
        self._shown.update(self._shown.task_ids[0], completed=self._done, description=text)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=True),
            transient=True,
        )
        self._shown.add_task(self._description, total=self._total)
        self._shown.start()

    def close(self) -> None:
        if self._shown is not None:
            self._shown.stop()
