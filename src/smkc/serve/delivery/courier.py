"""Courier: sends messages from the outbox to receivers of alerts, one thread for each.

In: the store and the current time. Out: requests, the delivery status of each receiver, and
sentences that describe current problems. Accepted messages are marked as sent, refused ones are
dropped, and the others are retried. Open alerts are sent to an Alertmanager repeatedly, since they
would expire there otherwise.
"""

import hashlib
import hmac
import json
import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from smkc.errors import SettingError
from smkc.serve.config import AlertmanagerConfig, Config, GrafanaConfig, WebhookConfig
from smkc.serve.delivery.annotating import annotate
from smkc.serve.delivery.posting import Answer, Receiver, ReceiverConfig, ReceiverStatus
from smkc.serve.delivery.silences import SilencedSpans, SilenceReader
from smkc.serve.incidents.messages import alertmanager_incident
from smkc.serve.messages import alertmanager_alert, instant
from smkc.serve.store import Message, Store, StoreError

# Milliseconds after which a message that could not be sent is dropped.
WORTH_SENDING = 86_400_000

# An open alert expires in Alertmanager after this many resend intervals, as with Prometheus.
HOLDS_FOR = 4

MESSAGES_READ = 64  # at a time
MOST_TOLD = 1_000

JSON = {"Content-Type": "application/json"}

POLL_S = 1.0

# Milliseconds for which a dropped message is reported as a problem.
TOLD_FOR = 86_400_000

log = logging.getLogger("smkc.serve.delivery")


class Courier:
    """Sends messages to one receiver, in order; ``rng`` randomizes the waits after failures."""

    def __init__(
        self,
        store: Store,
        config: Config,
        to: ReceiverConfig,
        rng: random.Random,
    ) -> None:
        self._store = store
        self._config = config
        self._to = to
        self.receiver = Receiver(to, rng)
        self._me = self.receiver.kind, self.receiver.name
        self._told_at: int | None = None
        self._unmarked: int | None = None  # id of a message accepted but not yet marked as sent

    def step(self, now: int) -> None:
        """Send the messages that are due, and repeat open alerts to an Alertmanager."""
        if self.receiver.must_wait(now):
            return
        self._mark()
        if self._empty(now) and isinstance(self._to, AlertmanagerConfig):
            self._tell(self._to, now)

    def n_waiting(self) -> int:
        """Return the number of messages waiting for this receiver; callable from any thread."""
        return self._store.n_waiting(self._me)

    # ------------------------------------------------------------------ the outbox

    def _empty(self, now: int) -> bool:
        """Send all messages that are due; return False if one must be retried later."""
        while messages := self._store.due(now, MESSAGES_READ, self._me):
            for message in messages:
                answer = self._send(message, now)
                if answer.status == "sent":
                    self._unmarked = message.id
                    self._mark()
                elif answer.status == "refused" or now - message.created > WORTH_SENDING:
                    self._store.settle(message.id)
                    self.receiver.drop(message.key, answer.said, now)
                else:
                    self._store.put_off(message.id, self.receiver.not_before)
                    return False
        return True

    def _mark(self) -> None:
        """Mark the accepted message as sent; no other message is sent before that succeeds."""
        if self._unmarked is not None:
            self._store.settle(self._unmarked)
            self._unmarked = None

    # ------------------------------------------------------------------ requests

    def _send(self, message: Message, now: int) -> Answer:
        if isinstance(self._to, AlertmanagerConfig):
            return self._post([_holding(message.content, self._to, now)], JSON, now)
        if isinstance(self._to, GrafanaConfig):
            return annotate(self.receiver, message.content, now)
        return self._post(message.content, JSON | {"Idempotency-Key": message.key}, now)

    def _tell(self, to: AlertmanagerConfig, now: int) -> None:
        """Send all that goes on again, if the resend interval has passed."""
        if self._told_at is not None and 0 <= now - self._told_at < to.resend:
            return
        alerts = [_holding(alert, to, now) for alert in self._going_on(to)]
        if not alerts or self._post(alerts, JSON, now).status != "later":
            self._told_at = now

    def _going_on(self, to: AlertmanagerConfig) -> list[dict[str, Any]]:
        """Return the open incidents or alerts, as configured, of watches that there still are."""
        watches = {watch.name for watch in self._config.watches}
        if self._config.notifies_incidents:
            return [
                alertmanager_incident(incident, alerts, to, self._config)
                for incident, alerts in self._store.incidents(open_only=True, limit=MOST_TOLD)
                if any(one.is_open and one.watch in watches for one in alerts)
            ]
        records = [one.record for one in self._store.alerts(open_only=True, limit=MOST_TOLD)]
        return [
            alertmanager_alert(record, to, self._config)
            for record in records
            if record.watch in watches and not record.is_muted
        ]

    def _post(self, content: Any, headers: dict[str, str], now: int) -> Answer:
        body = json.dumps(content, ensure_ascii=True, allow_nan=False).encode()
        try:
            signed = _signature(self._to, body, now)
        except SettingError as error:
            return self.receiver.note(Answer(status="later", said=str(error)), now)
        return self.receiver.post(body, headers | signed, now)


