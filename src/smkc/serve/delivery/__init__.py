"""Delivery: sends alerts and scores to their receivers, and retries until they are accepted.

In: the store, with its outbox, its open alerts and its scores. Out: requests to Alertmanagers, to
webhooks and to a remote write receiver of scores; the results are recorded.

Messages are delivered at least once: a message is marked as sent after the receiver has accepted
it, so a process that dies in between sends it again, with the same key. A receiver that remembers
keys can discard the repetition. Messages about one alert keep their order. After a failure the
receiver is retried with growing waits. Each receiver has its own thread, so that it does not delay
the others.
"""

from smkc.serve.delivery.posting import ReceiverStatus
from smkc.serve.delivery.threads import Delivery

__all__ = ["Delivery", "ReceiverStatus"]
