"""Delivery: sends alerts to their receivers, and retries until they are accepted.

In: the store, with its outbox and its open alerts. Out: requests to Alertmanagers, webhooks and
Grafana; the results are recorded. The silences of Alertmanagers come in, as maintenance.

Messages are delivered at least once: a message is marked as sent after the receiver has accepted
it, so a process that dies in between sends it again, with the same key. A receiver that remembers
keys can discard the repetition. Messages about one alert keep their order. After a failure the
receiver is retried with growing waits. Each receiver has its own thread, so that it does not delay
the others.
"""

from smkc.serve.delivery.courier import Delivery
from smkc.serve.delivery.posting import ReceiverStatus

__all__ = ["Delivery", "ReceiverStatus"]
