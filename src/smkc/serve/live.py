"""Live: the latest updates, for whoever waits for the next one.

In: verdicts and alerts as they are committed, from any thread. Out: the same, numbered, to any
number of readers; who is slow misses some, and memory stays bounded.
"""

import threading
from collections import deque
from collections.abc import Sequence
from itertools import takewhile

from smkc.serve.rows import AlertRecord, Verdict
from smkc.serve.view import Update

__all__ = ["LiveUpdates"]

# So many updates are kept for readers that are slow.
MAX_UPDATES_KEPT = 2_000


class LiveUpdates:
    """Updates of one run of the service.

    Examples
    --------
    >>> live = LiveUpdates()
    >>> live.tell("status", "shop", "")
    >>> [update.kind for update in live.wait(0, seconds=1.0)], live.wait(1, seconds=0.0)
    (['status'], [])
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._latest: deque[Update] = deque(maxlen=MAX_UPDATES_KEPT)
        self._number = 0

    @property
    def number(self) -> int:
        """Number of the latest update; 0 before the first."""
        return self._number

    def tell(
        self,
        kind: str,
        watch: str,
        entity: str,
        verdict: Verdict | None = None,
        alert: AlertRecord | None = None,
    ) -> None:
        """Add an update and wake all who wait."""
        with self._changed:
            self._number += 1
            self._latest.append(
                Update(
                    number=self._number,
                    kind=kind,
                    watch=watch,
                    entity=entity,
                    verdict=verdict,
                    alert=alert,
                )
            )
            self._changed.notify_all()

    def wait(self, after: int, seconds: float) -> Sequence[Update]:
        """Return updates with a number above ``after``, waiting so long for the first."""
        with self._changed:
            self._changed.wait_for(lambda: self._number > after, timeout=seconds)
            newest = takewhile(lambda update: update.number > after, reversed(self._latest))
            return list(newest)[::-1]
