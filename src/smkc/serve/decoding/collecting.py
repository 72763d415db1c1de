"""Collecting: names and readings one by one -> samples, within the limits of a request.

In: label sets and readings. Out: :class:`Samples`, each name once.
"""

from array import array
from collections.abc import Iterable

import numpy as np

from smkc.recording import identifier
from smkc.serve.config import Limits
from smkc.serve.decoding.unpacking import DecodeError
from smkc.serve.intake.samples import Samples

LONGEST_NAME = 16_384  # characters of an identifier with all its labels
MOST_LABELS = 256

METRIC_LABEL = "__name__"  # Prometheus' label for the metric itself


class Collector:
    """Collects the readings of one request."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._codes: dict[str, int] = {}
        self._letters = 0
        self._of, self._times, self._values = array("q"), array("q"), array("d")

    def code(self, name: str) -> int:
        """Return a variable's code; a new name counts towards the limits."""
        code = self._codes.get(name)
        if code is not None:
            return code
        self._letters += len(name)
        if len(name) > LONGEST_NAME:
            raise too_long(len(name), name)
        if self._letters > self._limits.decoded_bytes:
            raise DecodeError(
                f"the names in the body have more than {self._limits.decoded_bytes:,} letters "
                "together; send it in smaller parts, or raise decoded_bytes under [limits]",
                413,
            )
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DecodeError(f"name {name[:80]!a} has a lone surrogate; write UTF-8") from None
        code = self._codes[name] = len(self._codes)
        return code

    def add(self, code: int, time: int, value: float) -> None:
        """Add one reading of a variable, by its code, at a time in milliseconds since 1970."""
        if len(self._of) >= self._limits.samples_per_request:
            raise DecodeError(
                f"the body holds more than the {self._limits.samples_per_request:,} samples "
                "allowed; send it in smaller parts, or raise samples_per_request under [limits]",
                413,
            )
        try:
            self._times.append(time)
        except OverflowError:
            raise DecodeError(f"time {time} is not a time in milliseconds since 1970") from None
        self._values.append(value)
        self._of.append(code)

    def samples(self) -> Samples:
        """Return the collected readings."""
        return Samples(
            names=tuple(self._codes),
            codes=np.array(self._of, np.int64),
            times=np.array(self._times, np.int64),
            values=np.array(self._values, np.float64),
        )


def series_name(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the identifier of a Prometheus label set.

    A label without a value counts as absent, as it does for Prometheus.

    Examples
    --------
    >>> series_name([("__name__", "up"), ("job", "node"), ("zone", "")])
    'up{job="node"}'
    """
    labels: dict[str, str] = {}
    n_letters = 0
    for label, value in pairs:
        if label in labels or not label:
            what = f"names {label[:80]!r} twice" if label else "holds a label without a name"
            raise DecodeError(f"a label set {what}; name each label once")
        labels[label] = value
        n_letters += len(label) + len(value)
        if n_letters > LONGEST_NAME:
            raise too_long(n_letters, labels.get(METRIC_LABEL, ""))
    if len(labels) > MOST_LABELS:
        raise DecodeError(
            f"a series of {labels.get(METRIC_LABEL, '')[:80]!r} has {len(labels)} labels, more "
            f"than {MOST_LABELS}; drop some of them where it is sent"
        )
    metric = labels.pop(METRIC_LABEL, "")
    kept = {label: value for label, value in labels.items() if value}
    if not metric and not kept:
        raise DecodeError("a series has no labels; give it a name")
    return identifier(metric, kept)


def too_long(n_letters: int, start: str) -> DecodeError:
    """Return the error for a name that is too long."""
    return DecodeError(
        f"a name that starts with {start[:80]!a} has {n_letters:,} characters or more, and "
        f"{LONGEST_NAME:,} are allowed; drop its longest labels where it is sent"
    )
