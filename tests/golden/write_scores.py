"""Writes scores.json: one small scored run, its input included.

Scores may differ from it in the last digits on another processor, and in no other way. A change
beyond that is a change of the method: stored models and thresholds no longer mean what they did.
Say so in the changelog, then run ``python -m tests.golden.write_scores``.
"""

import json
from pathlib import Path

import numpy as np
from tests import worlds

from smkc.paper import KnnDetector
from smkc.recording import Recording

TARGET = Path(__file__).with_name("scores.json")
SETTINGS = {"window": 12, "neighbours": 5, "components": 32, "buckets": 32, "false_alarm_rate": 0.1}
N_REFERENCE = 150


def made() -> list[dict[str, float]]:
    """Return rows with churn and a fault, in round numbers."""
    rng = np.random.default_rng(2026)
    table = worlds.churn(rng, worlds.coupled(rng, 220, 4))
    worlds.spike(rng, table, 190, 0)
    recording = worlds.recording_of(table)
    rows = [recording.row(t) for t in range(len(recording))]
    return [{name: round(value, 2) for name, value in row.items()} for row in rows]


def scored(rows: list[dict[str, float]]) -> dict:
    """Return what the detector makes of the rows."""
    recording = Recording.from_rows(range(len(rows)), rows)
    det = KnnDetector(**SETTINGS).fit(recording.rows(0, N_REFERENCE))
    live = recording.rows(N_REFERENCE)
    windows = det.score_windows(live)
    return {
        "score": windows.score.tolist(),
        "p_value": windows.p_value.tolist(),
        "threshold": det.threshold_,
        "alerts": [
            [int(alert.start), int(alert.end), alert.causes[0].variable]
            for alert in det.alerts(live)
        ],
    }


def main() -> None:
    """Write the file beside this script."""
    rows = made()
    lines = ",\n".join(json.dumps(row) for row in rows)
    found = json.dumps(scored(rows))
    TARGET.write_text(f'{{"rows": [\n{lines}\n],\n"found": {found}}}\n', encoding="ascii")


if __name__ == "__main__":
    main()
