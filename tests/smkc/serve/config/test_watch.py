import pytest

from smkc import Detector
from smkc.errors import SettingError
from smkc.serve.config import WatchConfig


def test_what_follows_from_the_step():
    watch = WatchConfig(name="a", query="up", step=300_000)
    assert watch.lateness == 300_000
    assert watch.history == 2 * 240 * 300_000
    assert WatchConfig(name="a", query="up", lateness=0).lateness == 0


DAY = 24 * 3_600_000


@pytest.mark.parametrize(
    ("step", "n_series", "history"),
    [
        (15_000, 100, 83 * 3_600_000),  # 20,000 rows, in whole hours
        (15_000, 1_000, 41 * 3_600_000),  # 10 million values
        (15_000, 50_000, DAY // 4),
        (60_000, 100, 7 * DAY),
        (3_600_000, 100, 20 * DAY),  # 2 * min_rows steps
        (15_000, 0, DAY // 4),  # not known
    ],
)
def test_the_history_is_as_long_as_it_can_be_learned_from_in_a_minute(step, n_series, history):
    watch = WatchConfig(name="a", query="up").with_found(step, n_series)
    assert watch.history == history
    assert watch.with_found(step, n_series, kept=DAY).history == min(history, max(DAY, 480 * step))


def test_a_history_that_is_given_stays():
    watch = WatchConfig(name="a", query="up", history=DAY // 2)
    assert watch.has_own_history
    assert watch.with_found(15_000, 100).history == DAY // 2


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
