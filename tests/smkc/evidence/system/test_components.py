"""Components: the same axes from products of variables and from products of rows."""

import numpy as np
import pytest

from smkc.evidence.system import components
from smkc.evidence.system.components import Components

N_ROWS, N_VARIABLES = 60, 90


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(N_ROWS, 3))
    table = causes @ rng.normal(size=(3, N_VARIABLES)) + 0.1 * rng.normal(size=(60, N_VARIABLES))
    return table.astype(np.float32)


def test_wide_rows_have_the_same_components(rows, monkeypatch):
    of_variables = Components.fit(rows)
    monkeypatch.setattr(components, "WIDE", N_ROWS)
    of_rows = Components.fit(rows)
    for name in ("centre", "prior", "expected"):
        assert getattr(of_rows, name) == pytest.approx(getattr(of_variables, name), rel=1e-6)
    assert np.abs(of_rows.loadings) == pytest.approx(np.abs(of_variables.loadings), abs=1e-6)


def test_axes_are_those_of_the_singular_values(rows, monkeypatch):
    monkeypatch.setattr(components, "WIDE", N_ROWS)
    centred = rows - rows.mean(axis=0)
    values, axes = components._axes(centred.astype(np.float64))
    _, singular, right = np.linalg.svd(centred)
    assert values == pytest.approx(singular**2 / N_ROWS, abs=1e-5)
    assert np.abs(axes[:, :3]) == pytest.approx(np.abs(right[:3].T), abs=1e-3)


def test_the_number_of_components_is_bounded(rows, monkeypatch):
    monkeypatch.setattr(components, "MOST_COMPONENTS", 2)
    for wide in (N_ROWS, 10 * N_VARIABLES):
        monkeypatch.setattr(components, "WIDE", wide)
        assert len(Components.fit(rows).loadings) == 2
