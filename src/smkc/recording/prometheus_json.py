"""Prometheus JSON: the response to a range query or an instant query -> a long table.

In: the response of ``/api/v1/query_range`` or ``/api/v1/query``, from a file or in memory. Out: a
table of time, variable and value, or a ReadError that says what is wrong with the response.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from smkc.errors import ReadError
from smkc.recording.identity import identifier
from smkc.recording.tables import FrameTable

NAMELESS = "value"  # metric name of series without one: results of a computation
MATRIX, VECTOR = "matrix", "vector"


def is_prometheus(content: Any) -> bool:
    """Return whether this is a Prometheus response, or its inner part ``data``."""
    if not isinstance(content, Mapping):
        return False
    return "resultType" in content or (
        "status" in content and ("data" in content or "error" in content)
    )


def from_prometheus(name: str, content: Mapping[str, Any]) -> FrameTable:
    """Make a table from a response; native histograms are skipped.

    Examples
    --------
    >>> series = {"metric": {"__name__": "up", "job": "a"}, "values": [[1700000000, "1"]]}
    >>> response = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
    >>> from_prometheus("the response", response).schema.names
    ['time', 'variable', 'value']
    """
    if content.get("status") == "error":
        raise ReadError(
            f"{name} is an error response of Prometheus: {content.get('error')}; correct the "
            "query and save its response again"
        )
    data = content.get("data", content)
    kind = data.get("resultType") if isinstance(data, Mapping) else None
    if kind not in (MATRIX, VECTOR):
        raise ReadError(
            f"{name} holds a result of type {kind!r}; save the response to a range query "
            "(/api/v1/query_range), whose type is 'matrix'"
        )
    times: list[float] = []
    values: list[str] = []
    codes: list[int] = []
    names: dict[str, int] = {}
    for at, series in enumerate(data.get("result", ())):
        try:
            labels = dict(series["metric"])
            pairs = series.get("values", ()) if kind == MATRIX else [series["value"]]
            variable = identifier(labels.pop("__name__", NAMELESS), labels)
            code = names.setdefault(variable, len(names))
            for time, value in pairs:
                times.append(float(time))
                values.append(value)
                codes.append(code)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ReadError(
                f"series {at} (the first is 0) of {name} is damaged ({error!r}); save the response "
                "to the query again"
            ) from None
    try:
        numbers = np.array(values, np.float64) if values else np.empty(0)
    except (TypeError, ValueError) as error:
        raise ReadError(f"{name} holds a value that is no number: {error}; save it again") from None
    milliseconds = np.rint(np.array(times) * 1e3).astype(np.int64)
    return FrameTable(
        name,
        pa.table(
            {
                "time": pa.array(milliseconds).cast(pa.timestamp("ms", "UTC")),
                "variable": pa.DictionaryArray.from_arrays(
                    pa.array(codes, pa.int32()), pa.array(list(names), pa.string())
                ),
                "value": numbers,
            }
        ),
    )
