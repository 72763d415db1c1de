"""Rows with a fault, what an unbroken lane says of them, and a folder that was killed over."""

import shutil

import pytest
from tests.following import made_rows, with_fault
from tests.smkc.serve.lane.parts import CUT, FAULT, N_ROWS, feed, lane_in, told


@pytest.fixture(scope="session")
def rows():
    return with_fault(made_rows(3, N_ROWS), *FAULT)


@pytest.fixture(scope="session")
def unbroken(rows, tmp_path_factory):
    with lane_in(tmp_path_factory.mktemp("unbroken")) as lane:
        feed(lane, rows)
        return told(lane)


@pytest.fixture(scope="session")
def killed(rows, tmp_path_factory):
    """Return a folder that a process was killed over, in the middle of the fault."""
    folder = tmp_path_factory.mktemp("killed")
    with lane_in(folder, checkpoint_rows=24) as lane:
        feed(lane, rows[:CUT])
    return folder


@pytest.fixture
def folder(killed, tmp_path):
    """Return a copy of it."""
    return shutil.copytree(killed, tmp_path / "data")
