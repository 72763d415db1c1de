import pytest

from smkc import Detector
from smkc.errors import SettingError
from smkc.serve.config import WatchConfig


def test_what_follows_from_the_step():
    watch = WatchConfig(name="a", query="up", step=300_000)
    assert watch.lateness == 300_000
    assert watch.history == 2 * 240 * 300_000
    assert WatchConfig(name="a", query="up", lateness=0).lateness == 0


@pytest.mark.parametrize(
    ("alarms", "step", "rate"),
    [(1.0, 15_000, 1 / 5760), (24.0, 3_600_000, 0.05), (1e-9, 15_000, 1e-6)],
)
def test_false_alarms_as_a_share_of_rows(alarms, step, rate):
    watch = WatchConfig(name="a", query="up", step=step, false_alarms_a_day=alarms)
    assert watch.false_alarm_rate == pytest.approx(rate)


def test_settings_of_the_detector_fit_it():
    watch = WatchConfig(name="a", query="up", detector={"window": 8, "seed": 3})
    rate = watch.false_alarm_rate
    Detector(identity=watch.families, false_alarm_rate=rate, **watch.detector)
    for given in ({"scaling": None}, {"window": "long"}, {"epochs": 3}):
        with pytest.raises(SettingError, match="detector: "):
            WatchConfig(name="a", query="up", detector=given)


def test_it_cannot_be_changed():
    watch = WatchConfig(name="a", query="up")
    with pytest.raises(AttributeError):
        watch.step = 3
