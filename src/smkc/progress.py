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
    started, done = time.monotonic(), 0.0
    shown: Any = None

    def advance(amount: float, note: str = "") -> None:
        nonlocal done, shown
        done += amount
        if shown is None:
            if time.monotonic() - started < APPEARS_AFTER_SECONDS:
                return
            shown = _bar()
            shown.add_task(description, total=total)
            shown.start()
        text = f"{description}: {note}" if note else description
        shown.update(shown.task_ids[0], completed=done, description=text)

    try:
        yield advance
    finally:
        if shown is not None:
            shown.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True, force_terminal=True),
        transient=True,
    )
