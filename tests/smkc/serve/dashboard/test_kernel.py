"""An alert's window beside a normal one, from rows of a real store."""

import base64
import json

import numpy as np
import pytest

from smkc.paper.kernel import CHANNELS
from smkc.serve.dashboard import kernel_view
from smkc.serve.dashboard.kernel import WINDOW
from smkc.serve.rows import AlertRecord, Row
from smkc.serve.store import Store

STEP = 15_000
START = 1_790_000_010_000 // STEP * STEP


def alert(first, last, peak):
    return AlertRecord(
        id="00112233445566aa",
        watch="shop",
        entity="",
        start=START + first * STEP,
        end=START + last * STEP,
        peak=START + peak * STEP,
        first_row=first,
        last_row=last,
        peak_row=peak,
        anomaly=1.5,
        p_value=1e-5,
        is_open=False,
        evidences={},
        causes_at=START + peak * STEP,
        causes_row=peak,
        causes_anomaly=1.5,
        told_anomaly=1.5,
    )


@pytest.fixture
def lane(tmp_path, rng):
    """300 calm rows of ten variables but for rows 200 to 219, where half of them move."""
    values = rng.normal(size=(300, 10)).astype(np.float32)
    values[200:220, :5] += 30
    names = tuple(f"v{i}" for i in range(10))
    store = Store.open(tmp_path)
    lane = store.lane("shop", "")
    rows = [Row(time=START + at * STEP, names=names, values=one) for at, one in enumerate(values)]
    lane.commit(rows, [None] * len(rows), [], [])
    yield lane
    store.close()


def picture(text):
    levels = np.frombuffer(base64.b64decode(text), np.uint8)
    return levels.reshape(WINDOW, WINDOW)


def test_the_alert_stands_out_from_a_window_before_it(lane):
    view = kernel_view(lane, alert(200, 219, 205))
    assert [channel["name"] for channel in view["channels"]] == list(CHANNELS)
    first, last = view["window"]
    assert first <= START + 200 * STEP <= START + 205 * STEP <= last
    assert last - first == (WINDOW - 1) * STEP
    assert view["normal_window"][1] < START + 200 * STEP
    by_name = {channel["name"]: channel for channel in view["channels"]}
    distance = by_name["log_g"]
    assert picture(distance["alert"]).std() > 2 * picture(distance["normal"]).std()
    assert distance["low"] < distance["high"]
    assert json.loads(json.dumps(view, allow_nan=False)) == view


def test_pictures_are_symmetric(lane):
    for channel in kernel_view(lane, alert(200, 219, 205))["channels"]:
        for which in ("normal", "alert"):
            assert (picture(channel[which]) == picture(channel[which]).T).all()


def test_an_alert_at_the_latest_row_is_shown_too(lane):
    view = kernel_view(lane, alert(299, 299, 299))
    assert view["window"][1] == START + 299 * STEP


def test_too_few_rows_give_nothing(lane):
    assert kernel_view(lane, alert(WINDOW - 2, WINDOW - 1, WINDOW - 2)) is None
    assert kernel_view(lane, alert(5, 5, 5)) is None
