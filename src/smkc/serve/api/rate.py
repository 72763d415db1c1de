"""Rate: how many requests per minute one client may send.

In: a client's name or address and the time. Out: how long it must wait, mostly not at all. A
bucket a client, refilled evenly (a leaky bucket as a meter); the clients seen last are remembered.
"""

from collections import OrderedDict

__all__ = ["Rate"]

# So many clients are remembered; one that is forgotten starts with a full bucket.
MOST_CLIENTS = 10_000


class Rate:
    """Counts the requests of each client.

    Parameters
    ----------
    a_minute
        requests that one client may send; as many may come at once.

    Examples
    --------
    >>> rate = Rate(60)
    >>> sum(rate.wait("a", 0.0) == 0 for _ in range(100))
    60
    >>> rate.wait("a", 0.5), rate.wait("a", 1.0), rate.wait("b", 1.0)
    (0.5, 0.0, 0.0)
    """

    def __init__(self, a_minute: int) -> None:
        self._size = float(a_minute)
        self._a_second = a_minute / 60.0
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """Count a request at a time in seconds; return 0 if it may go on, else how long to wait."""
        left, before = self._clients.pop(client, (self._size, now))
        left = min(self._size, left + max(0.0, now - before) * self._a_second)
        is_allowed = left >= 1.0
        self._clients[client] = (left - 1.0 if is_allowed else left, now)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if is_allowed else (1.0 - left) / self._a_second
