"""Real telemetry, where it is at hand: files are read as they are, and churn needs no refit."""

import os
from pathlib import Path

import numpy as np
import pytest

import smkc
from smkc.paper import KnnDetector

SOURCES = (
    "set SMKC_DATA to a folder with smd/ and nezha/ as Parquet; public sources: "
    "github NetManAIOps/OmniAnomaly (SMD), github IntelligentDDS/Nezha"
)
DATA = Path(os.environ.get("SMKC_DATA", ""))
pytestmark = pytest.mark.skipif(not os.environ.get("SMKC_DATA"), reason=SOURCES)


@pytest.mark.parametrize("folder", ["asd", "lro", "nasa", "nezha", "petshop", "skab", "smd", "wsn"])
def test_every_file_of_a_folder_becomes_a_recording(folder):
    files = sorted((DATA / folder).glob("*.parquet"))
    assert files
    for file in files:
        recording = smkc.read(file)
        assert len(recording) > 0
        assert "label" not in recording.names
        assert recording.notes.ignored == ("label",)
        assert np.isfinite(recording.values).all()


def test_a_detector_of_one_day_scores_the_next_whose_pods_have_other_names():
    day_1 = smkc.read(DATA / "nezha" / "onlineboutique.day1-normal.train.parquet")
    day_2 = smkc.read(DATA / "nezha" / "onlineboutique.day2.test.parquet")
    assert set(day_1.names) != set(day_2.names)
    detector = KnnDetector(window=16).fit(day_1)
    scores = detector.score_windows(day_2)
    assert np.isfinite(scores.score).all()
    assert scores.n_unscored == 0
    live = detector.stream()
    streamed = [live.push(day_2.times[t], day_2.row(t)) for t in range(200)]
    np.testing.assert_allclose(streamed[15:], scores.score[: 200 - 15], atol=1e-6)
