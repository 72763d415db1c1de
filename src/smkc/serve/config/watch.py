"""Watch: the settings of one watch.

In: settings by name. Out: a frozen dataclass with validated values.
"""

import copy
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smkc.errors import SettingError
from smkc.recording import Identity
from smkc.serve.config.durations import show_duration
from smkc.serve.config.maintenance import MaintenanceConfig

SOURCES = ("prometheus", "push")
COUNTERS = ("auto", "none")
NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")

HOUR = 3_600_000  # milliseconds
USUAL_STEP = 15_000

# A history that is not configured is as long as it can be fetched and learned from in about a
# minute, within these limits: nights and days are then known from the start.
LEAST_HISTORY, MOST_HISTORY = 6 * HOUR, 7 * 24 * HOUR
MOST_ROWS, MOST_VALUES = 20_000, 10_000_000

# Settings whose defaults are derived: from the scrape interval, the step, or the number of series.
DERIVED = ("step", "lateness", "history")

SHORTEST_STEP = 100  # milliseconds; judging a row takes a few milliseconds
MOST_SERIES = 1_000_000
MOST_LOUDEST = 16  # number of variables remembered per row

# Settings of the detector -> settings of the watch that replace them.
OWN_WORDS = {
    "identity": "families",
    "counters": "counters",
    "false_alarm_rate": "false_alarms_per_day",
}


