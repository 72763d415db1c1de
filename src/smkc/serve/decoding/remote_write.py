"""Remote write: Prometheus' push protocol; versions 1.0 and 2.0 are read, 1.0 is written.

In: a body with its headers, or samples. Out: samples, or a body. Native histograms, exemplars and
metadata are skipped.

The protocol: https://prometheus.io/docs/specs/remote_write_spec and remote_write_spec_2_0.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cramjam
import numpy as np
from google.protobuf.message import DecodeError as ProtobufError

from smkc.recording import parse
from smkc.serve.config import Limits
from smkc.serve.decoding._prompb import TimeSeries, TimeSeriesV2, WriteRequest
from smkc.serve.decoding.collecting import (
    LONGEST_NAME,
    METRIC_LABEL,
    Collector,
    series_name,
    too_long,
)
from smkc.serve.decoding.unpacking import DecodeError, media_type, unsnapped
from smkc.serve.decoding.wire import Scan
from smkc.serve.intake.samples import Samples

__all__ = ["DecodeError", "decode_remote_write", "encode_remote_write"]

PROTOBUF = "application/x-protobuf"
V1, V2 = "prometheus.WriteRequest", "io.prometheus.write.v2.Request"

# Field numbers of the request message.
SERIES_V1, SYMBOLS_V2, SERIES_V2 = 1, 4, 5

NAMES_REMEMBERED = 1 << 16
LONGEST_REMEMBERED = 1024  # bytes of a cached label set: the cache stays below 150 MB

ROOM_FOR_OTHERS = 10_000  # fields other than series, such as metadata in 1.0


def decode_remote_write(body: bytes, content_type: str, encoding: str, limits: Limits) -> Samples:
    """Read a remote-write request: a protobuf message in snappy's block format.

    The parameter ``proto`` of the content type gives the version, by default 1.0. A staleness
    marker, which is a special NaN, means that the variable is gone; it stays a NaN.
    """
    kind, parameters = media_type(content_type)
    schema = parameters.get("proto", V1)
    if kind != PROTOBUF or schema not in (V1, V2):
        raise DecodeError(
            f"Content-Type {content_type[:200]!r} is not known; send {PROTOBUF}, with proto={V1} "
            f"or proto={V2} if you like",
            415,
        )
    if encoding.strip().lower() not in ("", "snappy"):
        raise DecodeError(f"Content-Encoding {encoding[:80]!r} is not known; send snappy", 415)
    data = unsnapped(body, limits)
    read = _read_v1 if schema == V1 else _read_v2
    try:
        return read(data, limits)
    except ProtobufError as error:
        raise DecodeError(f"the body is not a {schema} ({error}); send one") from None


def encode_remote_write(samples: Samples) -> bytes:
    """Return samples as a body of version 1.0, with each series' readings in order of time."""
    request = WriteRequest()
    order = np.lexsort((samples.times, samples.codes))
    bounds = np.searchsorted(samples.codes[order], np.arange(len(samples.names) + 1))
    times, values = samples.times[order].tolist(), samples.values[order].tolist()
    for code, name in enumerate(samples.names):
        metric, labels = parse(name) or (name, {})
        if metric:
            labels[METRIC_LABEL] = metric
        series = request.timeseries.add()
        for label in sorted(labels):
            series.labels.add(name=label, value=labels[label])
        for at in range(bounds[code], bounds[code + 1]):
            series.samples.add(value=values[at], timestamp=times[at])
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def _read_v1(data: bytes, limits: Limits) -> Samples:
    collector = Collector(limits)
    scan = Scan(data, limits.samples_per_request + ROOM_FOR_OTHERS)
    for number, span in scan.parts(scan.whole):
        if number == SERIES_V1:
            _add(collector, TimeSeries.FromString(scan.message(span)), _name_v1)
    return collector.samples()


def _read_v2(data: bytes, limits: Limits) -> Samples:
    collector = Collector(limits)
    scan = Scan(data, 4 * limits.samples_per_request + ROOM_FOR_OTHERS)
    symbols = [
        data[slice(*span)] for number, span in scan.parts(scan.whole) if number == SYMBOLS_V2
    ]

    def name_of(series: Any) -> str:
        refs = series.labels_refs
        if len(refs) % 2 or max(refs, default=0) >= len(symbols):
            raise DecodeError(
                f"a series refers to {len(refs)} symbols, up to number {max(refs, default=0)}, in "
                f"a body that holds {len(symbols)}; send pairs of symbols that are there"
            )
        texts = [symbols[ref] for ref in refs]
        return _name_v2(tuple(texts)) if _is_short(texts) else _name_v2.__wrapped__(tuple(texts))

    for number, span in scan.parts(scan.whole):
        if number == SERIES_V2:
            _add(collector, TimeSeriesV2.FromString(scan.message(span)), name_of)
    return collector.samples()


def _add(collector: Collector, series: Any, name_of: Callable[[Any], str]) -> None:
    points = series.samples
    if not points:  # a native histogram, or only metadata
        return
    readings = [(point.timestamp, point.value) for point in points]
    code = collector.code(name_of(series))
    for time, value in readings:
        collector.add(code, time, value)


def _name_v1(series: Any) -> str:
    series.ClearField("samples")
    series.DiscardUnknownFields()
    labels = series.SerializeToString()
    if len(labels) > LONGEST_REMEMBERED:
        return _name_of_labels.__wrapped__(labels)
    return _name_of_labels(labels)


@lru_cache(maxsize=NAMES_REMEMBERED)
def _name_of_labels(serialized: bytes) -> str:
    labels = TimeSeries.FromString(serialized).labels
    return series_name((label.name, label.value) for label in labels)


def _is_short(texts: list[bytes]) -> bool:
    n_bytes = sum(map(len, texts))
    if n_bytes > 4 * LONGEST_NAME:  # UTF-8 needs at most 4 bytes per character
        raise too_long(n_bytes // 4, "")
    return n_bytes <= LONGEST_REMEMBERED


@lru_cache(maxsize=NAMES_REMEMBERED)
def _name_v2(texts: tuple[bytes, ...]) -> str:
    try:
        decoded = [text.decode() for text in texts]
    except UnicodeDecodeError:
        raise DecodeError("a symbol is not UTF-8 text; send UTF-8") from None
    return series_name(zip(decoded[::2], decoded[1::2], strict=True))
