import re

import numpy as np
import pytest
from tests.smkc.doctor.conftest import Deviation, made, table

import smkc
from smkc.detector import Detector
from smkc.doctor import CHURN, KINDS, Diagnosis, diagnose
from smkc.errors import InputError, SettingError
from smkc.paper import KnnDetector


def problems(diagnosis: Diagnosis) -> list[str]:
    return [one.problem for one in diagnosis.findings]


@pytest.fixture(scope="module")
def sound() -> Diagnosis:
    return diagnose(
        made(np.random.default_rng(7), 2000),
        KnnDetector(window=16, false_alarm_rate=0.01),
        places=4,
    )


def test_working_detector_catches_large_simple_anomalies(sound: Diagnosis) -> None:
    assert sound.verdict in ("yes", "partly")
    assert "the reference seems full of anomalies" not in problems(sound)
    by_kind = {one.kind: one for one in sound.large}
    assert set(by_kind) == set(KINDS) - {"wrong hour"}  # there is no season
    assert "wrong hours were not tried" in problems(sound)
    for kind in ("spike", "level shift"):
        assert by_kind[kind].share == 1.0
        assert by_kind[kind].named >= 3
    assert {one.planted for one in sound.outcomes} == {4}
    assert [one.kind for one in sound.churn] == list(CHURN)
    assert sound.untouched is not None
    assert sound.untouched.rate < 0.03


def test_more_is_caught_of_larger_ones_and_at_higher_rates(sound: Diagnosis) -> None:
    shares = [sound.caught_share(size) for size in range(3)]
    assert shares == sorted(shares)
    for one in sound.outcomes:
        assert one.caught == one.caught_at[sound.rates.index(0.01)]
    assert list(sound.rate_alarms) == sorted(sound.rate_alarms)


def test_same_seed_gives_the_same_diagnosis(sound: Diagnosis) -> None:
    recording = made(np.random.default_rng(7), 2000)
    detector = KnnDetector(window=16, false_alarm_rate=0.01)
    again = diagnose(recording, detector, places=4)
    assert again.to_dict() == sound.to_dict()
    other = diagnose(recording, detector, places=4, seed=1)
    assert other.to_dict()["anomalies"] != sound.to_dict()["anomalies"]


def test_given_detector_is_not_changed() -> None:
    detector = Deviation()
    diagnose(made(np.random.default_rng(1), 600), detector)
    assert vars(detector) == {"sign": 1.0, "false_alarm_rate": 0.01}


@pytest.mark.parametrize(("sign", "problem"), [(0.0, "constant scores"), (-1.0, "reversed scores")])
def test_constant_and_reversed_scores_are_found(
    rng: np.random.Generator, sign: float, problem: str
) -> None:
    recording = made(rng, 1000)
    assert "scores" not in " ".join(problems(diagnose(recording, Deviation())))
    diagnosis = diagnose(recording, Deviation(sign))
    assert diagnosis.verdict == "no"
    assert problems(diagnosis)[0] == problem
    assert diagnosis.findings[0].remedy


def test_too_few_rows_are_reported_with_the_number_needed(rng: np.random.Generator) -> None:
    diagnosis = diagnose(made(rng, 60), KnnDetector(window=16))
    assert diagnosis.verdict == "no"
    assert problems(diagnosis) == ["too little data"]
    assert "60 rows" in diagnosis.findings[0].evidence
    assert "300 rows" in diagnosis.findings[0].remedy
    assert "No: too little data" in str(diagnosis)
    enough = diagnose(made(rng, 300), Deviation())
    assert enough.outcomes


def test_rows_too_few_for_the_detector_are_too_little_data_too(rng: np.random.Generator) -> None:
    diagnosis = diagnose(made(rng, 320), KnnDetector(window=300))
    assert (diagnosis.verdict, problems(diagnosis)) == ("no", ["too little data"])
    assert "the detector says" in diagnosis.findings[0].evidence


