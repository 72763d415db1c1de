import re
import sys

import numpy as np
import pytest

import smkc
from smkc.errors import MissingExtraError
from smkc.plot.page import need
from smkc.plot.pictures import VIRIDIS, _strip, evidence_strips
from smkc.plot.views import view_alerts


def test_the_strongest_alerts_come_first_with_their_main_causes(watched) -> None:
    views = view_alerts(watched.scored, watched.alerts, 12)
    strongest = views[0]
    assert [view.alert.p_value for view in views] == sorted(v.alert.p_value for v in views)
    assert watched.alerts[strongest.number - 1] is strongest.alert
    assert 1 <= len(strongest.traces) <= 4
    assert strongest.times[0] < strongest.alert.start
    assert strongest.times[-1] > strongest.alert.end
    assert strongest.nats == {}  # a detector of the paper
    assert evidence_strips(strongest)["strips"] == []
    assert view_alerts(watched.scored, [], 12) == []


def test_a_strip_is_as_bright_as_its_evidence_is_surprised(rng: np.random.Generator) -> None:
    table = {"time": np.arange(900), "cpu": rng.normal(size=900)}
    table["cpu"][700:705] += 30
    detector = smkc.Detector(false_alarm_rate=0.01).fit({k: v[:600] for k, v in table.items()})
    scored = detector.score({k: v[600:] for k, v in table.items()})
    (view, *_) = view_alerts(scored, scored.alerts(), 1)
    drawn = evidence_strips(view)
    assert [strip["name"] for strip in drawn["strips"]] == list(scored.evidences)
    assert drawn["high"] == max(10.0, *(strip["most"] for strip in drawn["strips"]))
    for strip in drawn["strips"]:
        nats = view.nats[strip["name"]]
        assert strip["most"] == np.nanmax(nats, initial=0.0)
        colours = re.findall("#([0-9a-f]{6}) 0 ", strip["picture"])
        assert len(colours) == len(nats)
        greens = np.array([int(colour[2:4], 16) for colour in colours])  # rise from dark to bright
        dark, bright = (int(VIRIDIS[at][2:4], 16) for at in (0, -1))
        known = ~np.isnan(nats)
        assert (greens[~known] == dark).all()
        assert (np.diff(greens[known][np.argsort(nats[known])]) >= 0).all()
        assert (greens[known][nats[known] >= drawn["high"]] == bright).all()


def test_a_long_strip_keeps_its_peaks() -> None:
    nats = np.zeros(100_001)
    nats[[70_000, -1]] = 10
    drawn = _strip(nats, 10.0)
    assert len(drawn) < 15_000
    bright = [stop.split() for stop in drawn.split(", ") if VIRIDIS[-1] in stop]
    assert [float(end.strip("%)")) for _, _, end in bright] == pytest.approx([70, 100], abs=0.25)


def test_missing_extra_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[plot\]"'):
        need("jinja2")


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
