"""The shop, recorded for five minutes."""

from pathlib import Path

import pytest
from tests.tools.short_recording import check_short_recording


@pytest.mark.slow
@pytest.mark.prometheus
def test_a_short_recording_passes_its_check(tmp_path: Path) -> None:
    check_short_recording("shop", tmp_path / "recording")
