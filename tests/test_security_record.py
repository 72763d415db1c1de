"""results/security.md: the tests that it names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORD = (ROOT / "results" / "security.md").read_text("utf-8")


def test_tests_that_it_names_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", RECORD)
    assert len(named) >= 40
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / file).read_text("utf-8"), f"{file}::{test}"
