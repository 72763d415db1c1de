"""``smkc bench``: gone from the package; the command says what to run instead.

In: anything. Out: one message and the exit code of wrong input.
"""

from typing import Annotated

import typer

from smkc.cli.failure import explained_failures
from smkc.errors import SettingError

__all__ = ["bench"]


def bench(words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
    """Say where the benchmarks are: they are not part of the package."""
    with explained_failures():
        raise SettingError(
            "smkc bench has left the package; run python -m benchmarks in a checkout of the "
            "project, or smkc plan for what a workload costs"
        )
