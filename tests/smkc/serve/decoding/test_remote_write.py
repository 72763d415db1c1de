"""Remote write: bodies made by hand, by the schema and by a real Prometheus; and limits."""

import math
import shutil
import struct
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cramjam
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.smkc.serve.decoding.refusals import refused
from tests.smkc.serve.decoding.writing import encode_remote_write

from smkc.recording import canonical, identifier
from smkc.serve.config import Limits
from smkc.serve.decoding.remote_write import (
    RequestV2,
    WriteRequest,
    decode_remote_write,
)
from smkc.serve.intake.samples import Samples

V1 = "application/x-protobuf"
V2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
STALE = struct.unpack("<d", bytes.fromhex("020000000000f07f"))[0]

# Snappy's block format with one literal; protobuf by its encoding's rules. The series is
# up{job="node"} with the value 1.0 at 1000 ms, with fields that are passed over.
SAMPLE = "12 0c 09 00 00 00 00 00 00 f0 3f 10 e8 07"
GOLDEN_V1 = (
    "36 d4"  # 54 bytes follow, all literal
    " 0a 2b"  # timeseries
    " 0a 0e 0a 08 5f 5f 6e 61 6d 65 5f 5f 12 02 75 70"  # label __name__ = up
    " 0a 0b 0a 03 6a 6f 62 12 04 6e 6f 64 65"  # label job = node
    f" {SAMPLE}"
    " 1a 07 08 02 12 03 6a 6f 62"  # metadata
)
GOLDEN_V2 = (
    "37 d8"  # 55 bytes follow, all literal
    " 22 00 22 08 5f 5f 6e 61 6d 65 5f 5f 22 02 75 70 22 03 6a 6f 62 22 04 6e 6f 64 65"  # symbols
    " 2a 1a"  # timeseries
    " 0a 04 01 02 03 04"  # labels_refs
    f" {SAMPLE}"
    " 2a 02 08 02 30 01"  # metadata, created_timestamp
)


def snapped(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def decode(data: bytes, content_type: str = V1, **limits) -> Samples:
    return decode_remote_write(snapped(data), content_type, "snappy", Limits(**limits))


def written(*series: tuple[dict[str, str], list[tuple[int, float]]]) -> bytes:
    request = WriteRequest()
    for labels, readings in series:
        one = request.timeseries.add()
        for label, value in labels.items():
            one.labels.add(name=label, value=value)
        for stamp, value in readings:
            one.samples.add(timestamp=stamp, value=value)
    return request.SerializeToString()


def plain(samples: Samples) -> list[tuple[str, int, float]]:
    return [
        (samples.names[code], stamp, value)
        for code, stamp, value in zip(
            samples.codes.tolist(), samples.times.tolist(), samples.values.tolist(), strict=True
        )
    ]


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        (GOLDEN_V1, V1),
        (GOLDEN_V1, "application/x-protobuf; proto=prometheus.WriteRequest"),
        (GOLDEN_V2, V2),
    ],
    ids=["1.0", "1.0 by name", "2.0"],
)
def test_bodies_made_by_hand(text, content_type):
    samples = decode_remote_write(bytes.fromhex(text), content_type, "snappy", Limits())
    assert plain(samples) == [('up{job="node"}', 1000, 1.0)]


def test_labels_become_a_canonical_name():
    labels = {"pod": 'say "hi"', "__name__": "cpu", "empty": "", "a": "x\ny"}
    assert decode(written((labels, [(1, 2.0)]))).names == (
        identifier("cpu", {"a": "x\ny", "pod": 'say "hi"'}),
    )


def test_a_series_may_have_no_metric():
    assert decode(written(({"a": "x"}, [(1, 2.0)]))).names == ('{a="x"}',)


def test_one_name_twice_is_one_variable():
    body = written(({"__name__": "a"}, [(1, 1.0)]), ({"__name__": "a", "b": ""}, [(2, 2.0)]))
    assert plain(decode(body)) == [("a", 1, 1.0), ("a", 2, 2.0)]


def test_the_staleness_marker_is_nan():
    assert STALE != STALE
    values = decode(written(({"__name__": "a"}, [(1, STALE), (2, math.inf), (3, 0.0)]))).values
    np.testing.assert_array_equal(values, [math.nan, math.inf, 0.0])


