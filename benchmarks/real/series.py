"""Series: one labelled recording of the real-data benchmark, with its annotated anomalies.

In: data that a loader has read, or another series with churn or drift added. Out: the reference
that a method may learn from, the test part that it scores, and the truth that only metrics use.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.recording import Recording

__all__ = ["Event", "Series"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One annotated anomaly: its rows in the test part, and its cause.

    Parameters
    ----------
    start, stop
        the first row, and the row after the last.
    variables
        the responsible variables, as the test part named them before churn; empty where unknown.
    kind
        the source's name for the kind of anomaly; empty if it gives none.
    """

    start: int
    stop: int
    variables: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """One labelled recording.

    Parameters
    ----------
    dataset, name
        names of the dataset and of the recording in it.
    reference
        rows to learn from, without labels; they may contain anomalies.
    test
        T rows to score.
    labels
        (T,) bool: whether a row is anomalous.
    events
        anomalies as the source annotates them, in order of start. They may overlap; where they
        differ from the labels by a row, the labels are right.
    is_contiguous
        whether the test part continues the reference in time.
    origins
        original names of the renamed variables of the test part, by new name.
    notes
        what a reader of the results should know.
    """

    dataset: str
    name: str
    reference: Recording
    test: Recording
    labels: NDArray[np.bool_]
    events: tuple[Event, ...] = ()
    is_contiguous: bool = True
    origins: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.labels.dtype != np.bool_ or self.labels.shape != (len(self.test),):
            raise InputError(
                f"labels of {self.key} are {self.labels.dtype} of shape {self.labels.shape} for "
                f"{len(self.test)} test rows; give one bool for each row"
            )
        for event in self.events:
            if not 0 <= event.start < event.stop <= len(self.test):
                raise InputError(
                    f"an event of {self.key} has rows {event.start} to {event.stop} of "
                    f"{len(self.test)}; give rows that are in the test part"
                )

    def __repr__(self) -> str:
        return (
            f"Series({self.key}: {len(self.reference):,} reference and {len(self.test):,} test "
            f"rows, {len(self.test.names)} variables, {self.labels.mean():.1%} anomalous, "
            f"{len(self.events)} events)"
        )

    @property
    def key(self) -> str:
        """Dataset and name in one text, such as ``smd/machine-2-1``."""
        return f"{self.dataset}/{self.name}"

    def origin(self, variable: str) -> str:
        """Return a variable's name before churn: the same, unless it was renamed."""
        return self.origins.get(variable, variable)

    def origins_of(self, variables: Iterable[str]) -> tuple[str, ...]:
        """Return the variables' names before churn, each once, in order."""
        return tuple(dict.fromkeys(self.origin(variable) for variable in variables))
