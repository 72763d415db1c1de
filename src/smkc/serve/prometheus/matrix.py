"""Matrix: Prometheus' response to a range query, parsed while it arrives.

In: pieces of the JSON body. Out: samples, collected series by series; only unparsed text is kept in
memory.

The usual compact format is split by searching for its delimiters: a quotation mark inside a JSON
string is always escaped, so ``,"values":[[`` occurs only before a series' values. Any other format
goes through the JSON parser, one series at a time. Arrow parses the numbers of many series at once,
about 10 times faster than Python one by one.
"""

import json
import math
import re
from collections.abc import Iterable, MutableMapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from smkc.errors import InputError
from smkc.recording import identifier
from smkc.serve.intake.histograms import (
    CUMULATIVE_PARTS,
    DELTA_PARTS,
    QUANTILE_LABEL,
    Part,
    with_ending,
)
from smkc.serve.prometheus.collected import Collected
from smkc.serve.prometheus.native import readings_of_histograms

PIECE = 4 * 2**20  # bytes collected before they are parsed
BATCH = 8 * 2**20  # bytes of numbers that Arrow parses at once
LONGEST_HEAD = 64 * 2**10  # bytes before the first series
HALF_A_MILLISECOND = 0.0005  # Prometheus' times are exact to a millisecond
LATEST = 1e11  # seconds from 1970: larger times are invalid
NAMELESS = "value"  # metric name of a computed series, which has none

RESULT = re.compile(rb'"result"\s*:\s*\[')
SERIES, VALUES, END = b'{"metric":', b',"values":[[', b'"]]'
BLANK = " \t\r\n"

BETWEEN = b'"],['
"""Separator between two samples, from the end of a value to the next time."""

Floats = NDArray[np.float64]

READ = csv.ReadOptions(column_names=["time", "value"], use_threads=False, block_size=2**25)
SPLIT = csv.ParseOptions(quote_char=False, ignore_empty_lines=False)
CONVERT = csv.ConvertOptions(
    column_types={"time": pa.float64(), "value": pa.float64()},
    null_values=[],
    strings_can_be_null=False,
)


class CutShortError(InputError):
    """The response is incomplete or damaged."""


class ForeignError(InputError):
    """The response is not one of Prometheus to a range query."""


class TooLongError(InputError):
    """The response is larger than allowed."""


class MatrixReader:
    """Incremental parser of one response.

    ``collected`` receives the samples except NaN, even if the response later turns out to be
    incomplete; ``known`` caches the name for the text of a series' labels. The ``warnings`` of the
    server are set when the response is complete.

    A response with native histograms sets ``has_histograms``. The quantiles of a histogram are
    known if the one ``step`` milliseconds before is in the response. Samples of the step before
    ``start`` serve only for that, and are left out.
    """

    def __init__(
        self,
        collected: Collected,
        known: MutableMapping[bytes, str],
        *,
        most_bytes: int,
        most_samples: int,
        start: int | None = None,
        step: int | None = None,
    ) -> None:
        self._collected, self._known = collected, known
        self._left_out = (0, 0) if start is None or step is None else (start - step, start)
        self._longest_gap_s = math.inf if step is None else step / 1000 + HALF_A_MILLISECOND
        self.has_histograms = False
        self._most_bytes, self._most_samples = most_bytes, most_samples
        self.n_samples = 0
        self.warnings: tuple[str, ...] = ()
        self._pieces: list[bytes] = []
        self._n_gathered = self._n_left = self._n_bytes = 0
        self._head: bytes | None = None  # text before the first series
        self._tail: bytes | None = None  # text from the bracket that ends the list of series
        self._is_first = True
        self._texts: list[bytes] = []  # numbers of series, not yet parsed by Arrow
        self._text_codes: list[int] = []
        self._n_text = 0

    def feed(self, piece: bytes) -> None:
        """Parse the next piece of the body."""
        self._n_bytes += len(piece)
        if self._n_bytes > self._most_bytes:
            raise TooLongError(f"the answer is longer than {self._most_bytes:,} bytes")
        self._pieces.append(piece)
        self._n_gathered += len(piece)
        # Waiting for as much new text as is left over keeps a long rest from being parsed often.
        if self._n_gathered >= max(PIECE, self._n_left):
            self._read(is_all=False)

    def close(self) -> None:
        """Finish at the end of the body; raise an error if the response is incomplete."""
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
        """Parse series in the compact format from text[at:]; return where the rest begins."""
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
        """Parse series in any JSON format; return the unparsed rest and 0, its start."""
        usual = SERIES if self._is_first else b"," + SERIES
        if not is_all and rest.startswith(usual[: len(rest)]) and rest.find(END) < 0:
            return rest, 0  # the end of the series has not arrived yet
        text = rest.decode("utf-8", "surrogateescape")  # the last character may be incomplete
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
        """Return the name of a series; None if its labels are invalid."""
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
            return ForeignError("the answer is not JSON")
        return ForeignError("the answer has no list called result")

    # ------------------------------------------------------------------ numbers

    def _add_series(self, series: object) -> None:
        """Add a series that the JSON parser has read."""
        labels = series.get("metric") if isinstance(series, dict) else None
        name = _named(labels)
        if name is None or not isinstance(series, dict):
            raise ForeignError("the answer holds something that is not a series")
        pairs, histograms = series.get("values", []), series.get("histograms", [])
        if not isinstance(histograms, list) or ("values" not in series and not histograms):
            raise ForeignError("the answer holds a series without values")
        try:
            seconds, values = numbers_of_pairs(pairs)
        except (ValueError, RecursionError):
            raise ForeignError(f"a value of {name!r} is not a number") from None
        self._convert()  # so that samples stay in the order of the response
        if len(values):
            self._add([self._code(name)], [len(values)], seconds, values)
        if histograms:
            self._add_histograms(series["metric"], histograms)

    def _add_histograms(self, labels: dict[str, str], pairs: list[Any]) -> None:
        """Add the variables of a native histogram.

        It is cumulative if it has a name. One that was computed, as by ``rate``, counts the
        observations of a span.
        """
        self.has_histograms = True
        is_cumulative = bool(labels.get("__name__"))
        try:
            seconds, columns = readings_of_histograms(
                pairs, is_cumulative=is_cumulative, longest_gap_s=self._longest_gap_s
            )
        except (ValueError, RecursionError):
            raise ForeignError(f"a histogram of {_named(labels)!r} is not one") from None
        parts = CUMULATIVE_PARTS if is_cumulative else DELTA_PARTS
        for part, values in zip(parts, columns.T, strict=True):
            code = self._code(_named_part(labels, part))
            self._add([code], [len(values)], seconds, values)

    def _add_text(self, name: str, text: bytes) -> None:
        self._texts.append(text)
        self._text_codes.append(self._code(name))
        self._n_text += len(text)
        if self._n_text >= BATCH:
            self._convert()

    def _convert(self) -> None:
        """Parse the waiting numbers of many series at once, and add them."""
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
            raise ForeignError("the answer holds an invalid time")
        times = np.rint(seconds * 1e3).astype(np.int64)
        repeated = np.repeat(np.array(codes, np.int64), counts)
        is_known = ~np.isnan(values)
        first, last = self._left_out
        is_known &= (times < first) | (times >= last)
        if not is_known.all():
            repeated, times, values = repeated[is_known], times[is_known], values[is_known]
        self._collected.add(repeated, times, values)

    def _code(self, name: str) -> int:
        codes = self._collected.codes
        return codes.setdefault(name, len(codes))


