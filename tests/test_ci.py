"""What .ci/run installs is what the tests with real software need."""

import re
import subprocess
from pathlib import Path

import pytest
from tools.hostwatch.processes import PROGRAMS as OF_HOSTWATCH
from tools.livetrial.stack import PROGRAMS as OF_LIVE_TRIAL
from tools.recorder.systems import SYSTEMS

SCRIPT = Path(__file__).parents[1] / ".ci/run"


@pytest.fixture(scope="module")
def packages() -> dict[str, str]:
    """Program -> Debian package, as the script has them."""
    (words,) = re.findall(r"^programs=\(.*?^\)$", SCRIPT.read_text("ascii"), re.M | re.S)
    expanded = subprocess.run(
        ["bash", "-c", words + '\nprintf "%s\\n" "${programs[@]}"'],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return {word.partition(":")[0]: word.partition(":")[2] or word for word in expanded}


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_the_recorder_finds_its_programs(name: str, packages: dict[str, str]) -> None:
    needed = SYSTEMS[name].programs()
    assert {program: packages.get(program) for program in needed} == needed


def test_the_live_trial_and_hostwatch_find_their_programs(packages: dict[str, str]) -> None:
    for program in (*OF_LIVE_TRIAL, *OF_HOSTWATCH):
        assert packages.get(program) == program
