"""Variants of the default detector: other settings, or without a part, to measure what it is worth.

In: a text such as ``calm_rows=10`` or ``without seasons``. Out: the detector run so.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from smkc.detector import Detector
from smkc.errors import SettingError
from smkc.evidence.columns import successors
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system.newcomer_jump import NewcomerJumpPart
from smkc.evidence.system.newcomers import NewcomersPart
from smkc.evidence.variables import model, seasons
from smkc.evidence.variables.residents import Residents
from smkc.evidence.variables.runs import Runs
from smkc.evidence.variables.seasons import Seasons
from smkc.evidence.variables.silence import SilenceState

__all__ = ["ABLATIONS", "Changes", "changed_settings", "read_changes", "variant_keys"]

Changes = Mapping[str, float]

# How the text of a variant begins that leaves out a part.
WITHOUT = "without "


# Rows that a shortened reference keeps at least.
MIN_REFERENCE_ROWS = 300

_fit_on_all = Detector.fit


def _fit_on_last(share: float) -> Callable[..., Detector]:
    """Return a ``fit`` that learns from the last part of a reference."""

    def fit(detector: Detector, reference: Any) -> Detector:
        n = len(reference)
        kept = min(n, max(MIN_REFERENCE_ROWS, round(share * n)))
        return _fit_on_all(detector, reference.rows(n - kept, n))

    return fit


def _no_statistic(part: Any, block: Any) -> Any:
    return np.full(len(block.rows), np.nan)


# Parts of the default detector that can be left out: settings with which the part has no effect, or
# the function that does it, and what replaces it.
ABLATIONS: Mapping[str, str | tuple[Any, str, Callable[..., Any]]] = {
    "budget": "budget_half_life_rows=0.001",
    "four fifths of the reference": (Detector, "fit", _fit_on_last(0.2)),
    "frozen": (Runs, "nats", lambda runs, lengths: np.zeros(lengths.shape, np.float32)),
    "half of the reference": (Detector, "fit", _fit_on_last(0.5)),
    "loudest variable in the score": "loudest_weight=0",
    "newcomers": (NewcomersPart, "push", _no_statistic),
    "newcomer jump": (NewcomerJumpPart, "push", _no_statistic),
    "relation of one variable": (
        model,
        "_are_related",
        lambda values, residuals: np.zeros(values.shape[1], bool),
    ),
    "residents": (Residents, "settle", lambda residents: None),
    "seasonal adjustment": (
        Seasons,
        "adjusted",
        lambda seasons, rows, distances, n_variables: rows,
    ),
    "seasons": (seasons, "_candidates", lambda values, clocks, has_dates: []),
    "silence": (SilenceState, "push", lambda state, values, new: np.zeros(len(values), np.int8)),
    "successors": (successors, "_alike", lambda one, other: 0.0),
    "trusted episodes": "trusted_episodes=0.001",
}


def variant_keys(text: str | None) -> list[str]:
    """Return one text for each row wanted; ``ablation`` stands for all ABLATIONS.

    Examples
    --------
    >>> variant_keys("without seasons, calm_rows=10+loud_rate=0.004")
    ['without seasons', 'calm_rows=10+loud_rate=0.004']
    """
    found: list[str] = []
    for part in (text or "").split(","):
        is_all = part.strip() == "ablation"
        found += [WITHOUT + name for name in ABLATIONS] if is_all else [part.strip()]
    keys = [key for key in found if key]
    for key in keys:
        _check(key)
    return keys


def read_changes(text: str) -> Changes:
    """Return the changes in a text such as ``calm_rows=10+loud_rate=0.004``.

    Examples
    --------
    >>> read_changes("calm_rows=10+loud_rate=0.004")
    {'calm_rows': 10, 'loud_rate': 0.004}
    """
    known = asdict(SETTINGS)
    changes: dict[str, float] = {}
    for part in text.split("+"):
        name, _, value = part.strip().partition("=")
        if name not in known:
            raise SettingError(f"setting {name!r} is not known; there are {', '.join(known)}")
        try:
            changes[name] = type(known[name])(value)
        except ValueError:
            wanted = type(known[name]).__name__
            raise SettingError(f"{part.strip()!r} gives no {wanted}; write {name}=1") from None
    return changes


@contextmanager
def changed_settings(text: str) -> Iterator[None]:
    """Change the default detector in this process, for as long as this is open.

    Its settings are frozen, so that no user changes them by mistake; a benchmark may. Without a
    text, nothing is changed.
    """
    part = ABLATIONS.get(text.removeprefix(WITHOUT), text)
    if isinstance(part, str):
        changes = read_changes(part) if part else {}
        before = {name: getattr(SETTINGS, name) for name in changes}
        _assign(changes)
        try:
            yield
        finally:
            _assign(before)
        return
    owner, name, replacement = part
    original = getattr(owner, name)
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        setattr(owner, name, original)


def _check(key: str) -> None:
    """Raise an error that names the parts or settings there are, if a text is not understood."""
    if not key.startswith(WITHOUT):
        read_changes(key)
    elif key.removeprefix(WITHOUT) not in ABLATIONS:
        raise SettingError(f"{key!r}: there is no such part; there are {', '.join(ABLATIONS)}")


def _assign(values: Changes) -> None:
    for name, value in values.items():
        object.__setattr__(SETTINGS, name, value)
