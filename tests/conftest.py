"""What every test may use: a seeded generator, and how long hypothesis looks."""

import os

import numpy as np
import pytest
from hypothesis import settings

SEED = 20260131

settings.register_profile(
    "default", max_examples=40, deadline=None, derandomize=True, database=None
)
settings.register_profile("slow", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)
