"""Delivery: what must be told to the outside is sent, until it has arrived.

In: the store, with its outbox, its open alerts and its scores. Out: requests to Alertmanagers, to
webhooks and to whoever takes scores by remote write; what became of them is noted.

A message is marked as sent after it was taken, so a process that dies between the two sends it once
more, with the same key: at least once, and whoever keeps the keys sees each message once. Messages
about one alert keep their order. A server that fails is left alone for a while, longer each time,
and does not hold up the others: each has a thread of its own.
"""

from smkc.serve.delivery.standing import ReceiverStatus
from smkc.serve.delivery.threads import Delivery

__all__ = ["Delivery", "ReceiverStatus"]
