"""What the doctor says of a recording besides its verdict."""

import numpy as np

from smkc.doctor import diagnose


def test_seasons_are_told(rng):
    hours = np.arange(24 * 60)
    times = np.datetime64("2026-01-05T00", "s") + 3600 * hours
    load = np.sin(2 * np.pi * hours / 24)
    columns = {f"v{j}": load + 0.2 * rng.normal(size=len(hours)) for j in range(3)}
    columns["noise"] = rng.normal(size=len(hours))
    findings = diagnose({"time": times, **columns}).findings
    told = [one for one in findings if one.problem == "seasons"]
    assert [one.evidence for one in told] == ["3 daily"]
