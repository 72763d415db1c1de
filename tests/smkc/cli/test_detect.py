import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from tests.smkc.cli.conftest import QUICK, START, run, write_wide, wrong

import smkc
from smkc.evidence.fitted import EvidenceFitted
from smkc.paper import KnnDetector

FAULT_START = f"{START + np.timedelta64(300 * 15, 's')}Z"


def detect_json(*arguments: str) -> dict:
    done = run("detect", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def finds_the_fault(result: dict) -> bool:
    return any(
        alert["start"] <= FAULT_START <= alert["end"] and alert["causes"][0]["variable"] == "disk"
        for alert in result["alerts"]
    )


def test_with_a_reference_the_fault_and_its_variable_are_found(files) -> None:
    answer = detect_json(str(files.live), "--reference", str(files.reference), *QUICK)
    (result,) = answer["results"]
    assert finds_the_fault(result)
    assert result["rows"] == 500
    assert result["start"] == "2026-01-05T00:00:00Z"
    assert result["false_alarm_rate"] == 0.01


def test_a_model_says_the_same_as_its_reference(files) -> None:
    by_model = detect_json(str(files.live), "--model", str(files.model))
    by_file = detect_json(str(files.live), "--reference", str(files.reference), *QUICK)
    assert by_model["results"][0]["alerts"] == by_file["results"][0]["alerts"]


def test_learns_from_the_first_part_of_the_file_by_default(
    tmp_path: Path,
) -> None:
    path = write_wide(tmp_path / "one.csv", 2000, seed=3, fault=slice(1500, 1515))
    done = run("detect", str(path), *QUICK)
    assert done.exit_code == 0
    assert "the first 30% of the file (600 rows, to 2026-01-05T02:29:45Z)" in " ".join(
        done.stdout.split()
    )
    assert "disk" in done.stdout
    (result,) = detect_json(str(path), "--reference-share", "0.5", *QUICK)["results"]
    assert result["rows"] == 1000


def test_scores_go_to_parquet_and_csv(files, tmp_path: Path) -> None:
    for name in ("scores.parquet", "scores.csv"):
        out = tmp_path / name
        assert run("detect", str(files.live), "--model", str(files.model), "--out", str(out))
        if name.endswith(".parquet"):
            rows = parquet.read_table(out).to_pylist()
            assert str(rows[0]["time"]) == "2026-01-05 00:00:00+00:00"
        else:
            rows = list(csv.DictReader(out.read_text().splitlines()))
        assert len(rows) == 500
        assert set(rows[0]) == {"time", "score", "anomalous"}
        assert int(rows[305]["anomalous"]) == 1
        assert sum(int(row["anomalous"]) for row in rows) < 150
        assert float(rows[305]["score"]) > float(rows[50]["score"])


def test_report_is_written(files, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = run("detect", str(files.live), "--model", str(files.model), "--report", str(page))
    assert done.exit_code == 0
    assert "Report:" in done.stdout
    assert "live.csv" in page.read_text("utf-8")


def test_fail_on_alert_and_its_absence(files, process) -> None:
    arguments = ["detect", str(files.live), "--model", str(files.model)]
    done = process(*arguments, "--fail-on-alert", "--json")
    assert done.returncode == 3
    assert finds_the_fault(json.loads(done.stdout)["results"][0])
    assert done.stderr == ""
    calm = ["detect", str(files.reference), "--model", str(files.model), "--fail-on-alert"]
    (result,) = detect_json(*calm[1:4])["results"]
    assert run(*calm).exit_code == (3 if result["alerts"] else 0)


def test_quiet_prints_the_alerts_and_no_more(files) -> None:
    done = run("detect", str(files.live), "--model", str(files.model), "--quiet")
    assert "Learned" not in done.stdout
    assert "disk" in done.stdout
    assert done.stderr == ""


def test_entities_are_scored_separately(tmp_path: Path) -> None:
    lines = ["time,host,variable,value"]
    for host, seed, fault in (("a/1", 1, slice(900, 915)), ("b", 2, None)):
        wide = write_wide(tmp_path / "w.csv", 1200, seed, fault).read_text().splitlines()
        names = wide[0].split(",")[1:]
        for line in wide[1:]:
            at, *values = line.split(",")
            lines += [f"{at},{host},{n},{v}" for n, v in zip(names, values, strict=True)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(lines))
    page, out = tmp_path / "r.html", tmp_path / "s.csv"
    answer = detect_json(
        str(path), "--entity", "host", "--report", str(page), "--out", str(out), *QUICK
    )
    by_entity = {result["entity"]: result for result in answer["results"]}
    assert set(by_entity) == {"a/1", "b"}
    assert any(a["causes"][0]["variable"] == "disk" for a in by_entity["a/1"]["alerts"])
    assert len(by_entity["a/1"]["alerts"]) > len(by_entity["b"]["alerts"])
    assert (tmp_path / "r-a_1.html").exists()
    assert {row["entity"] for row in csv.DictReader(out.read_text().splitlines())} == {"a/1", "b"}


def test_settings_from_file_set_and_option_in_that_order(files, tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(
        '[detector]\nwindow = 32\nfalse_alarm_rate = 0.2\ncounters = "none"\n'
        '[read]\ntime = "time"\n'
    )
    arguments = ["--reference", str(files.reference), "--config", str(config)]
    (plain,) = detect_json(str(files.live), *arguments)["results"]
    assert plain["false_alarm_rate"] == 0.2
    arguments += ["--set", "false_alarm_rate=0.1"]
    (changed,) = detect_json(str(files.live), *arguments)["results"]
    assert changed["false_alarm_rate"] == 0.1
    (own,) = detect_json(str(files.live), *arguments, *QUICK)["results"]
    assert own["false_alarm_rate"] == 0.01


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (None, "missing.csv"),
        ("", "empty"),
        ("time,cpu\n", ""),
        ("cpu,mem\n1,2\n", "time"),
        ("this is no table at all\nnot one bit\n", ""),
        ("time,cpu\n2026-01-01,high\n2026-01-02,low\n", ""),
    ],
    ids=["missing", "empty", "header only", "no time", "prose", "text for numbers"],
)
def test_files_that_cannot_be_used(tmp_path: Path, content: str | None, hint: str) -> None:
    path = tmp_path / "missing.csv"
    if content is not None:
        path = tmp_path / "bad.csv"
        path.write_text(content)
    wrong(run("detect", str(path)), "Error:", hint)


def test_a_window_longer_than_the_recording(files, tmp_path: Path) -> None:
    path = write_wide(tmp_path / "short.csv", 40, seed=4)
    knn = ["--set", "detector=knn"]
    wrong(run("detect", str(path), "--window", "64", *knn), "window")
    wrong(run("detect", str(path), "--reference", str(files.reference), *knn), "64")


def test_a_damaged_and_a_missing_model(files, tmp_path: Path) -> None:
    bad = tmp_path / "bad.smkc"
    bad.write_bytes(files.model.read_bytes()[:200])
    wrong(run("detect", str(files.live), "--model", str(bad)), "bad.smkc")
    wrong(run("detect", str(files.live), "--model", str(tmp_path / "no.smkc")), "no.smkc")


def test_contradictions_and_unknown_settings(files, tmp_path: Path) -> None:
    live, model, reference = str(files.live), str(files.model), str(files.reference)
    wrong(run("detect", live, "--model", model, "--reference", reference), "either")
    wrong(run("detect", live, "--model", model, "--window", "8"), "its own settings", "window")
    wrong(run("detect", live, "--set", "windw=8"), "--set", "'windw'", "did you mean 'window'")
    wrong(run("detect", live, "--set", "window"), "key=value")
    wrong(run("detect", live, "--set", "window=tall"), "window='tall'")
    wrong(run("detect", live, "--read", "colour=red"), "--read", "'colour'")
    wrong(run("detect", live, "--out", str(tmp_path / "s.xlsx")), "NAME.parquet or NAME.csv")
    wrong(run("detect", live, "--reference-share", "1.5"), "between 0 and 1")
    wrong(run("detect", live, "--step", "soon"), "soon")
    wrong(run("detect", live, "--false-alarm-rate", "7"), "false_alarm_rate")
    wrong(run("detect", live, "--align", "late"), "sharp", "prompt")


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("window = 3", "[detector]"),
        ("[detector]\nwndow = 3", "'wndow'"),
        ("[detector", "not a TOML file"),
        ("[identity]\ncolour = 1", "'colour'"),
    ],
)
def test_settings_files_that_cannot_be_used(files, tmp_path: Path, content: str, hint: str) -> None:
    config = tmp_path / "c.toml"
    config.write_text(content)
    wrong(run("detect", str(files.live), "--config", str(config)), hint)


