"""Cases: the faults of a recording whose causes are known, each with a cut.

In: a labelled recording and a delay. Out: for each fault the row of the cut, the rows before it
that a method may take as normal, the rows to explain, and the responsible variables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.series import Event, Series
from smkc.recording import Recording

__all__ = ["DATASETS", "DELAYS", "Case", "cases_of"]

DATASETS = ("rcd-sockshop", "smd", "petshop", "nezha", "hostwatch")

# Seconds from the start of a fault to the cut.
DELAYS = (0, 60)


@dataclass(frozen=True, eq=False)
class Tables:
    """A recording as dense tables.

    ``names`` (V,) are the variables of reference and test part; ``reference`` (n, V) and ``test``
    (T, V) hold values, NaN where not observed; ``is_fault`` (T,) tells whether a row is in any
    fault.
    """

    names: tuple[str, ...]
    reference: NDArray[np.float64]
    test: NDArray[np.float64]
    is_fault: NDArray[np.bool_]

    @classmethod
    def of(cls, series: Series) -> "Tables":
        """Return the tables of a recording."""
        names = tuple(dict.fromkeys((*series.reference.names, *series.test.names)))
        is_fault = series.labels.copy()
        for event in series.events:
            is_fault[event.start : event.stop] = True
        return cls(names, _dense(series.reference, names), _dense(series.test, names), is_fault)


@dataclass(frozen=True, eq=False)
class Case:
    """One fault, and the first row to explain.

    Parameters
    ----------
    tables
        of the whole recording.
    event
        the fault, with the responsible variables.
    cut
        first row to explain, counted in the test part.
    """

    tables: Tables
    event: Event
    cut: int

    @cached_property
    def normal(self) -> NDArray[np.float64]:
        """(n, V) reference rows and test rows before the cut, without the rows of other faults.

        Rows of this fault before the cut are included, as they would be after a late alarm.
        """
        is_taken = ~self.tables.is_fault[: self.cut]
        is_taken[self.event.start :] = True
        return np.concatenate([self.tables.reference, self.tables.test[: self.cut][is_taken]])

    @property
    def anomalous(self) -> NDArray[np.float64]:
        """(m, V) rows to explain."""
        return self.tables.test[self.cut : self.event.stop]


def cases_of(series: Series, delay: float) -> list[Case]:
    """Return the faults with known causes that last longer than ``delay``.

    Parameters
    ----------
    series
        with dates as times.
    delay
        seconds from the start of a fault to the cut.
    """
    tables = Tables.of(series)
    times = series.test.times
    wait = np.timedelta64(round(delay * 1e9), "ns")
    cuts = [int(np.searchsorted(times, times[event.start] + wait)) for event in series.events]
    return [
        Case(tables, event, cut)
        for event, cut in zip(series.events, cuts, strict=True)
        if event.variables and cut < event.stop
    ]


def _dense(recording: Recording, names: Sequence[str]) -> NDArray[np.float64]:
    """Return (T, V) values, NaN where not observed."""
    column_of = {name: at for at, name in enumerate(names)}
    columns = np.array([column_of[name] for name in recording.names], np.int64)
    out = np.full((len(recording), len(names)), np.nan)
    out[recording.row_numbers, columns[recording.codes]] = recording.values
    return out
