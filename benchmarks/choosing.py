"""Choosing: names as typed -> entries of a registry, or an error that lists what there is.

In: one name, or several separated by commas, and the names that are known. Out: what they name.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from smkc.errors import SettingError

__all__ = ["choose", "find"]

Entry = TypeVar("Entry")


def find(name: str, known: Mapping[str, Entry], what: str) -> Entry:
    """Return the entry of that name.

    Examples
    --------
    >>> find("mild", {"none": 0.0, "mild": 0.1}, "churn")
    0.1
    """
    if name not in known:
        raise _unknown(what, repr(name), known)
    return known[name]


def choose(names: str | None, known: Iterable[str], what: str) -> list[str]:
    """Return the names in ``names``, separated by commas, in the order known; all if it is None.

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