def test_a_series_without_samples_is_passed_over():
    request = WriteRequest()
    request.timeseries.add().labels.add(name="__name__", value="a")
    assert len(decode(request.SerializeToString())) == 0


@pytest.mark.parametrize("content_type", [V1, V2], ids=["1.0", "2.0"])
def test_nothing_sent_is_nothing_read(content_type):
    samples = decode(b"", content_type)
    assert (samples.names, len(samples)) == ((), 0)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([("a", "1"), ("a", "2")], "'a' twice"),
        ([("", "1")], "without a name"),
        ([], "no labels"),
        ([("a", "")], "no labels"),
        ([(f"l{n}", "x") for n in range(300)], "300 labels"),
        ([("__name__", "long"), ("a", "x" * 20_000)], "16,384"),
    ],
    ids=["twice", "nameless", "none", "empty", "many", "long"],
)
def test_label_sets_that_are_refused(labels, words):
    request = WriteRequest()
    series = request.timeseries.add()
    for label, value in labels:
        series.labels.add(name=label, value=value)
    series.samples.add(value=1.0, timestamp=1)
    with refused(400, words):
        decode(request.SerializeToString())


def test_so_many_samples_and_no_more():
    body = written(({"__name__": "a"}, [(n, 1.0) for n in range(10)]))
    assert len(decode(body, samples_per_request=10)) == 10
    with refused(413, "more than the 9 samples"):
        decode(body, samples_per_request=9)


@pytest.mark.parametrize(
    ("content_type", "encoding", "words"),
    [
        ("", "snappy", "Content-Type"),
        ("application/json", "snappy", "Content-Type"),
        ("application/x-protobuf;proto=io.prometheus.write.v3.Request", "snappy", "Content-Type"),
        (V1, "gzip", "Content-Encoding"),
        (V1, "zstd", "Content-Encoding"),
    ],
    ids=["nothing", "json", "3.0", "gzip", "zstd"],
)
def test_what_is_not_known(content_type, encoding, words):
    with refused(415, words):
        decode_remote_write(snapped(b""), content_type, encoding, Limits())


@pytest.mark.parametrize(
    "data",
    [b"\x0a\x05ab", b"\x0a\x80", b"\x0b", b"\x0a\x02\x0a\x05", b"\x0a\x04\x0a\x02\x0a\xff"],
    ids=["cut", "endless", "group", "cut inside", "no text"],
)
def test_what_is_no_message(data):
    with refused(400, "body"):
        decode(data)


names = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10),
    st.from_regex(r'[a-z_]{1,8}\{[a-z]{1,4}="[a-z0-9-]{1,6}"\}', fullmatch=True),
)


@given(
    readings=st.lists(
        st.tuples(names.map(canonical), st.integers(-(2**63), 2**63 - 1), st.floats()),
        unique_by=lambda one: one[:2],
        max_size=20,
    )
)
def test_what_is_written_is_read_again(readings):
    readings = [one for one in readings if one[0]]
    table = {name: code for code, name in enumerate(dict.fromkeys(one[0] for one in readings))}
    samples = Samples(
        names=tuple(table),
        codes=np.array([table[name] for name, _, _ in readings], np.int64),
        times=np.array([stamp for _, stamp, _ in readings], np.int64),
        values=np.array([value for _, _, value in readings], np.float64),
    )
    found = decode_remote_write(encode_remote_write(samples), V1, "snappy", Limits())
    assert {(name, stamp): repr(value) for name, stamp, value in plain(found)} == {
        (name, stamp): repr(value) for name, stamp, value in readings
    }


# ---------------------------------------------------------------------- a real Prometheus


