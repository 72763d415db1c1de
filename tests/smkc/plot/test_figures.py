import sys
from pathlib import Path

import numpy as np
import pytest

import smkc
from smkc import plot
from smkc.errors import InputError, MissingExtraError
from smkc.fleet import Incident
from smkc.recording import Recording


def test_each_figure_becomes_a_png(watched, tmp_path: Path) -> None:
    recording, detector, alerts = watched.recording, watched.detector, watched.alerts
    incident = Incident(
        start=recording.times[190], end=recording.times[210], kind="x", story="", variables=()
    )
    scores = detector.decision_function(recording)
    views = plot.view_alerts(watched.scored)
    figures = {
        "score": plot.score_figure(
            recording.times, scores, detector.threshold_, alerts, [incident]
        ),
        "presence": plot.presence_figure(recording, alerts, [incident]),
        "traces": plot.trace_figure(views[0]),
    }
    for name, figure in figures.items():
        path = plot.save_png(figure, tmp_path / "new" / f"{name}.png")
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 5000


def test_score_figure_shows_peak_threshold_and_bands(watched) -> None:
    recording, alerts = watched.recording, watched.alerts
    scores = watched.detector.decision_function(recording)
    axes = plot.score_figure(recording.times, scores, 0.123, alerts).axes[0]
    line, threshold = axes.lines
    assert line.get_ydata().max() == np.nanmax(scores)
    assert set(threshold.get_ydata()) == {0.123}
    assert len(axes.patches) == len(alerts)


def test_views_show_the_peak_beside_a_normal_window(watched) -> None:
    views = plot.view_alerts(watched.scored)
    strongest = views[0]
    assert [view.alert.p_value for view in views] == sorted(v.alert.p_value for v in views)
    assert watched.alerts[strongest.number - 1] is strongest.alert
    assert strongest.detail.kernel.shape == strongest.detail.normal.shape == (6, 16, 16)
    assert strongest.detail.window[0] <= watched.recording.times[209]
    assert strongest.detail.window[1] >= watched.recording.times[200]
    assert not np.array_equal(strongest.detail.kernel, strongest.detail.normal)
    assert 1 <= len(strongest.traces) <= 4
    for alert in watched.alerts:
        start, end = strongest.detail.normal_window
        assert end < alert.start or start > alert.end


def test_no_alerts_no_views(watched) -> None:
    assert plot.view_alerts(watched.scored, []) == []


def test_presence_of_a_recording_without_observations() -> None:
    upper, lower = plot.presence_figure(Recording.from_rows([0, 1], [{}, {}])).axes
    (line,) = upper.lines
    assert line.get_ydata().tolist() == [0, 0]
    assert not lower.collections


def test_wrong_shapes_and_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 times for 3 scores"):
        plot.score_figure([1, 2], [1, 2, 3])
    figure = plot.score_figure(np.arange(3), np.zeros(3))
    with pytest.raises(InputError, match=r"NAME\.png"):
        plot.save_png(figure, tmp_path / "picture.jpg")


def test_missing_extra_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[plot\]"'):
        plot.score_figure(np.arange(3), np.zeros(3))


def test_the_usual_band_follows_the_time_of_day():
    rng = np.random.default_rng(0)
    times = np.datetime64("2026-05-04") + np.arange(10 * 144) * np.timedelta64(10, "m")
    hour = np.arange(len(times)) / 6 % 24
    table = {
        "time": times,
        "load": 40 + 25 * np.sin(hour / 24 * 2 * np.pi) + rng.normal(size=len(times)),
        "steady": rng.normal(size=len(times)),
        "hits_total": np.cumsum(rng.poisson(20, len(times))).astype(float),
    }
    whole = smkc.read(table)
    learned = smkc.Detector(false_alarm_rate=0.01).fit(whole.rows(0, 1000).canonical()).fitted_
    drawn = whole.times[1000:1144]
    low, high = learned.usual_band("load", drawn)
    values = whole.trace("load")[1000:1144]
    assert ((values > low) & (values < high)).mean() > 0.95
    assert np.ptp(low) > 30
    low, high = learned.usual_band("steady", drawn)
    assert (np.ptp(low), np.ptp(high)) == (0, 0)
    assert low[0] == pytest.approx(-3, abs=0.4)
    assert high[0] == pytest.approx(3, abs=0.4)
    assert learned.usual_band("hits_total", drawn) is None
    assert learned.usual_band("unknown", drawn) is None
