"""Ways of running the commands of ``python -m benchmarks``, and of checking how they end."""

from tests.smkc.cli.conftest import wrong
from typer.testing import CliRunner, Result

from benchmarks.__main__ import app

__all__ = ["run", "wrong"]


def run(*arguments: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, list(arguments))
