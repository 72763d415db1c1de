"""Variants of the default detector: other settings, to measure what each part is worth.

In: changes of settings, as text. Out: the changes by name, and the detector run with them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

from smkc.errors import SettingError
from smkc.evidence.settings import SETTINGS

__all__ = [
    "ABLATIONS",
    "Changes",
    "changed_settings",
    "read_changes",
    "variant_keys",
    "variant_name",
]

Changes = Mapping[str, float]

# Settings with which a part of the default detector has no effect, by name of the part.
ABLATIONS: Mapping[str, str] = {
    "budget": "budget_half_life_rows=0.001",
    "frozen": "distinct_share=1",
    "loudest variables in the score": "loudest_weight=0",
    "newcomers": "min_newcomer_square=1000000000",
    "prior from other tails": "tails_per_episode=1000000",
    "relation of one variable": "unexplained_share=0",
    "repeated events": "seen_distance=0",
    "seasons": "max_left=0",
    "silence": "silent_share=2",
    "successors": "alike_share=2",
    "trusted episodes": "trusted_episodes=0.001",
}


def variant_keys(text: str | None) -> list[str]:
    """Return one text of changes for each row wanted; ``ablation`` stands for all ABLATIONS.

    Examples
    --------
    >>> variant_keys("max_left=0, calm_rows=10+loud_rate=0.004")
    ['max_left=0', 'calm_rows=10+loud_rate=0.004']
    """
    found: list[str] = []
    for part in (text or "").split(","):
        found += ABLATIONS.values() if part.strip() == "ablation" else [part.strip()]
    keys = [key for key in found if key]
    for key in keys:
        read_changes(key)
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


def variant_name(key: str) -> str:
    """Return the name of a row: the part that is left out, or the changes themselves."""
    parts = [part for part, changes in ABLATIONS.items() if changes == key]
    return f"without {parts[0]}" if parts else f"with {key}"


@contextmanager
def changed_settings(changes: Changes) -> Iterator[None]:
    """Change the settings of the default detector in this process, for as long as this is open.

    The settings are frozen, so that no user changes them by mistake; a benchmark may.
    """
    before = {name: getattr(SETTINGS, name) for name in changes}
    _assign(changes)
    try:
        yield
    finally:
        _assign(before)


def _assign(values: Changes) -> None:
    for name, value in values.items():
        object.__setattr__(SETTINGS, name, value)