def test_a_settings_file_that_is_not_there(files, tmp_path: Path) -> None:
    wrong(run("detect", str(files.live), "--config", str(tmp_path / "no.toml")), "no.toml")


def test_scores_report_and_alerts_come_from_one_pass(files, tmp_path: Path, monkeypatch) -> None:
    scored = []
    score = EvidenceFitted.score

    def counted(self, recording):
        scored.append(len(recording))
        return score(self, recording)

    monkeypatch.setattr(EvidenceFitted, "score", counted)
    page, out = tmp_path / "r.html", tmp_path / "s.parquet"
    arguments = ["--reference", str(files.reference), "--report", str(page), "--out", str(out)]
    done = run("detect", str(files.live), *arguments)
    assert done.exit_code == 0, done.output
    assert page.is_file()
    assert scored == [parquet.read_table(out).num_rows]


def test_every_detector_can_be_chosen(files, tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    asked = ["detect", str(files.live), "--reference", str(files.reference), "--out", str(out)]
    done = run(*asked, "--detector", "knn", "--window", "16", "--set", "neighbours=5")
    assert done.exit_code == 0, done.output
    knn = KnnDetector(window=16, neighbours=5).fit(smkc.read(files.reference))
    found = parquet.read_table(out)["score"].to_numpy()
    np.testing.assert_allclose(found, knn.decision_function(smkc.read(files.live)), rtol=1e-6)
    wrong(run(*asked, "--set", "neighbours=5"), "no setting 'neighbours'", "--detector knn")
