"""Rate: a limit on the requests per minute of each client.

In: a client's name or address and the time. Out: the seconds that it must wait, 0 if it need not.
Each client has a token bucket that refills at a constant rate; only the clients seen most recently
are remembered.
"""

from collections import OrderedDict

# Maximum number of clients remembered; a forgotten one starts with a full bucket.
MOST_CLIENTS = 10_000


class Rate:
    """Rate limiter for all clients, with bursts of up to a minute's requests.

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
        """Count a request at time ``now`` in seconds; return the seconds to wait, 0 if allowed."""
        left, before = self._clients.pop(client, (self._size, now))
        left = min(self._size, left + max(0.0, now - before) * self._a_second)
        is_allowed = left >= 1.0
        self._clients[client] = (left - 1.0 if is_allowed else left, now)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if is_allowed else (1.0 - left) / self._a_second
