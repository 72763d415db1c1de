"""Matrix: Prometheus' answer to a range query, read while it arrives.

In: pieces of the JSON body. Out: samples, collected one by one; only what was not yet understood
is held as text.

The usual compact form is cut by searching for its marks: a quotation mark inside
of a JSON text is always escaped, so ``,"values":[[`` can stand nowhere but at a series' values.
What is written otherwise goes through the JSON parser, one series at a time.
"""

import json
import re
from collections.abc import MutableMapping

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.recording import identifier
from smkc.serve.prometheus.collected import Collected
from smkc.serve.prometheus.sample_texts import numbers_of_pairs, numbers_of_texts

__all__ = ["CutShortError", "ForeignError", "MatrixReader", "TooLongError"]

PIECE = 4 * 2**20  # bytes that are gathered before they are looked at
BATCH = 8 * 2**20  # bytes of numbers that Arrow is given at once
LONGEST_HEAD = 64 * 2**10  # bytes before the first series
LATEST = 1e11  # seconds: no time of day is further from 1970
NAMELESS = "value"  # the metric of what a query has computed

RESULT = re.compile(rb'"result"\s*:\s*\[')
SERIES, VALUES, END = b'{"metric":', b',"values":[[', b'"]]'
BLANK = " \t\r\n"


class CutShortError(InputError):
    """The answer ended before it was whole, or was damaged on its way."""


class ForeignError(InputError):
    """The answer is not one that Prometheus gives to a range query."""


class TooLongError(InputError):
    """The answer is longer than was allowed."""


