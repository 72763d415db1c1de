"""A timeline of scheduled steps, and a log of what happened.

In: steps with their times. Out: steps carried out when they are due, and lines of log.jsonl.
"""

import heapq
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

__all__ = ["Action", "Timeline", "read_log"]

LOG = "log.jsonl"


@dataclass(frozen=True, kw_only=True)
class Action:
    """An action ``at`` seconds after the start; ``do`` names it, ``about`` holds its parameters."""

    at: float
    do: str
    about: dict[str, Any] = field(default_factory=dict)


class Timeline:
    """A queue of steps in order of time; a step may schedule later steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._line: list[tuple[float, int, Callable[[], object]]] = []
        self._number = count()

    def later(self, at: float, do: Callable[..., object], *words: object) -> None:
        """Schedule a step at a time in seconds since 1970."""
        step: Callable[[], object] = partial(do, *words)
        heapq.heappush(self._line, (at, next(self._number), step))

    def soon(self, seconds: float, do: Callable[..., object], *words: object) -> None:
        """Schedule a step a number of seconds from now."""
        self.later(time.time() + seconds, do, *words)

    def do_due(self) -> None:
        """Carry out the steps that are due."""
        while self._line and self._line[0][0] <= time.time():
            self.carry_out(heapq.heappop(self._line)[2])

    def carry_out(self, step: Callable[[], object]) -> None:
        """Do a step; log an OSError instead of raising it."""
        try:
            step()
        except OSError as error:
            self.log("failed", error=str(error))

    def log(self, what: str, **about: object) -> None:
        """Append an entry with the current time to the log."""
        with (self.folder / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"time": round(time.time(), 3), "what": what, **about}) + "\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of a recording's log."""
    text = (folder / LOG).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