class Delivery:
    """Sends the messages of the outbox, in one thread per receiver.

    The silences of Alertmanagers are read in threads of their own. The store must stay open until
    :meth:`stop` has returned. ``now`` returns the time in milliseconds.
    """

    def __init__(self, store: Store, config: Config, now: Callable[[], int]) -> None:
        rng = random.Random()
        self._now = now
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self.workers = (
            *(Courier(store, config, to, rng) for to in config.alertmanagers),
            *(Courier(store, config, to, rng) for to in config.webhooks),
            *(Courier(store, config, to, rng) for to in config.grafanas),
        )
        silenced = SilencedSpans(store, config)
        self._readers = tuple(SilenceReader(silenced, to, rng) for to in silenced.managers)
        self._all: tuple[Courier | SilenceReader, ...] = (*self.workers, *self._readers)

    def start(self) -> None:
        """Start the threads."""
        for worker in self._all:
            name = f"smkc-{worker.receiver.kind}"
            thread = threading.Thread(target=self._run, args=(worker,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop sending; wait up to ``timeout_s`` seconds for requests in progress."""
        self._stopping.set()
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        for worker in self._all:
            worker.receiver.close()

    def status(self) -> tuple[ReceiverStatus, ...]:
        """Return the status of each receiver."""
        return tuple(worker.receiver.status(worker.n_waiting()) for worker in self.workers)

    def problems(self) -> list[str]:
        """Return sentences that describe current problems."""
        found = []
        now = self._now()
        for one in (worker.receiver.status() for worker in self.workers):
            who = f"{one.kind} {one.name}"
            if one.failing_since is not None:
                since = instant(one.failing_since)
                found.append(f"{who} since {since}: {one.last_error}; its messages wait")
            if one.dropped_at is not None and now - one.dropped_at < TOLD_FOR:
                latest = instant(one.dropped_at)
                found.append(
                    f"{who}: {one.given_up} messages dropped, the latest at {latest}; the log says "
                    "why"
                )
        for one in (reader.receiver.status() for reader in self._readers):
            if one.failing_since is not None:
                since = instant(one.failing_since)
                found.append(
                    f"{one.kind} {one.name} since {since}: {one.last_error}; its silences are not "
                    "known (silences = false does without them)"
                )
        return found

    def _run(self, worker: Courier | SilenceReader) -> None:
        was_failing = False
        while not self._stopping.is_set():
            try:
                worker.step(self._now())
                was_failing = False
            except StoreError as error:  # such as a full disk: retry until there is space
                if not was_failing:
                    log.error("delivery to %s waits: %s", worker.receiver.name, error)
                was_failing = True
            except Exception:  # keep the thread alive and retry later
                if not was_failing and not self._stopping.is_set():
                    log.exception("delivery to %s failed", worker.receiver.name)
                was_failing = True
            self._stopping.wait(POLL_S)


def _holding(alert: dict[str, Any], to: AlertmanagerConfig, now: int) -> dict[str, Any]:
    """Return an alert with ``endsAt``: if it is open, the time when it expires unless repeated."""
    return {"endsAt": instant(now + HOLDS_FOR * to.resend), **alert}


def _signature(to: ReceiverConfig, body: bytes, now: int) -> dict[str, str]:
    """Return headers with a timestamp in seconds and HMAC-SHA256 of ``timestamp.body``.

    The result is empty for receivers without a signing key.
    """
    key = to.signing_key() if isinstance(to, WebhookConfig) else None
    if key is None:
        return {}
    second = str(now // 1000)
    digest = hmac.new(key, f"{second}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Smkc-Timestamp": second, "X-Smkc-Signature": f"sha256={digest}"}
