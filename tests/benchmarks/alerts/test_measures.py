"""Measures of alerts, on cases small enough to check on paper."""

import numpy as np
import pytest

from benchmarks.alerts.measures import FoundAlert, Truth, measure, recall_at_budget
from smkc.errors import InputError

NAN = float("nan")


def truth(n_rows, *events, guilty=(), step=60.0):
    labels = np.zeros(n_rows, bool)
    for start, stop in events:
        labels[start:stop] = True
    return Truth(labels, step, tuple(frozenset(names) for names in guilty))


def figures(about, *alerts, scores=None, service=lambda name: None):
    alerts = [FoundAlert(*alert) for alert in alerts]
    given = np.zeros(len(about.labels)) if scores is None else scores
    return measure(about, alerts, given, service)


# One event, rows 50 to 59. An alert finds it from row 50 to row 69, and is not false from row 48
# on.
ONE = truth(100, (50, 60))


@pytest.mark.parametrize(
    ("alert", "n_found", "n_false"),
    [
        ((40, 47), 0, 1),  # ends 3 rows before: false
        ((40, 48), 0, 0),  # ends 2 rows before: neither found nor false
        ((40, 49), 0, 0),
        ((40, 50), 1, 0),  # reaches the first row
        ((55, 56), 1, 0),
        ((60, 60), 1, 0),  # the row after the last
        ((69, 80), 1, 0),  # the 10th row after the last
        ((70, 80), 0, 1),  # the 11th
    ],
)
def test_an_alert_finds_an_event_until_ten_rows_after_and_is_false_before_two_rows_ahead(
    alert, n_found, n_false
):
    found = figures(ONE, alert)
    assert (found["n_found"], found["n_false"]) == (n_found, n_false)
    assert found["recall"] == n_found


def test_false_alerts_are_counted_per_normal_row_and_per_day():
    # Rows 48 to 69 are near the event, so that 78 of 100 are normal.
    found = figures(ONE, (0, 1), (5, 30), (52, 53), (90, 99))
    assert (found["n_alerts"], found["n_false"], found["n_normal"]) == (4, 3, 78)
    assert found["false_per_1000"] == pytest.approx(1000 * 3 / 78)
    assert found["false_per_day"] == pytest.approx(3 / 78 * 1440)  # a row per minute
    assert found["alerted"] == pytest.approx((2 + 26 + 10) / 78)


def test_one_alert_over_two_events_finds_both_and_is_late_for_the_first_alone():
    about = truth(200, (50, 60), (100, 110))
    found = figures(about, (54, 105))
    assert (found["n_found"], found["n_false"], found["delay"]) == (2, 0, 2.0)  # of 4 and 0
    assert (found["recall"], found["opened"]) == (1.0, 0.5), "it began at the first alone"


@pytest.mark.parametrize(("first", "opened"), [(29, 0), (30, 1), (59, 1), (69, 1), (70, 0)])
def test_an_alert_begins_at_an_event_from_20_rows_before_to_ten_after(first, opened):
    assert figures(ONE, (first, 99))["opened"] == opened


def test_an_alert_that_ends_before_an_event_does_not_count_as_begun_at_it():
    assert figures(ONE, (40, 49))["opened"] == 0


def test_an_event_at_the_end_of_the_recording_has_no_rows_after():
    about = truth(100, (95, 100))
    assert figures(about, (99, 99))["recall"] == 1
    assert figures(about, (99, 99))["n_normal"] == 93
    assert figures(about, (80, 94))["recall"] == 0


def test_the_delay_is_that_of_the_first_alert_of_each_event_found():
    about = truth(300, (50, 70), (100, 110), (200, 210))
    found = figures(about, (55, 56), (60, 65), (113, 114))
    assert (found["n_found"], found["delay"]) == (2, (5 + 13) / 2)
    assert np.isnan(figures(about)["delay"])


