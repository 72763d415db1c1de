"""Writes tsb_ad.json and vldb22.json: volumes under the surface from their own packages.

Each package has its own demands on NumPy, so that each file is written in an environment of its
own, from the root of the project::

    python -m venv /tmp/tsb_ad
    /tmp/tsb_ad/bin/pip install --no-deps TSB-AD==1.5
    /tmp/tsb_ad/bin/pip install "numpy<2" scipy scikit-learn statsmodels
    /tmp/tsb_ad/bin/python -m tests.golden.vus.write_vus tsb_ad

    python -m venv /tmp/vldb22
    /tmp/vldb22/bin/pip install aeon==1.6.0
    /tmp/vldb22/bin/python -m tests.golden.vus.write_vus vldb22

The files say which versions wrote them. They are what the definitions mean: a value of ours that
differs is an error of ours.
"""

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from tests.golden.vus import cases

HERE = Path(__file__).parent


def _tsb_ad():
    from TSB_AD.evaluation.basic_metrics import generate_curve
    from TSB_AD.utils.slidingWindows import find_length_rank

    def volumes(truth, scores, window):
        *_, roc, pr = generate_curve(truth, scores, window, version="opt", thre=250)
        return {"pr": float(pr), "roc": float(roc)}

    lengths = {
        name: {
            "digest": cases.digest(cases.periodic(name)),
            "length": int(find_length_rank(cases.periodic(name), rank=1)),
        }
        for name in cases.PERIODIC
    }
    return volumes, ["TSB-AD", "numpy", "scipy", "statsmodels"], {"window_length": lengths}


def _vldb22():
    from aeon.benchmarking.metrics.anomaly_detection import range_pr_vus_score, range_roc_vus_score

    def volumes(truth, scores, window):
        pr = range_pr_vus_score(truth, scores, max_buffer_size=window)
        roc = range_roc_vus_score(truth, scores, max_buffer_size=window)
        return {"pr": float(pr), "roc": float(roc)}

    return volumes, ["aeon", "numpy"], {}


def main(definition):
    """Write the file of one definition beside this script."""
    volumes, packages, more = {"tsb_ad": _tsb_ad, "vldb22": _vldb22}[definition]()
    recordings = {}
    for name in cases.RECORDINGS:
        truth, scores = cases.recording(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant scores; a window of no length
            values = {str(window): volumes(truth, scores, window) for window in cases.WINDOWS}
        recordings[name] = {"digest": cases.digest(truth, scores), "windows": values}
    found = {
        "packages": {package: version(package) for package in packages},
        "recordings": recordings,
        **more,
    }
    target = HERE / f"{definition}.json"
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1])
