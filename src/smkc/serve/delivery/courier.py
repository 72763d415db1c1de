"""Courier: carries messages from the outbox to one Alertmanager or webhook.

In: the store and the time. Out: requests; what arrived is marked, what was refused is given up, the
rest waits. An Alertmanager is told again and again of alerts that go on: else they expire there.
"""

import hashlib
import hmac
import json
import random
from typing import Any

from smkc.errors import SettingError
from smkc.serve.config import AlertmanagerConfig, Config, WebhookConfig
from smkc.serve.delivery.posting import Answer, Receiver
from smkc.serve.delivery.standing import Standing
from smkc.serve.messages import address, alertmanager_alert, instant, link_to
from smkc.serve.store import Message, Store

__all__ = ["HOLDS_FOR", "WORTH_SENDING", "Courier"]

# Milliseconds after which a message that still cannot be sent is of no use any more.
WORTH_SENDING = 86_400_000

# An open alert holds for so many times the pause after which it is told again, as with Prometheus.
HOLDS_FOR = 4

FEWEST_READ = 64
MOST_TOLD = 1_000

JSON = {"Content-Type": "application/json"}


class Courier:
    """Carries messages to one receiver, in order.

    Parameters
    ----------
    store
        whose outbox is emptied.
    config
        tells which watches there still are, and the address of our own pages.
    to
        the receiver.
    rng
        for the waits after failures.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        to: AlertmanagerConfig | WebhookConfig,
        rng: random.Random,
    ) -> None:
        self._store = store
        self._config = config
        self._to = to
        if isinstance(to, AlertmanagerConfig):
            self.standing = Standing("alertmanager", address(to.url), rng)
            self._receiver = Receiver(to, "/api/v2/alerts", answers_pages=False)
        else:
            self.standing = Standing("webhook", to.name, rng)
            self._receiver = Receiver(to)
        self._told_at: int | None = None
        self._unmarked: int | None = None  # a message that was taken, but could not be marked yet

    def step(self, now: int) -> None:
        """Send what is due, and tell an Alertmanager which alerts go on."""
        if self.standing.must_wait(now):
            return
        self._mark()
        if self._empty(now) and isinstance(self._to, AlertmanagerConfig):
            self._tell(self._to, now)

    def n_waiting(self) -> int:
        """Return how many messages this receiver has yet to take; any thread may ask."""
        return self._store.n_waiting((self.standing.kind, self.standing.name))

    def close(self) -> None:
        """Give up the connections."""
        self._receiver.close()

    # ------------------------------------------------------------------ the outbox

    def _empty(self, now: int) -> bool:
        """Send message after message; return whether none that is due is left."""
        while messages := self._due(now):
            for message in messages:
                answer = self._send(message, now)
                if answer.status == "sent":
                    self._unmarked = message.id
                    self._mark()
                elif answer.status == "refused" or now - message.created > WORTH_SENDING:
                    self._store.give_up(message.id)
                    self.standing.drop(f"message {message.key}", 1, answer.said, now)
                else:
                    self._store.failed(message.id, now, answer.said, self.standing.not_before)
                    return False
        return True

    def _due(self, now: int) -> list[Message]:
        """Return this receiver's messages; those of others may fill the beginning of the outbox."""
        limit = FEWEST_READ
        while True:
            found = self._store.due(now, limit)
            mine = (self.standing.kind, self.standing.name)
            own = [message for message in found if (message.kind, message.to) == mine]
            if own or len(found) < limit:
                return own
            limit *= 4

    def _mark(self) -> None:
        """Mark a message as sent; nothing else is sent before that is done."""
        if self._unmarked is not None:
            self._store.sent(self._unmarked)
            self._unmarked = None

    # ------------------------------------------------------------------ requests

    def _send(self, message: Message, now: int) -> Answer:
        if isinstance(self._to, AlertmanagerConfig):
            return self._post([_holding(message.content, self._to, now)], JSON, now)
        return self._post(message.content, JSON | {"Idempotency-Key": message.key}, now)

    def _tell(self, to: AlertmanagerConfig, now: int) -> None:
        """Tell which alerts go on, if it is time."""
        if self._told_at is not None and 0 <= now - self._told_at < to.resend:
            return
        watches = {watch.name for watch in self._config.watches}
        records = [one.record for one in self._store.alerts(open_only=True, limit=MOST_TOLD)]
        going_on = [
            alertmanager_alert(record, to, link_to(record, self._config.public_url))
            for record in records
            if record.watch in watches
        ]
        alerts = [_holding(alert, to, now) for alert in going_on]
        if not alerts or self._post(alerts, JSON, now).status != "later":
            self._told_at = now

    def _post(self, content: Any, headers: dict[str, str], now: int) -> Answer:
        body = json.dumps(content, ensure_ascii=True, allow_nan=False).encode()
        try:
            signed = _signature(self._to, body, now)
        except SettingError as error:
            answer = Answer(status="later", said=str(error))
        else:
            answer = self._receiver.post(body, headers | signed)
        return self.standing.note(answer, now)


def _holding(alert: dict[str, Any], to: AlertmanagerConfig, now: int) -> dict[str, Any]:
    """Say until when an alert that goes on holds, should nothing more be heard of it."""
    return {"endsAt": instant(now + HOLDS_FOR * to.resend), **alert}


def _signature(to: AlertmanagerConfig | WebhookConfig, body: bytes, now: int) -> dict[str, str]:
    """Return headers that prove who sent a body and when: HMAC-SHA256 of ``second.body``."""
    key = to.signing_key() if isinstance(to, WebhookConfig) else None
    if key is None:
        return {}
    second = str(now // 1000)
    digest = hmac.new(key, f"{second}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Smkc-Timestamp": second, "X-Smkc-Signature": f"sha256={digest}"}
