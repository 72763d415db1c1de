"""``python -m benchmarks``: help that a newcomer can follow, quickly."""

import subprocess
import sys

import pytest
from tests.benchmarks.commands.conftest import run

HEAVY = {"matplotlib", "numba", "pyarrow", "sklearn", "torch"}


def test_help_lists_the_commands_and_a_first_one_to_try():
    done = run("--help")
    assert done.exit_code == 0
    words = " ".join(done.stdout.split())
    for command in (
        "alerts",
        "causes",
        "real",
        "paper",
        "speed",
        "--datasets hostwatch,demo",
        "SMKC_DATA",
    ):
        assert command in words


@pytest.mark.parametrize("command", ["alerts", "real", "paper", "speed"])
def test_each_command_explains_itself(command):
    done = run(command, "--help")
    assert done.exit_code == 0
    assert f"python -m benchmarks {command} --" in " ".join(done.stdout.split())


def test_help_loads_nothing_heavy():
    code = "import sys, benchmarks.__main__; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert not HEAVY & set(done.stdout.split())
