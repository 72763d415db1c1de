import pytest

from smkc import Detector
from smkc.errors import SettingError
from smkc.serve.config import WatchConfig


def test_what_follows_from_the_step():
    watch = WatchConfig(name="a", query="up", step=300_000)
    assert watch.lateness == 300_000
    assert watch.history == 2 * 240 * 300_000
    assert WatchConfig(name="a", query="up", lateness=0).lateness == 0


def test_settings_of_the_detector_fit_it():
    watch = WatchConfig(name="a", query="up", detector={"window": 8, "align": "prompt"})
    Detector(identity=watch.families, **watch.detector)
    unfit = ({"scaling": None}, {"window": "long"}, {"epochs": 3}, {"false_alarm_rate": 0.1})
    for given in unfit:
        with pytest.raises(SettingError, match="detector: "):
            WatchConfig(name="a", query="up", detector=given)


def test_it_cannot_be_changed():
    watch = WatchConfig(name="a", query="up")
    with pytest.raises(AttributeError):
        watch.step = 3
