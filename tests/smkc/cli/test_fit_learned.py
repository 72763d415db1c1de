import json
import sys
from pathlib import Path

import pytest
from tests.smkc.cli.conftest import run, wrong

from smkc.cli.settings import gather
from smkc.errors import SettingError
from smkc.loading import load

pytestmark = pytest.mark.deep

TINY = "width=16,layers=1,heads=2,expansion=2,stem_width=8,n_masks=2,decoder_layers=1"
# A fifth of 1,500 rows calibrates: too few for a rate of 0.01.
QUICK = ["--window", "16", "--false-alarm-rate", "0.05"]
TRAINED = ["--detector", "recon", "--device", "cpu", "--set", "epochs=2"]
SMALL = [part for option in TINY.split(",") for part in ("--set", f"learn.{option}")]


@pytest.fixture(scope="module")
def model(files, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("model") / "trained.smkc"
    done = run("fit", str(files.reference), "--out", str(out), *QUICK, *TRAINED, *SMALL)
    assert done.exit_code == 0, done.output
    assert "Learned from 1,500 rows of 4 variables" in " ".join(done.stdout.split())
    return out


def test_trained_model_reports_its_training(model) -> None:
    detector = load(model)
    assert (detector.kind, detector.device, detector.epochs) == ("recon", "cpu", 2)
    assert detector.learn["width"] == 16


def test_detect_and_explain_with_a_trained_model(files, model) -> None:
    done = run("detect", str(files.live), "--model", str(model), "--json")
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)["results"]
    assert any(alert["causes"][0]["variable"] == "disk" for alert in result["alerts"])
    done = run("explain", str(files.live), "--model", str(model), "--at", "2026-01-05T01:16:30Z")
    assert done.exit_code == 0, done.output
    assert "disk" in done.stdout


def test_detect_can_train_too(files) -> None:
    settings = ["--set", "detector=recon", "--set", "epochs=1", *SMALL]
    reference = ["--reference", str(files.reference)]
    done = run("detect", str(files.live), *reference, *QUICK, *settings, "--json")
    assert done.exit_code == 0, done.output


def test_fit_reports_the_detector_as_json(files, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "m.smkc"), "--json"]
    done = run("fit", str(files.reference), *out, *QUICK)
    assert json.loads(done.stdout)["detector"] == "evidence"


def test_progress_shows_the_training(files, tmp_path: Path, monkeypatch) -> None:
    from smkc import progress

    monkeypatch.setenv("SMKC_PROGRESS", "1")
    monkeypatch.setattr(progress, "APPEARS_AFTER_SECONDS", 0.0)
    out = ["--out", str(tmp_path / "m.smkc")]
    done = run("fit", str(files.reference), *out, *QUICK, *TRAINED, *SMALL)
    assert done.exit_code == 0, done.output
    assert "training" in done.stderr


def test_what_cannot_be_trained(files, tmp_path: Path) -> None:
    fit = ["fit", str(files.reference), "--out", str(tmp_path / "m.smkc"), *QUICK]
    wrong(run(*fit, "--detector", "forest"), "forest")
    wrong(run(*fit, "--detector", "recon", "--device", "tpu"), "tpu")
    wrong(run(*fit, "--device", "cuda"), "no setting 'device'", "--detector knn")
    wrong(run(*fit, "--detector", "recon", "--set", "learn.widht=3"), "did you mean 'width'")
    wrong(run(*fit, "--detector", "recon", "--set", "epochs=0"), "epochs=0")
    assert not (tmp_path / "m.smkc").exists()


def test_without_torch_the_extra_is_named(files, tmp_path: Path, monkeypatch) -> None:
    for name in list(sys.modules):
        if name.startswith("smkc.paper.learn"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    out = ["--out", str(tmp_path / "m.smkc")]
    wrong(run("fit", str(files.reference), *out, "--detector", "recon"), 'pip install ".[deep]"')


def test_options_of_training_from_file_and_command_line(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(
        '[detector]\ndetector = "recon"\nepochs = 9\n[detector.learn]\nwidth = 64\nheads = 8\n'
    )
    found = gather(config, ["learn.width=32", "epochs=3", "learn.backbone=linear"]).detector
    assert found == {
        "detector": "recon",
        "epochs": 3,
        "learn": {"width": 32, "heads": 8, "backbone": "linear"},
    }
    assert gather(None, ["learn={width=32}", "learn.heads=2"]).detector == {
        "learn": {"width": 32, "heads": 2}
    }
    assert gather(config, ["learn=none"]).detector["learn"] is None
    with pytest.raises(SettingError, match="no setting 'lern'"):
        gather(None, ["lern.width=3"])