class Exporter(BaseHTTPRequestHandler):
    """Exposes two series, one of which goes; takes what is pushed."""

    def do_GET(self):
        text = 'kept_total{pod="a"} 7\n' + ("" if self.server.pushes else 'gone{pod="b"} 0.5\n')
        self.answer(200, text.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind, encoding = self.headers["Content-Type"], self.headers["Content-Encoding"]
        self.server.kinds.add((kind, encoding))
        samples = decode_remote_write(body, kind, encoding, Limits())
        self.server.pushes.extend(plain(samples))
        if any(name.startswith("gone{") and value != value for name, _, value in plain(samples)):
            self.server.is_done.set()
        self.answer(204, b"")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.prometheus
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Debian's prometheus is not there")
def test_a_real_prometheus_pushes(tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    server.pushes, server.kinds, server.is_done = [], set(), threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    target = f"127.0.0.1:{server.server_port}"
    config = tmp_path / "prometheus.yml"
    config.write_text(
        f"""
global: {{scrape_interval: 300ms, scrape_timeout: 300ms}}
scrape_configs: [{{job_name: shop, static_configs: [{{targets: ["{target}"]}}]}}]
remote_write:
  - url: http://{target}/api/v1/write
    queue_config: {{batch_send_deadline: 200ms}}
"""
    )
    started = int(time.time() * 1000)
    options = (f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            ["prometheus", *options, "--web.listen-address=127.0.0.1:0"],
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        assert server.is_done.wait(60), (tmp_path / "log").read_text()
    finally:
        process.terminate()
        process.wait(20)
        server.shutdown()
        thread.join(20)
        server.server_close()
    labels = {"instance": target, "job": "shop"}
    kept = identifier("kept_total", {**labels, "pod": "a"})
    gone = identifier("gone", {**labels, "pod": "b"})
    values: dict[str, set[str]] = {}
    for name, stamp, value in server.pushes:
        values.setdefault(name, set()).add(repr(value))
        assert started - 60_000 < stamp < started + 600_000
    assert values[kept] == {"7.0"}
    assert values[gone] == {"0.5", "nan"}
    assert values[identifier("up", labels)] == {"1.0"}
    assert server.kinds == {(V1, "snappy")}


def test_names_are_the_same_in_both_versions():
    request = RequestV2(symbols=["", "__name__", "up", "pod", "a", "b"])
    for refs, stamp in (([1, 2, 3, 4], 5), ([1, 2, 3, 5], 6), ([3, 5, 1, 2], 7), ([1, 2, 3, 0], 8)):
        request.timeseries.add(labels_refs=refs).samples.add(value=0.5, timestamp=stamp)
    second = plain(decode(request.SerializeToString(), V2))
    pods = [({"__name__": "up", "pod": pod}, [(at, 0.5)]) for at, pod in enumerate("abb", 5)]
    first = plain(decode(written(*pods, ({"__name__": "up"}, [(8, 0.5)]))))
    assert first == second


@pytest.mark.parametrize(
    ("symbols", "refs"),
    [(["", "a"], [1]), (["", "a"], [1, 2]), ([], [0, 0]), (["", "a"], [2**32 - 1, 0])],
    ids=["odd", "beyond", "none", "far beyond"],
)
def test_symbols_that_are_not_there(symbols, refs):
    request = RequestV2(symbols=symbols)
    request.timeseries.add(labels_refs=refs).samples.add(value=1.0)
    with refused(400, "symbols"):
        decode(request.SerializeToString(), V2)


def test_a_symbol_must_be_text():
    with refused(400, "UTF-8"):
        decode(b"\x22\x01\xff\x2a\x06\x0a\x02\x00\x00\x12\x00", V2)


def test_few_symbols_cannot_make_long_names():
    request = RequestV2(symbols=["", "x" * 60_000, *(f"l{n}" for n in range(100))])
    refs = [ref for n in range(100) for ref in (2 + n, 1)]
    request.timeseries.add(labels_refs=refs).samples.add(value=1.0)
    with refused(400, "16,384"):
        decode(request.SerializeToString(), V2)


def test_few_symbols_cannot_make_many_long_names():
    request = RequestV2(symbols=["", "a", "x" * 8000, *(f"l{n}" for n in range(200))])
    for n in range(200):
        series = request.timeseries.add(labels_refs=[1, 2, 3 + n, 3 + n])
        series.samples.add(value=1.0)
    data = request.SerializeToString()
    assert len(decode(data, V2).names) == 200
    with refused(413, "letters"):
        decode(data, V2, decoded_bytes=1_000_000)
