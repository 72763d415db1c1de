"""Lookup of names that a user typed, with an error that lists the known names.

In: one name, or several separated by commas, and a registry. Out: an entry, or the names chosen.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from smkc.errors import SettingError

__all__ = ["choose", "find"]

Entry = TypeVar("Entry")


def find(name: str, known: Mapping[str, Entry], what: str) -> Entry:
    """Return the entry with this name.

    Examples
    --------
    >>> find("mild", {"none": 0.0, "mild": 0.1}, "churn")
    0.1
    """
    if name not in known:
        raise _unknown(what, repr(name), known)
    return known[name]


def choose(names: str | None, known: Iterable[str], what: str) -> list[str]:
    """Return the comma-separated names in ``names``, in the order of ``known``; all if it is None.

    Examples
    --------
    >>> choose("full, none", ["none", "mild", "full"], "churn")
    ['none', 'full']
    """
    known = list(known)
    if names is None:
        return known
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise _unknown(what, ", ".join(unknown) or repr(names), known)
    return [name for name in known if name in wanted]


def _unknown(what: str, told: str, known: Iterable[str]) -> SettingError:
    return SettingError(f"{what} {told} is not known; there are {', '.join(known)}")
