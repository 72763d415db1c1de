"""What the doctor says of a recording besides its verdict."""

import numpy as np
import pytest
from tests import worlds

from smkc.detector import Detector
from smkc.doctor import diagnose
from smkc.errors import SettingError


@pytest.mark.parametrize(
    ("settings", "told"),
    [({}, "3 daily"), ({"time_zone": "Asia/Kolkata"}, "3 daily, by the clock of Asia/Kolkata")],
)
def test_seasons_are_reported(rng, settings, told):
    hours = np.arange(24 * 60)
    times = np.datetime64("2026-01-05T00", "s") + 3600 * hours
    load = np.sin(2 * np.pi * hours / 24)
    columns = {f"v{j}": load + 0.2 * rng.normal(size=len(hours)) for j in range(3)}
    columns["noise"] = rng.normal(size=len(hours))
    findings = diagnose({"time": times, **columns}, Detector(**settings)).findings
    assert [one.evidence for one in findings if one.problem == "seasons"] == [told]


def test_only_the_requested_sizes_are_planted():
    table = worlds.coupled(np.random.default_rng(0), 600, 6)
    columns = {f"v{j}": column for j, column in enumerate(table.T)}
    found = diagnose({"time": np.arange(600), **columns}, share=0.5, places=3, sizes=("large",))
    assert found.outcomes
    assert {one.size for one in found.outcomes} == {2}
    assert "too little data" not in [one.problem for one in found.findings]


def test_sizes_must_be_known_and_large_among_them():
    for sizes in ((), ("small",), ("large", "huge")):
        with pytest.raises(SettingError, match="give 'large'"):
            diagnose({"time": np.arange(9), "a": np.arange(9.0)}, sizes=sizes)
