import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.smkc.cli.conftest import run

import smkc
from smkc.cli.failure import explained_failures
from smkc.errors import ReadError


def test_version() -> None:
    done = run("--version")
    assert done.exit_code == 0
    assert done.stdout == f"smkc {smkc.__version__}\n"


@pytest.mark.parametrize("command", ["demo", "detect", "fit", "explain"])
def test_help_shows_examples(command: str) -> None:
    done = run(command, "--help")
    assert done.exit_code == 0
    assert "Examples" in done.stdout
    assert f"smkc {command}" in done.stdout
    assert "--json" in done.stdout


def test_an_unknown_command_is_wrong_usage() -> None:
    done = run("divine")
    assert done.exit_code == 2
    assert "divine" in done.stderr


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from smkc.cli.app import app\n"
        "try:\n    app(['detect', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'numba', 'pyarrow', 'matplotlib', 'sklearn'} & set(sys.modules)\n"
        "sys.exit(','.join(heavy) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_errors_are_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BaseException, match="2"), explained_failures():
        raise ReadError("no \x1b[31mfile\x07")
    message = capsys.readouterr().err
    assert message == "Error: no \\x1b[31mfile\\x07\n"


def test_unexpected_errors_keep_their_traceback() -> None:
    with pytest.raises(ZeroDivisionError), explained_failures():
        raise ZeroDivisionError


def test_closed_pipe_ends_the_command_quietly(files) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from smkc.cli import main; main()",
            *("detect", str(files.live), "--model", str(files.model), "--json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert complaint == ""


# Jobs in the background of a shell ignore interrupts, and so would what they start.
LISTENING = """
import signal
from smkc.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def test_interrupt_ends_the_command_quietly(tmp_path: Path) -> None:
    code, complaint = interrupted(tmp_path / "out")
    assert code == 130
    assert complaint.strip() == ""


def interrupted(out: Path) -> tuple[int, str]:
    """Interrupt a command once it has begun to write; return its exit code and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING, "demo", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    while process.poll() is None:  # Python drops an interrupt that meets a destructor
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
    _, complaint = process.communicate(timeout=60)
    return process.returncode, complaint
