"""Native histograms of the real Prometheus, queried and pushed, beside its own quantiles."""

import json
import math
import threading
import time
import urllib.parse
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tests.naive_histograms import exponential_counts
from tests.prometheus_server import real_prometheus
from tests.smkc.serve.decoding.test_native import spans_and_counts

from smkc.serve.config import Limits
from smkc.serve.decoding import remote_write
from smkc.serve.decoding.differences import Differences, Previous
from smkc.serve.intake.histograms import QUANTILES
from smkc.serve.prometheus.client import Prometheus

pytestmark = [pytest.mark.prometheus, pytest.mark.slow]

STEP = 1_000
SCALE, ZERO = 2, 0.01
N_SCRAPES = 12

# The protobuf form of exposition, in which alone native histograms are scraped.
EXPOSITION = {
    "LabelPair": ("name 1 string", "value 2 string"),
    "BucketSpan": ("offset 1 sint32", "length 2 uint32"),
    "Histogram": (
        *("sample_count 1 uint64", "sample_sum 2 double", "schema 5 sint32"),
        *("zero_threshold 6 double", "zero_count 7 uint64"),
        *("negative_span 9 BucketSpan*", "negative_delta 10 sint64*"),
        *("positive_span 12 BucketSpan*", "positive_delta 13 sint64*"),
    ),
    "Metric": ("label 1 LabelPair*", "histogram 7 Histogram"),
    "MetricFamily": ("name 1 string", "help 2 string", "type 3 uint32", "metric 4 Metric*"),
}
HISTOGRAM_TYPE = 4
DELIMITED = (
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
)


remote_write._SCHEMAS["io.prometheus.client"] = EXPOSITION
MetricFamily = remote_write._classes("io.prometheus.client")["MetricFamily"]
del remote_write._SCHEMAS["io.prometheus.client"]


class Exporter:
    """Exposes a native histogram that grows with each scrape, and takes what is pushed."""

    def __init__(self):
        self.rng = np.random.default_rng(7)
        self.values, self.n_scrapes = [], 0
        self.pushed = {}
        self.previous = Previous()

    def scraped(self):
        self.n_scrapes += 1
        self.values += self.rng.lognormal(0.0, 1.5, 50).tolist()
        self.values += (-self.rng.lognormal(0.0, 1.0, 5)).tolist()
        n_zero, negative, positive = exponential_counts(self.values, SCALE, ZERO)
        family = MetricFamily(name="latency", help="words", type=HISTOGRAM_TYPE)
        metric = family.metric.add()
        metric.label.add(name="pod", value="a")
        one = metric.histogram
        one.sample_count, one.sample_sum = len(self.values), math.fsum(self.values)
        one.schema, one.zero_threshold, one.zero_count = SCALE, ZERO, n_zero
        for side, counts in (("negative", negative), ("positive", positive)):
            spans, numbers = spans_and_counts(counts)
            for offset, length in spans:
                getattr(one, f"{side}_span").add(offset=offset, length=length)
            getattr(one, f"{side}_delta").extend(np.diff([0, *numbers]).tolist())
        body = family.SerializeToString()
        head, length = b"", len(body)
        while length > 127:
            head, length = head + bytes([length & 127 | 128]), length >> 7
        return head + bytes([length]) + body

    def taken(self, body, kind, encoding):
        differences = Differences(self.previous)
        samples = remote_write.decode_remote_write(body, kind, encoding, Limits(), differences)
        differences.keep()
        rows = zip(samples.codes, samples.times, samples.values, strict=True)
        for code, at, value in rows:
            self.pushed.setdefault(samples.names[code], {})[int(at)] = float(value)


@contextmanager
def exporting():
    exporter = Exporter()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(200, exporter.scraped(), DELIMITED)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            exporter.taken(body, self.headers["Content-Type"], self.headers["Content-Encoding"])
            self.answer(204, b"", "text/plain")

        def answer(self, status, body, kind):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    exporter.address = f"127.0.0.1:{server.server_port}"
    try:
        yield exporter
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()


def asked(server, query, start, end):
    """Time in milliseconds -> value, as Prometheus computes it."""
    given = {"query": query, "start": start / 1000, "end": end / 1000, "step": STEP / 1000}
    found = server.get(f"/api/v1/query_range?{urllib.parse.urlencode(given)}")
    assert found["status"] == "success", json.dumps(found)
    (series,) = found["data"]["result"]
    return {round(float(at) * 1000): float(value) for at, value in series["values"]}


def columns(samples):
    found = {}
    for code, at, value in zip(samples.codes, samples.times, samples.values, strict=True):
        found.setdefault(samples.names[code], {})[int(at)] = float(value)
    return found


def test_quantiles_are_those_of_prometheus():
    with exporting() as exporter:
        write = {"url": f"http://{exporter.address}/write", "send_native_histograms": True}
        write["queue_config"] = {"batch_send_deadline": "200ms"}
        with (
            real_prometheus(
                {"app": [exporter.address]},
                "1s",
                flags=["--enable-feature=native-histograms"],
                settings={"remote_write": [write]},
            ) as server,
            Prometheus(server.url) as client,
        ):
            begin = int(time.time() * 1000) // STEP * STEP + 2 * STEP
            until = time.monotonic() + 120
            while exporter.n_scrapes < N_SCRAPES and time.monotonic() < until:
                time.sleep(0.2)
            end = int(time.time() * 1000) // STEP * STEP - STEP
            samples = client.range("latency", begin, end, STEP)
            # The range holds two scrapes; a rate has the quantiles of what came between them.
            new = "rate(latency[1999ms])"
            wanted = {
                q: asked(server, f"histogram_quantile({q}, {new})", begin, end) for q in QUANTILES
            }
            counts = asked(server, "histogram_count(latency)", begin, end)
            time.sleep(2)  # what was scraped is sent by now
    labels = f'instance="{exporter.address}",job="app",pod="a"'
    found = columns(samples)
    assert found[f"latency_count{{{labels}}}"] == counts
    assert len(counts) >= N_SCRAPES - 4
    for q in QUANTILES:
        ours = found[f'latency{{{labels},quantile="{q:g}"}}']
        theirs = {at: value for at, value in wanted[q].items() if not math.isnan(value)}
        assert len(ours) >= N_SCRAPES - 5
        assert ours == {at: pytest.approx(theirs[at], rel=1e-9) for at in theirs}
    # What was pushed: every scrape once, each with the 55 observations since the one before.
    pushed = exporter.pushed[f"latency_count{{{labels}}}"]
    totals = [pushed[at] for at in sorted(pushed)]
    assert totals[:8] == [55.0 * n for n in range(1, 9)]
    medians = exporter.pushed[f'latency{{{labels},quantile="0.5"}}']
    assert len(medians) == len(pushed) - 1
    assert all(0 < value < 10 for value in medians.values())
