"""A recording that comes with the project, as a fleet to watch."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smkc.errors import ReadError, SettingError
from smkc.fleet import replay, replay_fleet

FIRST = 1_790_000_000

EVENTS = f"""series,part,start,end,variables,kind
box,test,{FIRST + 120},{FIRST + 150},b a gone,disk_load
box,test,{FIRST + 20},{FIRST + 30},a,cpu_hog
"""

ROUTINE = f"""start,end,kind,story
{FIRST + 20},{FIRST + 30},rollout,before the test part
{FIRST + 110},{FIRST + 115},rollout,web: 3 pods replaced
{FIRST + 190},{FIRST + 230},job,goes on after the end
"""


def at(seconds):
    return np.datetime64(FIRST + seconds, "s")


def write_part(path, first):
    steps = np.arange(100)
    columns = {"time": first + steps, "label": 0 * steps, "a": steps % 7, "b": steps % 5}
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "made-up"
    made.mkdir()
    write_part(made / "box.train.parquet", FIRST)
    write_part(made / "box.test.parquet", FIRST + 100)
    (made / "events.csv").write_text(EVENTS)
    (made / "routine.csv").write_text(ROUTINE)
    monkeypatch.setattr(replay, "RECORDINGS", {"made-up": ("made-up", "box")})
    monkeypatch.setattr(replay, "PROJECT_DATA", tmp_path)
    monkeypatch.delenv("SMKC_DATA", raising=False)
    return made


@pytest.mark.usefixtures("folder")
def test_what_was_planted_and_what_was_routine_have_their_times():
    fleet = replay_fleet("made-up")
    assert (len(fleet.reference), len(fleet.live)) == (100, 100)
    (incident,) = fleet.incidents
    assert (incident.start, incident.end) == (at(120), at(149))
    assert incident.kind == "disk load"
    assert incident.variables == ("a", "b")
    assert [(change.start, change.end, change.kind) for change in fleet.routine] == [
        (at(110), at(115), "rollout"),
        (at(190), at(199), "job"),
    ]
    assert fleet.routine[0].story == "web: 3 pods replaced"


@pytest.mark.usefixtures("folder")
def test_only_what_comes_with_the_project_is_replayed():
    with pytest.raises(SettingError, match="'other' cannot be replayed; choose made-up"):
        replay_fleet("other")


def test_a_folder_under_smkc_data_is_used_first(folder, tmp_path, monkeypatch):
    moved = tmp_path / "elsewhere" / "made-up"
    moved.parent.mkdir()
    folder.rename(moved)
    with pytest.raises(ReadError, match="comes with the project's source, in the folder data/made"):
        replay_fleet("made-up")
    monkeypatch.setenv("SMKC_DATA", str(moved.parent))
    assert len(replay_fleet("made-up").live) == 100


@pytest.mark.parametrize("file", ["events.csv", "routine.csv"])
@pytest.mark.parametrize(
    "text",
    ["start,kind,story,variables\n1,a,b,c\n", "start,end,kind,story,variables\nsoon,2,a,b,c\n"],
    ids=["no end", "no number"],
)
def test_unreadable_table_is_reported(folder, file, text):
    (folder / file).write_text(text)
    with pytest.raises(ReadError, match=f"line 2 of .*{file} cannot be read; it needs start, end"):
        replay_fleet("made-up")
