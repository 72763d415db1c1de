"""Silences: those of Alertmanagers, each as maintenance of the lanes whose alerts it covers.

In: Alertmanagers, and the labels of alerts. Out: marked spans in the store, which end when their
silences do. An Alertmanager that does not answer changes no span.

The API: https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
"""

import json
import logging
import random
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

import pyarrow as pa
from pyarrow import compute

from smkc.serve.config import AlertmanagerConfig, Config, WatchConfig
from smkc.serve.delivery.posting import Answer, Receiver
from smkc.serve.messages import ALERT_NAME
from smkc.serve.rows import LATEST_TIME, MarkedSpan
from smkc.serve.store import Store

PATH = "/api/v2/silences"
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}

POLL_MILLISECONDS = 15_000

# Bytes read of an answer: some 40,000 silences; Alertmanager keeps expired ones for five days.
MAX_ANSWER_BYTES = 16 * 2**20

# Who marked the spans, and how their notes begin: a user's token may have the same name.
ALERTMANAGER = "Alertmanager"
NOTE_START = "silence "
MAX_NOTE_CHARACTERS = 2_000

# What reading raises if an answer is not a list of silences.
NO_SILENCES = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)

SEVERITIES = ("warning", "critical")

log = logging.getLogger("smkc.serve.delivery")

# Watch, entity and start of a span.
_Key = tuple[str, str | None, int]


@dataclass(frozen=True, kw_only=True)
class Matcher:
    """A condition of a silence on the value of a label, which is empty if it is missing."""

    name: str
    value: str
    is_regex: bool = False
    is_equal: bool = True

    def fits(self, text: str) -> bool:
        """Return whether a value meets the condition.

        Examples
        --------
        >>> matcher = Matcher(name="watch", value="shop|cart", is_regex=True)
        >>> matcher.fits("cart"), matcher.fits("cart-2")
        (True, False)
        """
        found = _matches(self.value, text) if self.is_regex else self.value == text
        return found is not None and found == self.is_equal


@dataclass(frozen=True, kw_only=True)
class Silence:
    """A silence that has begun; times are in milliseconds."""

    start: int
    end: int
    matchers: tuple[Matcher, ...]
    note: str = ""


def read_silences(body: str) -> list[Silence]:
    """Return the silences of an answer that have begun, expired ones included.

    Raises one of :data:`NO_SILENCES` if the answer is not a list of silences.
    """
    found = []
    for one in json.loads(body):
        start, end = _milliseconds(one["startsAt"]), _milliseconds(one["endsAt"])
        if one["status"]["state"] == "pending" or end <= start:  # cancelled ones end at their start
            continue
        matchers = tuple(
            Matcher(
                name=str(part["name"]),
                value=str(part["value"]),
                is_regex=bool(part["isRegex"]),
                is_equal=bool(part.get("isEqual", True)),  # versions before 0.22 do not send it
            )
            for part in one["matchers"]
        )
        note = f"{NOTE_START}{one['id']} by {one['createdBy']}: {one['comment']}"
        note = note[:MAX_NOTE_CHARACTERS]
        found.append(Silence(start=start, end=end, matchers=matchers, note=note))
    return found


def covered_entities(
    silence: Silence, watch: WatchConfig, entities: Sequence[str], manager: AlertmanagerConfig
) -> list[str | None]:
    """Return the entities of a watch whose alerts a silence covers; None is the whole watch.

    A silence covers a lane if it matches every alert of it, whatever its severity and causes: a
    silence on a label of the first cause concerns only some alerts.

    Examples
    --------
    >>> watch = WatchConfig(name="shop", source="push", entity="team")
    >>> manager = AlertmanagerConfig(url="http://localhost:9093")
    >>> matchers = (Matcher(name="entity", value="web-.*", is_regex=True),)
    >>> silence = Silence(start=0, end=1, matchers=matchers)
    >>> covered_entities(silence, watch, ["web-1", "db"], manager)
    ['web-1']
    """
    known = {"alertname": (ALERT_NAME,), "watch": (watch.name,), "severity": SEVERITIES}
    known |= {name: (value,) for name, value in manager.labels.items()}
    is_split = bool(watch.entity) and "entity" not in known
    varying = {"incident", *manager.cause_labels} - {"entity", *known}
    of_entities = []
    for matcher in silence.matchers:
        if matcher.name in varying:
            return []
        if matcher.name == "entity" and is_split:
            of_entities.append(matcher)
        elif not all(matcher.fits(value) for value in known.get(matcher.name, ("",))):
            return []
    if not of_entities:
        return [None]
    return [one for one in entities if all(part.fits(_as_sent(one)) for part in of_entities)]


