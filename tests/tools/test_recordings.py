"""The recordings in data/: each passes the recorder's check and holds what its README promises."""

import csv
import getpass
import json
import re
import socket
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tools.recorder.__main__ import main
from tools.recorder.check import MAX_BYTES
from tools.recorder.kinds import MACHINE
from tools.recorder.systems import SYSTEMS

DATA = Path(__file__).resolve().parents[2] / "data"
NAMES = sorted(f"{system}-{seed}" for system in SYSTEMS for seed in (1, 2))


@pytest.fixture(params=NAMES)
def folder(request):
    return DATA / request.param


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def system_of(folder):
    return SYSTEMS[folder.name.partition("-")[0]]


def test_every_recording_of_a_system_is_checked():
    kept = {path.parent.name for path in DATA.glob("*/machine.json")}
    assert kept == set(NAMES)


def test_a_recording_passes_the_check(folder, monkeypatch, capsys):
    # The check also looks for the names of this host and user. These are not those of the machine
    # that recorded, and may be words that the dataset uses.
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    words = ["tools.recorder", "check", system_of(folder).name, str(folder)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().out
    assert ended.value.code == 0, told
    assert told.endswith("all right\n")


def test_a_recording_has_a_readme_a_picture_a_licence_and_a_small_size(folder):
    readme = (folder / "README.md").read_text("ascii")
    assert "Licence: CC0-1.0" in readme
    assert f"python -m tools.recorder record {system_of(folder).name} FOLDER --seed" in readme
    picture = (folder / "picture.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000
    assert sum(path.stat().st_size for path in folder.iterdir()) < MAX_BYTES == 3_000_000


def test_the_tables_of_a_readme_are_those_of_the_files(folder):
    readme = (folder / "README.md").read_text("ascii")
    events = rows_of(folder / "events.csv")
    told = re.findall(r"^\| (\w+) \| (\d+) \| [^|]+ \|$", readme, re.MULTILINE)
    kinds = [event["kind"] for event in events]
    assert {kind: int(count) for kind, count in told} == {one: kinds.count(one) for one in kinds}
    files = re.findall(r"^\| (\S+\.parquet) \| (\d+) \| (\d+) \|", readme, re.MULTILINE)
    assert len(files) == 2
    for name, n_rows, n_variables in files:
        found = pq.read_metadata(folder / name)
        assert (found.num_rows, found.num_columns - 2) == (int(n_rows), int(n_variables)), name


def test_a_recording_has_18_faults_of_12_kinds_with_their_causes(folder):
    events = rows_of(folder / "events.csv")
    system = system_of(folder)
    assert len(events) == 18
    assert len({event["kind"] for event in events}) >= 12
    for event in events:
        assert 20 <= int(event["end"]) - int(event["start"]) <= 180
        assert event["variables"].split(), event["kind"]
        assert not set(event["variables"].split()) & set(event["symptoms"].split())
        assert event["service"] in system.kind(event["kind"]).services
        if event["service"] != MACHINE:
            assert f'="{event["service"]}"' in event["variables"], event["kind"]


def test_routine_changes_are_as_frequent_as_faults(folder):
    n_faults = len(rows_of(folder / "events.csv"))
    phases = json.loads((folder / "schedule.json").read_text("ascii"))["phases"]
    assert (phases["reference"], phases["faults"]) == (1800, 3600)
    begun = [int(change["start"]) for change in rows_of(folder / "routine.csv")]
    times = pq.read_table(next(folder.glob("*.test.parquet")), columns=["time"])["time"]
    first = times[0].as_py()
    n_during = sum(start >= first for start in begun)
    assert n_during >= n_faults
    assert len(begun) - n_during >= n_faults / 2, "the reference is half as long"
