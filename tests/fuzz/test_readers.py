"""Damaged files: whatever bytes come, a reader gives a Recording or a ReadError, and soon."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smkc.errors import ReadError
from smkc.recording import Recording, read

# What is left out of a damaged file is told by a warning, which is as good as an error here.
pytestmark = pytest.mark.filterwarnings("ignore::smkc.errors.InputWarning")

SLOW_CASES = 2_000
QUICK_CASES = 100


def tables() -> list[pa.Table]:
    rng = np.random.default_rng(0)
    n = 40
    instants = pa.array(np.datetime64("2026-01-01", "ms") + np.arange(n) * 15_000)
    names = rng.choice(["cpu", "mem", "net\u00e9"], n)
    return [
        pa.table({"time": instants, "variable": names, "value": rng.normal(size=n)}),
        pa.table({"ts": np.arange(n), "metric": names, "val": rng.normal(size=n), "pod": names}),
        pa.table({"date": instants.cast(pa.string()), "a": rng.normal(size=n), "b": [None] * n}),
        pa.table({"time": rng.random(n), "a": rng.integers(0, 9, n), "b": rng.random(n) < 0.5}),
    ]


def as_csv(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pa_csv.write_csv(table, out)
    return out.getvalue()


def as_parquet(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=16, **options)
    return out.getvalue()


PARQUET = [
    *(as_parquet(table) for table in tables()),
    *(as_parquet(table, compression="none", use_dictionary=False) for table in tables()),
]
CSV = [as_csv(table) for table in tables()]

NASTY_BYTES: list[bytes] = [
    *(b"", b",", b'"', b"\n", b"\r", b"\x00", b";", b"nan", b"inf", b"1e999", b"-", b"time"),
    *(b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"9" * 30, b"\x7f\xff\xff\xff", b"PAR1", b"{"),
]


def damaged(originals: list[bytes]) -> st.SearchStrategy[bytes]:
    """Files with a few stretches overwritten, inserted or lost, and sometimes the end cut off.

    Places are drawn by NumPy: hypothesis prefers the ends of a file, where damage shows at once.
    """
    return st.builds(damage, st.sampled_from(originals), st.integers(0, 2**32 - 1))


def damage(data: bytes, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    lowest, highest = (0, 256) if rng.random() < 0.3 else (32, 127)  # any bytes, or readable ones
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(0, len(data) + 1))
        new = bytes(rng.integers(lowest, highest, rng.integers(0, 5)).tolist())
        if rng.random() < 0.3:
            new = NASTY_BYTES[rng.integers(len(NASTY_BYTES))]
        # Mostly as many go as come, so that what follows keeps its place.
        n_lost = len(new) if rng.random() < 0.8 else int(rng.integers(0, 9))
        data = data[:at] + new + data[at + n_lost :]
    return data if rng.random() < 0.9 else data[: int(rng.integers(0, len(data) + 1))]


def must_survive(path, data: bytes, **wishes: object) -> None:
    path.write_bytes(data)
    try:
        result = read(path, **wishes)
    except ReadError:
        pass
    else:
        assert isinstance(result, Recording)
        assert np.isfinite(result.values).all()
        assert (result.times[1:] > result.times[:-1]).all()


no_checks = settings(suppress_health_check=list(HealthCheck))
quick = settings(no_checks, max_examples=QUICK_CASES)
slow = settings(no_checks, max_examples=SLOW_CASES)


@quick
@given(data=damaged(CSV))
def test_damaged_csv(tmp_path, data):
    must_survive(tmp_path / "a.csv", data)


@quick
@given(data=damaged(PARQUET))
def test_damaged_parquet(tmp_path, data):
    must_survive(tmp_path / "a.parquet", data)


@pytest.mark.slow
@slow
@given(data=damaged(CSV), layout=st.sampled_from(["auto", "long", "wide"]))
def test_damaged_csv_at_length(tmp_path, data, layout):
    must_survive(tmp_path / "a.csv", data, layout=layout)


@pytest.mark.slow
@slow
@given(data=damaged(PARQUET), layout=st.sampled_from(["auto", "long", "wide"]))
def test_damaged_parquet_at_length(tmp_path, data, layout):
    must_survive(tmp_path / "a.parquet", data, layout=layout)


@pytest.mark.slow
@slow
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_noise(tmp_path, data):
    must_survive(tmp_path / "a.csv", data)
    must_survive(tmp_path / "a.parquet", b"PAR1" + data + b"PAR1")
