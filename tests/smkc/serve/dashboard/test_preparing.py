"""What takes long the first time is begun once and waited for by nobody."""

import threading

import numpy as np

from smkc.serve.dashboard import Preparing, warm_up


def test_it_is_begun_when_asked_for_and_done_once():
    begun, may_end = [], threading.Event()

    def work():
        begun.append(threading.current_thread().name)
        may_end.wait(30)

    preparing = Preparing(work)
    assert begun == []
    assert not preparing.is_done(within_s=0.01)
    assert not preparing.is_done(within_s=0.0)
    may_end.set()
    assert preparing.is_done(within_s=30)
    assert preparing.is_done(within_s=0.0)
    assert begun == ["smkc-prepare"]


def test_a_failure_is_left_to_whoever_needs_it(caplog):
    preparing = Preparing(lambda: 1 / 0)
    assert preparing.is_done(within_s=30)
    assert "could not be prepared" in caplog.text


def test_the_made_up_rows_can_be_drawn():
    with np.errstate(all="raise"):
        warm_up()
