"""Sample texts: the values of many series as Prometheus writes them -> arrays.

In: texts such as ``1.5,"2"],[3,"4`` or pairs parsed from JSON. Out: times and values.

Arrow parses the numbers of many series at once, about 10 times faster than Python one by one.
"""

import json
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

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
