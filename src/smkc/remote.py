"""Reading of recordings, from a Prometheus server too.

In: what :func:`smkc.recording.read` takes, or the address of a server that speaks the Prometheus
API (VictoriaMetrics, Thanos, Mimir) and a query. Out: a recording.
"""

import time as clock
from datetime import date, datetime
from typing import Any, overload

import numpy as np

from smkc.errors import InputError, ReadError, SettingError
from smkc.recording import Recording
from smkc.recording import read as read_here

STEP, HISTORY = "15s", "6h"
OF_QUERIES = ("start", "end", "token", "timeout_seconds")


@overload
def read(source: Any, *, entity: str, **options: Any) -> dict[str, Recording]: ...
@overload
def read(source: Any, *, entity: None = None, **options: Any) -> Recording: ...
def read(
    source: Any,
    *,
    query: str | None = None,
    **options: Any,
) -> Recording | dict[str, Recording]:
    """Read a recording from a file, a folder, a frame, arrays, or a Prometheus.

    Parameters
    ----------
    source
        what :func:`smkc.recording.read` takes; or the address of a Prometheus, such as
        ``http://localhost:9090``, to send ``query`` to (needs the extra ``serve``).
    query
        PromQL expression that selects the series, such as ``{job="node"}``. Counters are read as
        they are, not as rates.
    options
        for a Prometheus: ``start`` (a time, or a duration before the end: "6h" by default),
        ``end`` (a time; now by default), ``step`` (time from one row to the next, usually the
        scrape interval; "15s" by default), ``token`` (sent as a bearer token) and
        ``timeout_seconds``. For other sources, the options of :func:`smkc.recording.read`:
        ``layout``, ``time``, ``variable``, ``value``, ``labels``, ``entity``, ``step``,
        ``time_unit``, ``time_format`` and ``ignore``.

    Examples
    --------
    >>> read({"time": [1, 2], "cpu": [0.3, 0.4], "mem": [0.7, float("nan")]})
    Recording(2 rows, 2 variables, 3 observations, 1-2 per row, times 1 to 2)
    """
    is_address = isinstance(source, str) and source.startswith(("http://", "https://"))
    if query is not None and not is_address:
        raise SettingError(
            f"query={query!r} goes with the address of a Prometheus, such as "
            f"http://localhost:9090, and not with {source!r}; leave it out"
        )
    if not is_address:
        for name in OF_QUERIES:
            if name in options:
                raise SettingError(f"{name} goes with query='...' and an address; leave it out")
        found: Recording | dict[str, Recording] = read_here(source, **options)
        return found
    if query is None:
        raise SettingError(f"{source!r} is an address; say what to ask it with query='...'")
    return _asked(source, query, **options)


def _asked(
    url: str,
    query: str,
    *,
    start: Any = HISTORY,
    end: Any = None,
    step: str = STEP,
    token: str | None = None,
    timeout_seconds: float = 30.0,
    **unknown: Any,
) -> Recording:
    if unknown:
        raise SettingError(
            f"{', '.join(unknown)}: not an option for a Prometheus; the options are step, "
            f"{', '.join(OF_QUERIES)}"
        )
    from smkc.serve.config.durations import duration
    from smkc.serve.prometheus import Prometheus

    step_ms = duration(step)
    last = _milliseconds("end", clock.time() if end is None else end)
    if isinstance(start, str) and start[:1].isdigit() and start[-1:] in "smhdw":
        first = last - duration(start)
    else:
        first = _milliseconds("start", start)
    if step_ms < 1 or first >= last:
        raise SettingError(
            f"start={start!r} and end={end!r} with step={step!r} hold no row; give a start before "
            "the end, and a step such as '15s'"
        )
    first, last = -(-first // step_ms) * step_ms, last // step_ms * step_ms
    with Prometheus(url, token=token, timeout_s=timeout_seconds) as server:
        samples = server.range(query, first, last, step_ms)
    if not len(samples):
        raise ReadError(
            f"{query!r} gives no sample at {url} from {np.datetime64(first, 'ms')}Z to "
            f"{np.datetime64(last, 'ms')}Z; check the query, or give another start and end"
        )
    times, rows = np.unique(samples.times, return_inverse=True)
    return Recording.from_observations(
        times.astype("datetime64[ms]").astype("datetime64[ns]"),
        rows,
        samples.codes.astype(np.int32),
        samples.values,
        list(samples.names),
    )


def _milliseconds(name: str, time: Any) -> int:
    """Convert a date, ISO 8601 text or seconds since 1970 to milliseconds since 1970."""
    from smkc.recording.times import moment

    if isinstance(time, int | float) and not isinstance(time, bool):
        return int(time * 1000)
    try:
        if not isinstance(time, str | date | datetime | np.datetime64):
            raise InputError(f"{time!r} is of type {type(time).__name__}")
        instant = moment(time, np.dtype("datetime64[ns]"))
    except InputError as error:
        raise SettingError(
            f"{name}={time!r} is no time ({error}); give a datetime, ISO 8601 text, seconds since "
            "1970, or for start how long before the end, such as '6h'"
        ) from None
    return int(instant.astype(np.int64) // 1_000_000)
