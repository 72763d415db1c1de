"""What a lane's model would catch: found out beside, kept, and told where people look."""

import json
from dataclasses import asdict, replace

import pytest
from tests.following import made_rows, push_config, wait_until
from tests.smkc.serve.lane.parts import LEAST, feed, lane_in

from smkc.doctor.planting import KINDS
from smkc.serve.lane import testing
from smkc.serve.lane.follower import recording_of
from smkc.serve.lane.testing import told, tried
from smkc.serve.view import SelfTest

ROWS = made_rows(3, 320)


def config(folder):
    return push_config(folder, self_test=True)


def outcome_of(lane):
    """Wait until the model was tested; return what came of it."""

    def is_known():
        lane.look_after_model()
        return lane.status(0).self_test

    wait_until(is_known, 300.0, pause=0.05)
    return lane.status(0).self_test


@pytest.fixture(scope="module")
def expected():
    watch = config("unused").watches[0]
    return told(tried(recording_of(ROWS[:LEAST]), watch), watch)


def test_rows_go_on_and_the_result_is_kept(tmp_path, expected):
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        feed(lane, ROWS[:300])
        assert lane.status(0).phase == "following"
        assert outcome_of(lane) == expected
        assert 0 < expected.caught <= expected.planted
        assert expected.rows == LEAST
        assert set(expected.kinds) <= set(KINDS)
        assert len(expected.kinds) >= 6
        for counted in ("planted", "caught"):
            n_all = sum(one[counted] for one in expected.kinds.values())
            assert n_all == getattr(expected, counted)
        assert expected.verdict in ("yes", "partly")
        assert (expected.reason == "") == (expected.verdict == "yes")
        folder = tmp_path / "lanes" / "1"
        assert sorted(one.name for one in folder.glob("self-test*")) == ["self-test.json"]
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        assert lane.status(0).self_test == expected


def test_a_result_of_before_the_kinds_were_counted_is_read(tmp_path, expected):
    folder = tmp_path / "lanes" / "1"
    folder.mkdir(parents=True)
    before = {name: value for name, value in asdict(expected).items() if name != "kinds"}
    (folder / testing.RESULT).write_text(json.dumps({"row": 7, "result": before}))
    found = testing.SelfTesting(folder, config(tmp_path).watches[0], 7).result
    assert found == replace(expected, kinds={})


def test_a_test_that_was_cut_short_begins_anew(tmp_path, expected):
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        feed(lane, ROWS[:250])
        lane.model.testing._process.kill()
        lane.stop()
        assert lane.status(0).self_test is None
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        assert outcome_of(lane) == expected


def test_each_new_model_is_tested(tmp_path, expected):
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        feed(lane, ROWS[:300])
        outcome_of(lane)
        lane.refit("asked for")
        lane.model._beside._process.wait()
        lane.look_after_model()
        assert lane.model.fitted_at == 300
        assert lane.status(0).self_test is None
        assert outcome_of(lane).rows == 300


def test_one_runs_at_a_time_and_the_next_has_its_turn(tmp_path, expected):
    one, other = tmp_path / "one", tmp_path / "other"
    with (
        lane_in(one, config=config(one)) as first,
        lane_in(other, config=config(other)) as second,
    ):
        feed(first, ROWS[:LEAST])
        feed(second, ROWS[:LEAST])
        assert first.model.testing._process is not None
        assert second.model.testing._process is None
        assert outcome_of(first) == outcome_of(second) == expected


@pytest.mark.parametrize(
    ("how", "reason"), [("damaged", "refit|damaged|smkc"), ("slow", "took longer than 0 minutes")]
)
def test_a_test_that_fails_says_so_and_is_not_repeated(tmp_path, monkeypatch, how, reason):
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        lane.take(ROWS[:LEAST])
        with testing._turn:
            lane.look_after_model()
        if how == "damaged":
            (tmp_path / "lanes" / "1" / testing.REFERENCE).write_bytes(b"no reference")
        else:
            monkeypatch.setattr(testing, "MAX_SECONDS", 0.0)
        found = outcome_of(lane)
        assert (found.verdict, found.planted) == ("unknown", 0)
        assert any(part in found.reason for part in reason.split("|"))
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        assert lane.status(0).self_test == found
        kept = json.loads((tmp_path / "lanes" / "1" / testing.RESULT).read_text())
        assert SelfTest(**kept["result"]) == found


def test_too_few_rows_are_a_reason():
    watch = config("unused").watches[0]
    found = told(tried(recording_of(ROWS[:120]), watch), watch)
    assert (found.verdict, found.planted) == ("no", 0)
    assert found.reason.startswith("too little data: 120 rows; 240 are needed")


def test_a_larger_budget_that_would_catch_more_is_named(expected):
    watch = push_config("unused", false_alarms_per_day=0.01).watches[0]
    found = told(tried(recording_of(ROWS[:LEAST]), watch), watch)
    assert found.caught < found.planted
    if found.caught < expected.caught:
        assert f"of {found.planted}" in found.remedy
    assert found.remedy.startswith("false_alarms_per_day = ")