@pytest.mark.parametrize(
    "detector",
    [
        KnnDetector(window=16, false_alarm_rate=0.01),
        Detector(window=8, false_alarm_rate=0.01),
    ],
    ids=["knn", "evidence"],
)
def test_reference_full_of_anomalies_is_found(rng: np.random.Generator, detector: Detector) -> None:
    clean = made(rng, 1000)
    values = np.column_stack([clean.trace(name) for name in clean.names]).astype(float)
    for first in range(20, 580, 100):  # thirty rows of a hundred, in the reference alone
        values[first : first + 30, :3] += rng.uniform(8, 16, size=3)
    diagnosis = diagnose(table(values), detector, places=3)
    assert "the reference seems full of anomalies" in problems(diagnosis)
    assert diagnosis.verdict != "yes"


def test_alarms_at_untouched_rows_are_reported_with_their_times(rng: np.random.Generator) -> None:
    recording = made(rng, 1000)
    values = np.column_stack([recording.trace(name) for name in recording.names]).astype(float)
    values[700:] += 4.0  # for good
    diagnosis = diagnose(table(values), Deviation())
    finding = next(one for one in diagnosis.findings if "untouched" in one.problem)
    assert finding.weight == "no"
    assert "2026-01-05T0" in finding.evidence


def test_alarms_under_churn_are_reported(rng: np.random.Generator) -> None:
    class Counts(Deviation):
        """Takes any change of the number of variables for an anomaly."""

        def decision_function(self, recording):
            return super().decision_function(recording) + 99 * (recording.cardinality != 6)

    told = problems(diagnose(made(rng, 1000), Counts()))
    for kind in ("vanish", "appear", "missing"):
        assert f"false alarms under churn ({kind})" in told
    assert "false alarms under churn (rename)" not in told


def test_missed_kinds_are_reported_with_a_sufficient_rate(rng: np.random.Generator) -> None:
    told = {one.problem: one for one in diagnose(made(rng, 1000), Deviation()).findings}
    assert "vanished variables are missed" in told
    remedy = told["vanished variables are missed"].remedy
    assert re.match(r"false_alarm_rate=[\d.]+ would catch|no false_alarm_rate up to", remedy)


def test_a_wrong_hour_is_tried_and_caught_where_there_is_a_season(
    rng: np.random.Generator,
) -> None:
    hours = np.arange(24 * 50)
    load = 10 * np.sin(2 * np.pi * hours / 24)
    values = load[:, None] + rng.normal(size=(len(hours), 4))
    diagnosis = diagnose(table(values, step=3600), Detector(), places=6)
    (large,) = (one for one in diagnosis.large if one.kind == "wrong hour")
    assert large.planted >= 3
    assert large.share >= 0.5


def test_text_and_json_agree(sound: Diagnosis) -> None:
    told, record = str(sound), sound.to_dict()
    assert record["summary"] in told
    for kind in KINDS:
        assert f"\n  {kind} " in told
    assert record["held_out_rows"] == 800
    assert record["detector"]["window"] == 16
    assert "(4 min)" in told  # eight rows of thirty seconds
    for one in record["findings"]:
        assert one["problem"] in told
        assert one["remedy"] in told


def test_other_input_and_wrong_settings(rng: np.random.Generator) -> None:
    frame = {"time": np.arange(60), "cpu": rng.normal(size=60)}
    assert smkc.diagnose(frame, Deviation()).verdict == "no"
    for wrong in ({"share": 0.0}, {"share": 1.0}, {"places": 2}, {"length": 1}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            diagnose(frame, Deviation(), **wrong)
    with pytest.raises(InputError, match="no observations"):
        diagnose(made(rng, 10).rows(0, 0), Deviation())


def test_constant_file_is_distinguished_from_a_bad_detector() -> None:
    diagnosis = diagnose(table(np.ones((400, 3))), KnnDetector(window=16))
    assert diagnosis.verdict == "no"
    assert problems(diagnosis)[0] == "nothing varies"
    assert "constant variables" in problems(diagnosis)
    assert diagnosis.to_dict()["verdict"] == "no"
