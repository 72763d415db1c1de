"""Live: a bounded buffer of the latest updates, which readers poll.

In: verdicts and alerts as they are committed, from any thread. Out: the same as numbered updates,
for any number of readers. Memory is bounded; a slow reader misses the oldest updates.
"""

import threading
from collections import deque
from dataclasses import dataclass
from itertools import takewhile

from smkc.serve.rows import AlertRecord, Verdict

# Number of updates kept for slow readers.
MAX_UPDATES_KEPT = 2_000


@dataclass(frozen=True, kw_only=True)
class Update:
    """A new verdict, or an alert that opened, changed or closed.

    The first update since the service started has the number 1. The kind is "row" with a verdict,
    "alert" with an alert, or "status" with neither: the status changed.
    """

    number: int
    kind: str
    watch: str
    entity: str
    verdict: Verdict | None = None
    alert: AlertRecord | None = None


class LiveUpdates:
    """Updates since the service started; ``number`` is that of the latest, 0 before the first.

    Examples
    --------
    >>> live = LiveUpdates()
    >>> live.tell("status", "shop", "")
    >>> [update.kind for update in live.after(0)], live.after(1)
    (['status'], [])
    """

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._latest: deque[Update] = deque(maxlen=MAX_UPDATES_KEPT)
        self.number = 0

    def tell(
        self,
        kind: str,
        watch: str,
        entity: str,
        verdict: Verdict | None = None,
        alert: AlertRecord | None = None,
    ) -> None:
        """Add an update."""
        with self._changing:
            self.number += 1
            self._latest.append(
                Update(
                    number=self.number,
                    kind=kind,
                    watch=watch,
                    entity=entity,
                    verdict=verdict,
                    alert=alert,
                )
            )

    def after(self, number: int) -> list[Update]:
        """Return the kept updates with higher numbers; a slow reader misses the oldest."""
        with self._changing:
            newest = takewhile(lambda update: update.number > number, reversed(self._latest))
            return list(newest)[::-1]
