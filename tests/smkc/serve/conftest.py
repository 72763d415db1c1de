"""A server that plays a made-up system back as Prometheus would."""

import pytest
from tests.following import Playback
from tests.smkc.serve.service_parts import values_at


@pytest.fixture
def playback():
    with Playback(values_at).running() as server:
        yield server
