"""Standing: how it goes with one receiver, and when it may be asked again.

In: one answer after another. Out: whether to wait, and a record for people and for metrics.
"""

import logging
import random
import threading
from dataclasses import dataclass

from smkc.serve.delivery.posting import Answer
from smkc.serve.view import IN_HEALTH

__all__ = ["FIRST_WAIT", "MAX_RETRY_MILLISECONDS", "ReceiverStatus", "Standing"]

# Milliseconds: the wait after a first failure, and the longest one.
FIRST_WAIT = 1_000
MAX_RETRY_MILLISECONDS = 300_000

_log = logging.getLogger("smkc.serve.delivery")


@dataclass(frozen=True, kw_only=True)
class ReceiverStatus:
    """How it goes with one receiver.

    Parameters
    ----------
    kind, name
        ``alertmanager`` or ``remote_write`` and its address, or ``webhook`` and its name.
    sent, failed
        requests that were taken, and that were not, since the start.
    waiting
        messages, or rows of scores, that have yet to be taken.
    given_up
        messages, or rows of scores, that were dropped since the start.
    dropped_at
        when the latest of those was dropped, in milliseconds; None if none was.
    failing_since
        milliseconds; None while it works.
    last_error
        in words; empty while it works.
    """

    kind: str
    name: str
    sent: int = 0
    failed: int = 0
    waiting: int = 0
    given_up: int = 0
    dropped_at: int | None = None
    failing_since: int | None = None
    last_error: str = ""


class Standing:
    """Counts what became of requests to one receiver; any thread may look.

    Parameters
    ----------
    kind, name
        of the receiver.
    rng
        spreads the waits, so that many services do not come back at one moment.
    """

    def __init__(self, kind: str, name: str, rng: random.Random) -> None:
        self.kind = kind
        self.name = name
        self._rng = rng
        self._lock = threading.Lock()
        self._sent = self._failed = self._given_up = self._in_a_row = 0
        self._dropped_at: int | None = None
        self._failing_since: int | None = None
        self._last_error = ""
        self._not_before = 0

    @property
    def not_before(self) -> int:
        """When the receiver may be asked again, in milliseconds."""
        return self._not_before

    def must_wait(self, now: int) -> bool:
        """Whether the receiver is to be left alone; a clock that went back ends the wait."""
        return self._not_before - MAX_RETRY_MILLISECONDS <= now < self._not_before

    def note(self, answer: Answer, now: int) -> Answer:
        """Remember how it went; after a failure, leave the receiver alone, twice as long a time."""
        with self._lock:
            if answer.status == "sent":
                self._sent += 1
                self._in_a_row, self._failing_since, self._last_error = 0, None, ""
                return answer
            self._failed += 1
            self._last_error = answer.said
            if answer.status == "refused":
                return answer
            if self._failing_since is None:
                self._failing_since = now
                who = self.kind, self.name
                _log.warning("%s %s: %s; it is tried again", *who, answer.said, extra=IN_HEALTH)
            wait = min(FIRST_WAIT * 2.0 ** min(self._in_a_row, 30), MAX_RETRY_MILLISECONDS)
            wait *= self._rng.uniform(0.5, 1.0)
            self._in_a_row += 1
            self._not_before = now + int(
                max(wait, min(1000 * answer.wait_s, MAX_RETRY_MILLISECONDS))
            )
            return answer

    def drop(self, what: str, count: int, reason: str, now: int) -> None:
        """Count messages or rows that will not be sent, and say so in the log."""
        with self._lock:
            self._given_up += count
            self._dropped_at = now
        _log.error("%s %s: %s dropped; %s", self.kind, self.name, what, reason)

    def status(self, waiting: int = 0) -> ReceiverStatus:
        """Return everything as it stands, with how much waits."""
        with self._lock:
            return ReceiverStatus(
                kind=self.kind,
                name=self.name,
                sent=self._sent,
                failed=self._failed,
                waiting=waiting,
                given_up=self._given_up,
                dropped_at=self._dropped_at,
                failing_since=self._failing_since,
                last_error=self._last_error,
            )
