"""Threads: order, errors, reuse of memory, and processes that fork."""

import multiprocessing
import threading
import time

import numpy as np
import pytest
from tests import promise, worlds

from smkc.paper import KnnDetector
from smkc.parallel import (
    in_threads,
    n_threads,
    products_on_one_thread,
    scratch,
)


def test_results_come_in_the_order_of_the_parts(monkeypatch):
    monkeypatch.setenv("SMKC_THREADS", "3")

    def slow_first(part):
        time.sleep(0.02 if part == 0 else 0.0)
        return part * part

    assert list(in_threads(slow_first, range(20))) == [part * part for part in range(20)]


def test_an_error_in_a_part_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda part: 1 // part, [2, 1, 0]))


def test_parts_are_taken_up_only_a_little_ahead(monkeypatch):
    monkeypatch.setenv("SMKC_THREADS", "2")
    taken = []

    def parts():
        for part in range(100):
            taken.append(part)
            yield part

    results = in_threads(abs, parts())
    next(iter(results))
    assert len(taken) <= 6


@pytest.mark.parametrize(("asked", "expected"), [("1", 1), ("7", 7), ("0", 1)])
def test_the_environment_decides_how_many_threads(monkeypatch, asked, expected):
    monkeypatch.setenv("SMKC_THREADS", asked)
    assert n_threads() == expected


def test_scratch_is_the_same_memory_for_one_purpose_in_one_thread():
    first, second = scratch("a", (3, 4)), scratch("a", (2, 2))
    other = scratch("b", (3, 4))
    assert np.shares_memory(first, second)
    assert not np.shares_memory(first, other)
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(scratch("a", (3, 4))))
    thread.start()
    thread.join()
    assert not np.shares_memory(first, elsewhere[0])


def test_the_number_of_threads_changes_no_score(monkeypatch, rng):
    recording = worlds.recording_of(worlds.coupled(rng, 700, 5))
    scores = []
    for n in ("1", "2", "5"):
        monkeypatch.setenv("SMKC_THREADS", n)
        detector = KnnDetector(window=16, neighbours=5).fit(recording.rows(0, 400))
        scores.append(detector.score_windows(recording).score)
    promise.assert_scores_agree(scores[0], scores[1])
    promise.assert_scores_agree(scores[0], scores[2])


def _sum_of_scores(queue, detector, recording):
    queue.put(float(detector.decision_function(recording).sum()))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_scores_too(rng):
    recording = worlds.recording_of(worlds.coupled(rng, 400, 4))
    detector = KnnDetector(window=16, neighbours=5).fit(recording)
    expected = float(detector.decision_function(recording).sum())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_sum_of_scores, args=(queue, detector, recording))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(timeout=60)


def test_products_stay_on_one_thread_inside_the_block_only():
    from threadpoolctl import threadpool_info

    def blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = blas_threads()
    with products_on_one_thread():
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before