class MatrixReader:
    """Reads one answer.

    Parameters
    ----------
    collected
        takes the samples, also those of an answer that then turns out not to be whole.
    known
        a series' labels as they stand in the answer -> name, so that they are read once.
    most_bytes, most_samples
        that the answer may have.

    Attributes
    ----------
    n_samples, n_infinite, n_histograms
        readings so far; infinite ones that were left out; native histograms that were passed over.
    infinite_name
        the variable of an infinite one; empty if there was none.
    warnings
        what the server had to say, once the answer is whole.
    """

    def __init__(
        self,
        collected: Collected,
        known: MutableMapping[bytes, str],
        *,
        most_bytes: int,
        most_samples: int,
    ) -> None:
        self._collected, self._known = collected, known
        self._most_bytes, self._most_samples = most_bytes, most_samples
        self.n_samples = self.n_infinite = self.n_histograms = 0
        self.infinite_name = ""
        self.warnings: tuple[str, ...] = ()
        self._pieces: list[bytes] = []
        self._n_gathered = self._n_left = self._n_bytes = 0
        self._head: bytes | None = None  # all before the first series
        self._tail: bytes | None = None  # all from the bracket that ends the list of series
        self._is_first = True
        self._texts: list[bytes] = []  # numbers of series that Arrow was not given yet
        self._text_codes: list[int] = []
        self._n_text = 0

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body."""
        self._n_bytes += len(piece)
        if self._n_bytes > self._most_bytes:
            raise TooLongError(f"the answer is longer than {self._most_bytes:,} bytes")
        self._pieces.append(piece)
        self._n_gathered += len(piece)
        if self._n_gathered >= max(PIECE, self._n_left):  # so that a long rest is not read often
            self._read(is_all=False)

    def close(self) -> None:
        """Say that the body has ended, and that it was whole."""
        self._read(is_all=True)
        self._convert()
        if self._head is None or self._tail is None:
            raise self._unfinished()
        try:
            envelope = json.loads(self._head + self._tail)
        except (ValueError, RecursionError):
            raise CutShortError("the answer ends early, or is damaged") from None
        data = envelope.get("data") if isinstance(envelope, dict) else None
        kind = data.get("resultType") if isinstance(data, dict) else None
        if not isinstance(data, dict) or kind != "matrix" or envelope.get("status") != "success":
            raise ForeignError(f"the answer holds a {kind!r}, not a 'matrix'")
        warnings = envelope.get("warnings") or []
        if envelope.get("isPartial"):
            warnings = [*warnings, "the answer is partial"]
        self.warnings = tuple(map(str, warnings))

    # ------------------------------------------------------------------ text

    def _read(self, *, is_all: bool) -> None:
        text = b"".join(self._pieces)
        at = 0
        if self._head is None:
            found = RESULT.search(text, 0, LONGEST_HEAD)
            if found is None and len(text) > LONGEST_HEAD:
                raise ForeignError("the answer has no list called result")
            if found is not None:
                at = found.end()
                self._head = text[:at]
        if self._head is not None and self._tail is None:
            at = self._take_compact(text, at)
            if self._tail is None:
                text, at = self._take_any(text[at:], is_all=is_all)
        rest = text[at:]
        if self._tail is not None:
            self._tail += rest
            rest = b""
        self._pieces, self._n_left, self._n_gathered = [rest], len(rest), 0

    def _take_compact(self, text: bytes, at: int) -> int:
        """Take series in the usual form from text[at:]; return where the first other begins."""
        while True:
            if text.startswith(b"]", at):
                self._tail = b""
                return at
            start = at if self._is_first else at + 1
            if not text.startswith(SERIES if self._is_first else b"," + SERIES, at):
                return at
            middle = text.find(VALUES, start)
            first = middle + len(VALUES)
            end = text.find(END, first)
            after = end + len(END)
            if middle < 0 or end < 0 or not text.startswith(b"}", after):
                return at
            name = self._name(text[start + len(SERIES) : middle])
            if name is None:
                return at
            self._add_text(name, text[first:end])
            self._is_first = False
            at = after + 1

    def _take_any(self, rest: bytes, *, is_all: bool) -> tuple[bytes, int]:
        """Take series in any form; return what could not be understood yet."""
        usual = SERIES if self._is_first else b"," + SERIES
        if not is_all and rest.startswith(usual[: len(rest)]) and rest.find(END) < 0:
            return rest, 0  # its end has not come yet
        text = rest.decode("utf-8", "surrogateescape")  # bytes of a sign may still be on their way
        at, decoder = 0, json.JSONDecoder()
        while True:
            here = _past_blanks(text, at)
            if not self._is_first and text.startswith(",", here):
                here = _past_blanks(text, here + 1)
            elif text.startswith("]", here):
                self._tail, at = b"", here
                break
            elif not self._is_first:
                break
            try:
                series, after = decoder.raw_decode(text, here)
            except (ValueError, RecursionError):
                break
            self._add_series(series)
            at, self._is_first = after, False
        return text[at:].encode("utf-8", "surrogateescape"), 0

    def _name(self, labels: bytes) -> str | None:
        """Return the name of a series; None if these are no labels."""
        name = self._known.get(labels)
        if name is None:
            try:
                found = json.loads(labels)
            except (ValueError, RecursionError):
                return None
            name = _named(found)
            if name is not None:
                self._known[labels] = name
        return name

    def _unfinished(self) -> InputError:
        rest = b"".join(self._pieces).lstrip()
        try:
            json.loads(rest)
        except (ValueError, RecursionError):
            if self._head is not None or not rest or rest.startswith(b"{"):
                return CutShortError("the answer ends early, or is damaged")
            return ForeignError("the answer is no JSON")
        return ForeignError("the answer has no list called result")

    # ------------------------------------------------------------------ numbers

    def _add_series(self, series: object) -> None:
        """Take a series that the JSON parser has read."""
        labels = series.get("metric") if isinstance(series, dict) else None
        name = _named(labels)
        if name is None or not isinstance(series, dict):
            raise ForeignError("the answer holds something that is no series")
        pairs, histograms = series.get("values", []), series.get("histograms", [])
        if not isinstance(histograms, list) or ("values" not in series and not histograms):
            raise ForeignError("the answer holds a series without values")
        self.n_histograms += len(histograms)
        try:
            seconds, values = numbers_of_pairs(pairs)
        except (ValueError, RecursionError):
            raise ForeignError(f"a value of {name!r} is no number") from None
        if len(values):
            self._convert()  # so that samples stay in the order of the answer
            self._add([self._code(name)], [len(values)], seconds, values)

    def _add_text(self, name: str, text: bytes) -> None:
        self._texts.append(text)
        self._text_codes.append(self._code(name))
        self._n_text += len(text)
        if self._n_text >= BATCH:
            self._convert()

    def _convert(self) -> None:
        """Turn the texts of many series into numbers at once."""
        if not self._texts:
            return
        texts, codes = self._texts, self._text_codes
        self._texts, self._text_codes, self._n_text = [], [], 0
        try:
            counts, seconds, values = numbers_of_texts(texts)
        except (ValueError, RecursionError):
            raise CutShortError("the answer's numbers are damaged") from None
        self._add(codes, counts, seconds, values)

    def _add(
        self,
        codes: list[int],
        counts: list[int],
        seconds: NDArray[np.float64],
        values: NDArray[np.float64],
    ) -> None:
        self.n_samples += len(values)
        if self.n_samples > self._most_samples:
            raise TooLongError(f"the answer holds more than {self._most_samples:,} samples")
        if not (np.abs(seconds) < LATEST).all():
            raise ForeignError("the answer holds a time that is none")
        times = np.rint(seconds * 1e3).astype(np.int64)
        repeated = np.repeat(np.array(codes, np.int64), counts)
        is_finite = np.isfinite(values)
        if not is_finite.all():
            infinite = np.flatnonzero(np.isinf(values))
            self.n_infinite += len(infinite)
            if len(infinite):
                self.infinite_name = list(self._collected.codes)[repeated[infinite[0]]]
            repeated, times, values = repeated[is_finite], times[is_finite], values[is_finite]
        self._collected.add(repeated, times, values)

    def _code(self, name: str) -> int:
        codes = self._collected.codes
        return codes.setdefault(name, len(codes))


def _named(labels: object) -> str | None:
    """Return a series' name in canonical form; None where the labels are none."""
    if not isinstance(labels, dict):
        return None
    if not all(isinstance(value, str) for value in labels.values()):
        return None
    rest: dict[str, str] = {key: value for key, value in labels.items() if key != "__name__"}
    name = identifier(labels.get("__name__") or NAMELESS, rest)
    return name.encode("utf-8", "replace").decode()  # half a surrogate pair is no text


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at
