"""Conditions: which there are, what they do, and that nobody sees the future."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from tests.benchmarks.real.made_up import made_up_series, two_part_dataset

from benchmarks.real.condition import PARTS, Condition, conditions, scores_of
from benchmarks.real.datasets import DATA_VARIABLE
from smkc.errors import SettingError


class Watchful:
    """A method that remembers how much it was shown."""

    look_ahead = 0
    shown: ClassVar[list[tuple[int, int]]] = []

    def fit(self, reference):
        self.n_known = len(reference)
        self.names = set(reference.names)
        return self

    def score(self, test):
        Watchful.shown.append((self.n_known, len(test)))
        return np.arange(len(test), dtype=float) + 1000 * self.n_known


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    return two_part_dataset(tmp_path)


def test_each_condition_is_there_once(dataset):
    found = conditions(dataset, 3)
    assert len(found) == len(set(found)) == 2 * (1 + 3) + 2 * 2 * 2 * 3
    assert len({str(condition) for condition in found}) == len(found)
    assert len(conditions(dataset, 3, drift=False, prequential=False)) == 1 + 3 + 3


def test_nothing_done_is_the_recording_itself(dataset):
    (series,) = Condition().each(dataset)
    (churned,) = Condition(churn="full", seed=1).each(dataset)
    (drifted,) = Condition(drift=True, seed=1).each(dataset)
    assert len(series.test) == len(churned.test) == len(drifted.test)
    assert not series.origins
    assert len(churned.test.values) < len(series.test.values)
    assert not np.array_equal(drifted.test.values, series.test.values)
    np.testing.assert_array_equal(series.labels, churned.labels)


def test_static_scores_come_from_the_reference_alone():
    series = made_up_series(n_rows=100)
    Watchful.shown = []
    scores = scores_of(Watchful, series, Condition())
    n = len(series.reference)
    assert Watchful.shown == [(n, len(series.test))]
    np.testing.assert_array_equal(scores, np.arange(len(series.test)) + 1000 * n)


def test_prequential_scores_come_from_the_past_alone():
    series = made_up_series(n_rows=100)
    Watchful.shown = []
    scores = scores_of(Watchful, series, Condition(prequential=True))
    n, length = len(series.reference), len(series.test)
    assert len(Watchful.shown) == PARTS
    for known, end in Watchful.shown:
        first = known - n
        assert first < end <= length
        expected = np.arange(first, end) + 1000 * known
        np.testing.assert_array_equal(scores[first:end], expected)
    assert np.isfinite(scores).all()


def test_unknown_churn_is_said():
    with pytest.raises(SettingError, match="none, mild, full"):
        Condition(churn="wild")


def test_a_test_part_before_its_reference_is_moved_behind_it_as_a_whole():
    series = made_up_series(n_rows=100)
    earlier = replace(series.test, times=np.arange(100) - 5000)
    seen = []

    class Looking(Watchful):
        def fit(self, reference):
            seen.append(reference.times)
            return super().fit(reference)

        def score(self, test):
            seen.append(test.times)
            return super().score(test)

    scores_of(Looking, replace(series, test=earlier), Condition(prequential=True))
    assert seen[1][0] == -5000, "nothing is moved before anything is learned from it"
    for known, shown in zip(seen[2::2], seen[3::2], strict=True):
        assert (np.diff(known) > 0).all()
        n_past = len(known) - len(series.reference)
        np.testing.assert_array_equal(shown[:n_past], known[-n_past:])


def test_dates_and_numbers_meet_as_row_numbers():
    series = made_up_series(n_rows=80)
    dated = replace(
        series.test,
        times=np.datetime64("2026-01-01", "ns") + np.arange(80) * np.timedelta64(1, "m"),
    )
    Watchful.shown = []
    scores = scores_of(Watchful, replace(series, test=dated), Condition(prequential=True))
    assert np.isfinite(scores).all()


def test_who_follows_by_itself_is_fitted_once():
    class Following(Watchful):
        follows_by_itself = True

    series = made_up_series(n_rows=100)
    Watchful.shown = []
    scores = scores_of(Following, series, Condition(prequential=True))
    assert Watchful.shown == [(len(series.reference), len(series.test))]
    np.testing.assert_array_equal(scores, scores_of(Following, series, Condition()))