def _named(labels: object) -> str | None:
    """Return a series' name in canonical form; None if its labels are invalid."""
    if not isinstance(labels, dict):
        return None
    if not all(isinstance(value, str) for value in labels.values()):
        return None
    rest: dict[str, str] = {key: value for key, value in labels.items() if key != "__name__"}
    name = identifier(labels.get("__name__") or NAMELESS, rest)
    return name.encode("utf-8", "replace").decode()  # replaces lone surrogates


def _named_part(labels: dict[str, str], part: Part) -> str:
    """Return the name of a variable of a native histogram, whose labels are valid."""
    own = {**labels, "__name__": with_ending(labels.get("__name__") or NAMELESS, part.ending)}
    if part.quantile:
        own[QUANTILE_LABEL] = part.quantile
    name = _named(own)
    assert name is not None, "the labels are strings"
    return name


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at


def numbers_of_texts(texts: list[bytes]) -> tuple[list[int], Floats, Floats]:
    """Return the number of samples in each text, and the times (n,) and values (n,) of all.

    Raises ValueError if a text contains anything but samples.

    Examples
    --------
    >>> numbers_of_texts([b'1.5,"2"],[3,"4', b'5,"NaN'])
    ([2, 1], array([1.5, 3. , 5. ]), array([ 2.,  4., nan]))
    """
    counts = [text.count(BETWEEN) + 1 for text in texts]
    lines = BETWEEN.join(texts).replace(BETWEEN, b"\n").replace(b',"', b",")
    try:
        table = csv.read_csv(pa.py_buffer(lines), READ, SPLIT, CONVERT)
    except pa.ArrowInvalid:
        return _one_by_one(texts)
    if len(table) != sum(counts):
        return _one_by_one(texts)
    return counts, table.column(0).to_numpy(), table.column(1).to_numpy()


def numbers_of_pairs(pairs: Iterable[tuple[float, str]]) -> tuple[Floats, Floats]:
    """Return the times (n,) and values (n,) of samples parsed from JSON; may raise ValueError."""
    try:
        found = [(float(time), float(value)) for time, value in pairs]
    except (OverflowError, TypeError) as error:
        raise ValueError(f"this is not a sample: {error}") from None
    numbers = np.array(found, np.float64).reshape(-1, 2)
    return numbers[:, 0], numbers[:, 1]


def _one_by_one(texts: list[bytes]) -> tuple[list[int], Floats, Floats]:
    """Parse texts in an unusual format, such as one with blanks."""
    found = [numbers_of_pairs(json.loads(b"[[" + text + b'"]]')) for text in texts]
    times, values = (np.concatenate(column) for column in zip(*found, strict=True))
    return [len(one) for one, _ in found], times, values
