"""A recording that comes with the project, as a fleet to watch."""

from dataclasses import replace

import numpy as np
import pytest
from tests.smkc.bench.real.made_up import columns, described, write_dataset

from smkc.bench.real import datasets
from smkc.bench.real.replay import replayed
from smkc.errors import ReadError, SettingError

FIRST = 1_790_000_000

EVENTS = f"""series,part,start,end,variables,kind
box,test,{FIRST + 120},{FIRST + 150},a b,disk_load
"""

ROUTINE = f"""start,end,kind,story
{FIRST + 20},{FIRST + 30},rollout,before the test part
{FIRST + 110},{FIRST + 115},rollout,web: 3 pods replaced
{FIRST + 190},{FIRST + 230},job,goes on after the end
"""


def at(seconds):
    return np.datetime64(FIRST + seconds, "s")


@pytest.fixture
def write(tmp_path, monkeypatch):
    def written(routine=ROUTINE):
        about = write_dataset(
            tmp_path,
            files={
                "box.train.parquet": columns(FIRST, 100),
                "box.test.parquet": columns(FIRST + 100, 100),
            },
            series=[{"name": "box", "reference": "box.train.parquet", "test": "box.test.parquet"}],
            events=EVENTS,
        )
        path = tmp_path / "made-up" / "routine.csv"
        path.write_text(routine)
        files = {**about.files, "routine.csv": described(path)}
        own = replace(about, files=files, ships=True)
        other = replace(about, name="other")
        monkeypatch.setattr(datasets, "_registry", lambda: {"made-up": own, "other": other})
        monkeypatch.setattr(datasets, "PROJECT_DATA", tmp_path)
        monkeypatch.delenv("SMKC_DATA", raising=False)

    return written


def test_what_was_planted_and_what_was_routine_have_their_times(write):
    write()
    fleet = replayed("made-up")
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


def test_only_what_comes_with_the_project_is_replayed(write):
    write()
    for name in ("other", "nothing"):
        with pytest.raises(SettingError, match=f"'{name}' cannot be replayed; choose made-up"):
            replayed(name)


@pytest.mark.parametrize(
    "routine",
    ["start,kind,story\n1,a,b\n", "start,end,kind,story\nsoon,2,a,b\n"],
    ids=["no end", "no number"],
)
def test_a_list_of_routine_changes_that_is_none_is_said(write, routine):
    write(routine)
    with pytest.raises(ReadError, match="no list of routine changes; it needs start, end"):
        replayed("made-up")