def test_naming_counts_found_events_with_known_variables():
    about = truth(400, (50, 60), (100, 110), (200, 210), (300, 310), guilty=["a", "bc", "", "d"])
    alerts = [(50, 52, ("a", "x")), (100, 101, ("x", "y", "c")), (200, 201, ("x",))]
    found = figures(about, *alerts)
    assert (found["n_found"], found["n_blamed"]) == (3, 2)
    assert (found["named_first"], found["named_three"]) == (0.5, 1.0)
    nameless = figures(about, (50, 52), (100, 101))
    assert (nameless["named_first"], nameless["named_three"]) == (0, 0)
    assert np.isnan(figures(about, (200, 201))["named_first"])


def test_another_variable_of_the_guilty_service_counts_as_named():
    about = truth(100, (50, 60), guilty=[["cart_cpu"]])
    alerts = [(50, 52, ("free", "cart_mem"))]
    assert figures(about, *alerts)["named_three"] == 0
    found = figures(about, *alerts, service=lambda name: name.partition("_")[0])
    assert (found["named_first"], found["named_three"]) == (0, 1)
    without = figures(about, *alerts, service=lambda name: None)
    assert without["named_three"] == 0, "no service is not a service"


def test_a_quiet_recording_has_false_alerts_alone():
    found = figures(truth(1000), (10, 20), (500, 510))
    assert found["false_per_1000"] == 2.0
    assert np.isnan([found["recall"], found["r1k"], found["named_first"], found["delay"]]).all()


def test_without_normal_rows_nothing_is_false():
    found = figures(truth(30, (2, 20)), (0, 29))
    assert (found["n_normal"], found["n_false"], found["false_per_1000"]) == (0, 0, 0.0)
    assert np.isnan(found["alerted"])


def scored(n_rows, **marks):
    scores = np.zeros(n_rows)
    for row, value in marks.items():
        scores[int(row[1:])] = value
    return scores


def test_r1k_lowers_the_threshold_until_a_second_false_episode():
    about = truth(500, (100, 110), (200, 210), (300, 310))
    # One false episode at 9; the first event at 8; a second false episode at 7; the others below.
    scores = scored(500, r10=9, r105=8, r400=7, r205=6)
    assert recall_at_budget(about, scores) == pytest.approx(1 / 3)
    # Marks 20 rows apart are one episode; 21 rows apart are two.
    assert recall_at_budget(about, scored(500, r10=9, r30=7, r205=6, r105=8)) == pytest.approx(
        2 / 3
    )
    assert recall_at_budget(about, scored(500, r10=9, r31=7, r205=6, r105=8)) == pytest.approx(
        1 / 3
    )


def test_r1k_counts_two_episodes_that_grow_together_as_one_again_too_late():
    about = truth(500, (200, 210))
    # Rows 10 and 40 are two episodes before row 25 joins them: the scan has ended by then.
    assert recall_at_budget(about, scored(500, r10=9, r40=8, r25=7, r205=6)) == 0
    assert recall_at_budget(about, scored(500, r10=9, r25=8, r40=7, r205=6)) == 1


def test_r1k_takes_rows_of_one_score_together():
    about = truth(500, (200, 210))
    assert recall_at_budget(about, scored(500, r10=5, r60=5, r205=5)) == 0
    assert recall_at_budget(about, scored(500, r10=5, r20=5, r205=5)) == 1


def test_r1k_allows_one_false_episode_per_1000_normal_rows():
    about = truth(3000, (1500, 1510))
    marks = {f"r{at}": 9.0 for at in (100, 400, 700)}
    assert recall_at_budget(about, scored(3000, **marks, r1505=5)) == 1
    assert recall_at_budget(about, scored(3000, **marks, r1000=9, r1505=5)) == 0


def test_r1k_asks_for_a_mark_in_the_event_itself_and_forgives_marks_beside_it():
    about = truth(500, (200, 210))
    beside = scored(500, r10=9, r400=5, r198=8, r219=8)
    assert recall_at_budget(about, beside) == 0
    assert recall_at_budget(about, beside + scored(500, r209=7)) == 1


def test_r1k_does_not_mark_rows_without_a_score():
    about = truth(500, (200, 210))
    scores = np.full(500, NAN)
    scores[10] = 1.0
    assert recall_at_budget(about, scores) == 0
    with pytest.raises(InputError, match="give one per row"):
        recall_at_budget(about, scores[:10])
