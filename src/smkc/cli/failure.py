"""Error handling of the command line: one message and one exit code per error.

In: the body of a command. Out: errors and warnings as messages on standard error.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import typer

from smkc import progress
from smkc.errors import SmkcError

WRONG_INPUT = 2
ALERTS_FOUND = 3
INTERRUPTED = 130  # 128 + SIGINT
BROKEN_PIPE = 141  # 128 + SIGPIPE, as for other programs in a pipe


@contextmanager
def explained_failures(quiet: bool = False) -> Iterator[None]:
    """Run the body of a command; print errors as messages and warnings as notes.

    ``quiet`` suppresses notes and progress, but not errors.
    """
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore" if quiet else "default")
        warnings.showwarning = _note
        if quiet:
            stack.enter_context(progress.quiet())
        try:
            yield
            sys.stdout.flush()
        except SmkcError as error:
            _say("Error", str(error))
            raise typer.Exit(WRONG_INPUT) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except (OSError, MemoryError) as error:
            _say("Error", _system_message(error))
            raise typer.Exit(WRONG_INPUT) from None


def _system_message(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "the memory does not suffice; read a part of the file, or use a coarser --step"
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}; check the path and its permissions"


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as a note; replaces ``warnings.showwarning``."""
    _say("Note", str(message))


def _say(kind: str, message: str) -> None:
    """Write one message to standard error, in colour on a terminal."""
    from smkc.recording.visible import visible

    colour = typer.colors.RED if kind == "Error" else typer.colors.YELLOW
    is_terminal = sys.stderr.isatty()
    label = typer.style(f"{kind}:", fg=colour, bold=True) if is_terminal else f"{kind}:"
    shown = "\n".join(map(visible, message.split("\n")))
    print(f"{label} {shown}", file=sys.stderr)