class SilencedSpans:
    """The maintenance spans of the silences of all Alertmanagers; thread-safe.

    Alertmanagers of a cluster have the same silences: spans with the same lane and start are one,
    which ends with the latest.
    """

    def __init__(self, store: Store, config: Config) -> None:
        self._store, self._watches = store, config.watches
        self.managers = tuple(one for one in config.alertmanagers if one.silences)
        self._silences: dict[str, Sequence[Silence]] = {}
        self._lock = threading.Lock()

    def take(self, manager: AlertmanagerConfig, silences: Sequence[Silence], now: int) -> None:
        """Replace the silences of an Alertmanager, and bring the stored spans up to date.

        A span whose silence is gone ends now, unless an Alertmanager has not been read yet.
        """
        with self._lock:
            self._silences[manager.url] = silences
            self._update(self._wanted(), now, is_complete=len(self._silences) == len(self.managers))

    def _wanted(self) -> dict[_Key, MarkedSpan]:
        entities = defaultdict(list)
        for lane in self._store.lanes():
            entities[lane.watch].append(lane.entity)
        found: dict[_Key, MarkedSpan] = {}
        for manager in self.managers:
            for silence in self._silences.get(manager.url, ()):
                for watch in self._watches:
                    for entity in covered_entities(silence, watch, entities[watch.name], manager):
                        span = MarkedSpan(
                            watch=watch.name,
                            kind="maintenance",
                            start=silence.start,
                            end=silence.end,
                            entity=entity,
                            who=ALERTMANAGER,
                            note=silence.note,
                        )
                        known = found.setdefault(_key(span), span)
                        if known.end is not None and silence.end > known.end:
                            found[_key(span)] = span
        return found

    def _update(self, wanted: dict[_Key, MarkedSpan], now: int, *, is_complete: bool) -> None:
        spans = self._store.spans
        since = min([now, *(span.start for span in wanted.values())])
        for watch in self._watches:
            for span in spans.find(watch.name, since, LATEST_TIME, kinds=("maintenance",)):
                if span.who != ALERTMANAGER or not span.note.startswith(NOTE_START):
                    continue
                new = wanted.pop(_key(span), None)
                if new is not None:
                    if (new.end, new.note) != (span.end, span.note):
                        spans.change(span.id, new.end, new.note)
                elif is_complete and (span.end is None or span.end > now):
                    spans.end(span.id, max(now, span.start))
        for span in wanted.values():
            spans.add(span)


class SilenceReader:
    """Reads the silences of one Alertmanager at intervals, and later after a failure."""

    def __init__(
        self, spans: SilencedSpans, manager: AlertmanagerConfig, rng: random.Random
    ) -> None:
        self._spans, self._manager = spans, manager
        self.receiver = Receiver(manager, rng, path=PATH, max_answer_bytes=MAX_ANSWER_BYTES)
        self._asked_at: int | None = None

    def step(self, now: int) -> None:
        """Read the silences if that is due."""
        if self.receiver.must_wait(now):
            return
        if self._asked_at is not None and 0 <= now - self._asked_at < POLL_MILLISECONDS:
            return
        self._asked_at = now
        answer = self.receiver.ask(b"", HEADERS, method="GET")
        silences: list[Silence] = []
        if answer.status == "sent":
            try:
                silences = read_silences(answer.body)
            except NO_SILENCES:
                said = (
                    f"answered with something other than {MAX_ANSWER_BYTES >> 20} MiB of silences "
                    "at most; correct the address, or set silences = false"
                )
                answer = Answer(status="later", said=said)
        elif answer.status == "refused":
            answer = replace(answer, status="later")
        if self.receiver.note(answer, now).status == "sent":
            self._spans.take(self._manager, silences, now)


def _key(span: MarkedSpan) -> _Key:
    return span.watch, span.entity, span.start


@lru_cache(maxsize=1 << 16)
def _matches(pattern: str, text: str) -> bool | None:
    """Return whether a regular expression matches a whole text; None if it is not valid.

    Like Alertmanager, Arrow uses RE2, whose running time is linear in the length of the text.
    """
    try:
        found = compute.match_substring_regex(pa.scalar(text), f"^(?:{pattern})$")
    except ValueError as error:  # of Arrow, or because of lone surrogates
        log.warning("a silence with %.200r is not applied: %s", pattern, error)
        return None
    return bool(found.as_py())


def _as_sent(text: str) -> str:
    """Return a text as Alertmanager gets it, with U+FFFD for lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _milliseconds(text: str) -> int:
    """Return a timestamp in milliseconds, within the range of times that can be stored."""
    moment = datetime.fromisoformat(text)
    return min(max(round(1000 * moment.timestamp()), 0), LATEST_TIME)
