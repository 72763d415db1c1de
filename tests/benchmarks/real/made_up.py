"""Made-up datasets for the tests of the real-data benchmark: a few rows, written when needed."""

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.real.datasets import DataFile, Dataset, Parts
from benchmarks.real.series import Event, Series
from smkc.recording import Recording

EVENTS = """series,part,start,end,variables,kind
box,test,140,150,a b,""
box,test,120,125,c,slow
box,test,170,175,d,q1-withdrawn
other,test,130,135,a,""
box,train,10,20,a,""
"""


def write_dataset(
    folder, *, files, series=(), events=None, share=None, name="made-up", contiguous=True
):
    """Write tables (name -> columns) as Parquet, and describe them as the registry would."""
    place = folder / name
    place.mkdir()
    for file, columns in files.items():
        pq.write_table(pa.table(columns), place / file)
    if events is not None:
        (place / "events.csv").write_text(events)
    return Dataset(
        name=name,
        what="made up",
        source="https://example.org/made-up",
        commit="0123456789ab",
        path="data",
        licence="MIT",
        is_ranked=True,
        takes_churn=True,
        is_contiguous=contiguous,
        vus_window=100,
        reference_share=share,
        notes=("made up",),
        series=tuple(Parts(**parts) for parts in series),
        files={path.name: described(path) for path in sorted(place.iterdir())},
    )


def described(path):
    content = path.read_bytes()
    return DataFile(
        name=path.name, n_bytes=len(content), sha256=hashlib.sha256(content).hexdigest()
    )


def columns(first, n_rows, names="abcd", anomalous=()):
    """A table of whole-number values that tell row and variable, so that any mix-up shows."""
    rows = np.arange(first, first + n_rows)
    table = {name: pa.array(rows + 1000.0 * (j + 1), pa.float32()) for j, name in enumerate(names)}
    labels = np.isin(rows, np.asarray(anomalous)).astype(np.int8)
    return {"time": pa.array(rows, pa.int64()), **table, "label": pa.array(labels)}


def two_part_dataset(folder):
    return write_dataset(
        folder,
        files={
            "box.train.parquet": columns(0, 100),
            "box.test.parquet": columns(100, 100, anomalous=range(120, 150)),
        },
        series=[{"name": "box", "reference": "box.train.parquet", "test": "box.test.parquet"}],
        events=EVENTS,
    )


def made_up_series(n_rows=400, n_variables=20, seed=5, name="box"):
    """A series of exact values (multiples of 1/64), a tenth of them missing, with one constant."""
    bits = np.random.PCG64(seed)

    def part(first, n):
        raw = bits.random_raw(n * n_variables).reshape(n, n_variables)
        values = ((raw >> np.uint64(52)).astype(np.float64) - 2048) / 64
        values[:, 0] = 7.0
        rows, codes = np.nonzero(bits.random_raw(n * n_variables).reshape(raw.shape) % 10 > 0)
        return Recording.from_observations(
            np.arange(first, first + n), rows, codes, values[rows, codes], names
        )

    names = [f"v{j:02d}" for j in range(n_variables)]
    reference, test = part(0, n_rows), part(n_rows, n_rows)
    labels = np.zeros(n_rows, bool)
    labels[50:70] = True
    return Series(
        dataset="made-up",
        name=name,
        reference=reference,
        test=test,
        labels=labels,
        events=(Event(start=50, stop=70, variables=("v03",)),),
    )


def dense(recording, names):
    """(T, V) values by name, NaN where not observed."""
    table = np.full((len(recording), len(names)), np.nan)
    place = {name: j for j, name in enumerate(names)}
    which = np.array([place[name] for name in recording.names])
    table[recording.row_numbers, which[recording.codes]] = recording.values
    return table


def fingerprint(series):
    """One text for everything in a series, the same wherever it is made."""
    digest = hashlib.sha256()
    for part in (series.reference, series.test):
        for array, kind in ((part.indptr, "<i8"), (part.codes, "<i4"), (part.values, "<f4")):
            digest.update(array.astype(kind).tobytes())
        digest.update(repr(part.names).encode())
    digest.update(repr(sorted(series.origins.items())).encode())
    return digest.hexdigest()[:16]


def faulty_columns(first, n_rows, seed, faults=()):
    """A table of noise in six variables, of which one jumps up in each fault (start, stop)."""
    rng = np.random.default_rng(seed)
    rows = np.arange(first, first + n_rows)
    values = rng.normal(size=(n_rows, 6)).astype(np.float32)
    labels = np.zeros(n_rows, np.int8)
    for start, stop in faults:
        values[start - first : stop - first, 2] += 12.0
        labels[start - first : stop - first] = 1
    table = {f"v{j}": pa.array(values[:, j]) for j in range(6)}
    return {"time": pa.array(rows, pa.int64()), **table, "label": pa.array(labels)}


def write_registry(folder):
    """Two datasets with faults that are easy to find: smd takes churn, lro does not."""
    files, series = {}, []
    for at, name in enumerate(("one", "two")):
        files[f"{name}.train.parquet"] = faulty_columns(0, 260, 10 + at)
        faults = [(300, 312), (380, 390)]
        files[f"{name}.test.parquet"] = faulty_columns(260, 180, 20 + at, faults)
        parts = {"reference": f"{name}.train.parquet", "test": f"{name}.test.parquet"}
        series.append({"name": name, **parts})
    events = "series,part,start,end,variables,kind\none,test,300,312,v2,\ntwo,test,380,390,v2 v3,\n"
    smd = write_dataset(folder, files=files, series=series, events=events, name="smd")
    lro = write_dataset(folder, files=files, series=series[:1], name="lro")
    lro = replace(lro, takes_churn=False, is_contiguous=False, vus_window=10)
    return {about.name: replace(about, vus_window=10) for about in (smd, lro)}