@dataclass(frozen=True, kw_only=True)
class WatchConfig:
    """Settings of one watch; durations are in milliseconds.

    Parameters
    ----------
    name
        1 to 64 letters, digits, dots, dashes or underscores.
    source
        ``prometheus`` queries samples, ``push`` receives samples that clients send.
    query
        PromQL that selects the series; only for ``prometheus``.
    match
        label -> regular expression that must match the whole value, with ``__name__`` for the
        metric; the watch ignores samples that do not match. Only for ``push``.
    entity
        label that splits the watch into lanes, one per value, each judged independently; empty for
        a single lane.
    drop_labels
        labels to remove from the names of variables.
    families
        rule that determines which variables measure the same thing.
    counters
        ``auto`` converts counters to rates; ``none`` does not.
    step
        time between rows; by default the scrape interval, if Prometheus shows it, else 15 s.
    history
        span of past rows to fetch and learn from at the start; by default up to a week, as far as
        these are at most 20,000 rows and 10 million values, but at least 6 hours and
        2 * ``min_rows`` steps. What was not there yet is learned from when it is.
    min_rows
        number of rows required before the first fit.
    lateness
        time after the end of a row at which it is queried or, for ``push``, closed; by default one
        step.
    max_series
        maximum number of variables per row of a lane; further ones are left out and counted.
    max_lanes
        maximum number of lanes; samples of further entities are left out and counted.
    false_alarms_per_day
        approximate number of alerts per day that normal rows of a lane may raise. With the step it
        determines the p-value that opens an alert: see
        :func:`smkc.serve.lane.alerting.alert_rate`.
    refit_every
        time between refits of a lane's model; 0 for never.
    loudest
        number of most unusual variables to show, whether or not there is an alert.
    self_test
        whether each model is tested with planted anomalies, in a separate process.
    detector
        further settings of :class:`smkc.Detector`, by name.
    maintenance
        times at which alerts that begin are not sent, and from which nothing is learned; also marks
        of deploys.

    Examples
    --------
    >>> watch = WatchConfig(name="shop", query='{namespace="shop"}', step=30_000)
    >>> watch.lateness, watch.history, watch.has_own_step
    (30000, 21600000, True)
    """

    name: str
    source: str = "prometheus"
    query: str = ""
    match: Mapping[str, str] = field(default_factory=dict)
    entity: str = ""
    drop_labels: tuple[str, ...] = ()
    families: Identity = field(default_factory=Identity)
    counters: str = "auto"
    step: int = -1
    history: int = -1
    min_rows: int = 240
    lateness: int = -1
    max_series: int = 20_000
    max_lanes: int = 200
    false_alarms_per_day: float = 1.0
    refit_every: int = 0
    loudest: int = 5
    self_test: bool = True
    detector: Mapping[str, Any] = field(default_factory=dict)
    maintenance: tuple[MaintenanceConfig, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise SettingError(
                f"name={self.name!r}: a watch's name has 1 to 64 letters, digits, dots, dashes "
                "or underscores, such as 'shop'"
            )
        left_out = tuple(key for key in DERIVED if getattr(self, key) == -1)
        self.__dict__["_left_out"] = left_out  # not a field, since it is not a setting
        if "step" in left_out:
            self.__dict__["step"] = USUAL_STEP
        self._check_numbers()
        self._derive()
        self._check_source()
        self._check_labels()
        self._check_durations()
        if self.detector:
            _check_detector(self.detector)

    @property
    def has_own_step(self) -> bool:
        """Whether the step was configured rather than detected."""
        return "step" not in self.__dict__["_left_out"]

    @property
    def has_own_history(self) -> bool:
        """Whether the history was configured rather than derived."""
        return "history" not in self.__dict__["_left_out"]

    def with_found(self, step: int, n_series: int, kept: int = MOST_HISTORY) -> "WatchConfig":
        """Return the watch with a detected step, and with the defaults that depend on it.

        The history is derived from the number of series. It is not longer than rows are ``kept``.

        Examples
        --------
        >>> found = WatchConfig(name="shop", query="up").with_found(60_000, n_series=500)
        >>> found.step, found.lateness, found.history // 3_600_000, found.has_own_step
        (60000, 60000, 168, False)
        """
        found = copy.copy(self)
        found.__dict__["step"] = step
        found._derive(n_series, kept)
        return found

    def _derive(self, n_series: int = 0, kept: int = 0) -> None:
        """Set defaults that depend on the step and on the number of series, 0 if not known."""
        if "lateness" in self.__dict__["_left_out"]:
            self.__dict__["lateness"] = self.step
        if not self.has_own_history:
            n_rows = min(MOST_ROWS, MOST_VALUES // n_series) if n_series else 0
            longest = min(n_rows * self.step // HOUR * HOUR, MOST_HISTORY, kept)
            least = max(LEAST_HISTORY, 2 * self.min_rows * self.step)
            self.__dict__["history"] = max(least, longest)

    # ------------------------------------------------------------------ checks

    def _check_source(self) -> None:
        _check_choice("source", self.source, SOURCES)
        _check_choice("counters", self.counters, COUNTERS)
        if self.source == "push" and self.query:
            raise SettingError(
                f"query={self.query!r}: a watch that is pushed to asks nothing; leave the query "
                "out and choose its samples with match, or set source = 'prometheus'"
            )
        if self.source == "prometheus" and not self.query.strip():
            raise SettingError(
                f"query={self.query!r}: say in PromQL which series to follow, such as "
                "'{namespace=\"shop\"}'"
            )
        if self.source == "prometheus" and self.match:
            raise SettingError(
                f"match={dict(self.match)!r} is for source = 'push'; choose series by the query"
            )

    def _check_labels(self) -> None:
        for label, pattern in self.match.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise SettingError(
                    f"match: {label} = {pattern!r} is not a regular expression ({error}); fix it"
                ) from None
        if self.entity and self.entity in self.drop_labels:
            raise SettingError(
                f"drop_labels holds {self.entity!r}, which is the entity; take it out: the "
                "entity's label is not part of the names anyway"
            )
        if not self.entity and any(one.entity for one in self.maintenance):
            raise SettingError(
                "maintenance names an entity, but the watch is not split; set entity to a label, "
                "or leave it out there"
            )
        if "__name__" in (self.entity, *self.drop_labels):
            raise SettingError(
                "__name__ is the metric itself, and can neither be the entity nor be dropped; "
                "choose a label, such as 'namespace'"
            )

    def _check_numbers(self) -> None:
        _check_whole("step", self.step, SHORTEST_STEP, 86_400_000)
        _check_whole("min_rows", self.min_rows, 2, 1_000_000)
        _check_whole("lateness", self.lateness, -1, 86_400_000)
        _check_whole("history", self.history, -1)
        _check_whole("max_series", self.max_series, 1, MOST_SERIES)
        _check_whole("max_lanes", self.max_lanes, 1, 100_000)
        _check_whole("refit_every", self.refit_every, 0)
        _check_whole("loudest", self.loudest, 0, MOST_LOUDEST)
        alarms = self.false_alarms_per_day
        if not isinstance(alarms, int | float) or isinstance(alarms, bool):
            raise SettingError(f"false_alarms_per_day={alarms!r}: give a number, such as 1.0")
        if not 0 < alarms < math.inf:
            raise SettingError(
                f"false_alarms_per_day={alarms!r}: give a number above 0, such as 1.0"
            )

    def _check_durations(self) -> None:
        is_known = self.has_own_step or self.source == "push"
        if is_known and self.history < self.min_rows * self.step:
            needed = show_duration(self.min_rows * self.step)
            raise SettingError(
                f"history={show_duration(self.history)!r} holds fewer than "
                f"min_rows={self.min_rows} steps of {show_duration(self.step)}; make it "
                f"{needed} or longer"
            )
        if 0 < self.refit_every < self.step:
            raise SettingError(
                f"refit_every={show_duration(self.refit_every)!r} is shorter than the step; "
                "write '7d', say, or 0 for never"
            )


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingError(f"{name}={value!r}: choose {' or '.join(map(repr, known))}")


def _check_whole(name: str, value: object, least: int, most: int = 2**53) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise SettingError(f"{name}={value!r}: give a whole number from {least} to {most:,}")


def _check_detector(given: Mapping[str, Any]) -> None:
    from smkc.loading import make_detector

    for key, own in OWN_WORDS.items():
        if key in given:
            raise SettingError(f"detector: {key} is set by {own} of the watch; take it out here")
    if given.get("detector", "evidence") != "evidence":
        raise SettingError(
            f"detector: detector={given['detector']!r} does not follow what is normal; a watch "
            "uses 'evidence', so leave this out"
        )
    try:
        make_detector(given)._empty()
    except SettingError as error:
        raise SettingError(f"detector: {error}") from None
