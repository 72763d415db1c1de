"""Cases of the cause benchmark: where the cut is, and which rows are normal."""

import numpy as np

from benchmarks.causes.cases import cases_of
from benchmarks.real.series import Event, Series
from smkc.recording import Recording

STEP = np.timedelta64(20, "s")


def series(events):
    """A recording of 4 reference rows and 12 test rows 20 s apart; values are row numbers."""
    start = np.datetime64("2024-01-01", "ns")
    times = start + np.arange(16) * STEP
    rows = [{"a": float(row), "b": -1.0} for row in range(16)]
    labels = np.zeros(12, bool)
    for event in events:
        labels[event.start : event.stop] = True
    return Series(
        dataset="made-up",
        name="one",
        reference=Recording.from_rows(times[:4], rows[:4]),
        test=Recording.from_rows(times[4:], rows[4:]),
        labels=labels,
        events=tuple(events),
    )


def test_the_cut_is_the_start_and_earlier_faults_are_not_normal():
    found = cases_of(series([Event(start=2, stop=4, variables=("a",)),
                             Event(start=7, stop=12, variables=("b",))]), 0)  # fmt: skip
    assert [case.cut for case in found] == [2, 7]
    assert found[1].normal[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 8, 9, 10], "6 and 7 were faulty"
    assert found[1].anomalous[:, 0].tolist() == [11, 12, 13, 14, 15]


def test_a_late_cut_takes_the_first_rows_of_the_fault_for_normal():
    (case,) = cases_of(series([Event(start=6, stop=12, variables=("a",))]), 60)
    assert case.cut == 9, "3 rows of 20 s"
    assert case.normal[-3:, 0].tolist() == [10, 11, 12]
    assert case.anomalous[:, 0].tolist() == [13, 14, 15]


def test_faults_that_are_over_or_without_a_known_cause_are_left_out():
    events = [Event(start=1, stop=4, variables=("a",)), Event(start=6, stop=12)]
    assert [case.event.start for case in cases_of(series(events), 0)] == [1]
    assert cases_of(series(events), 60) == [], "it was over after 60 s"
