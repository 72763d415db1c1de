"""Keys: whether a table's settings exist, and which one was meant where they do not.

In: keys as written, and those that are known. Out: nothing, or an error with a suggestion.
"""

import difflib
from collections.abc import Iterable

from smkc.errors import SettingError

__all__ = ["check_keys"]


def check_keys(given: Iterable[str], known: tuple[str, ...], place: str = "") -> None:
    """Refuse keys that nobody knows, with the one that was meant."""
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            where = f"{place}: " if place else ""
            raise SettingError(
                f"{where}no setting {key!r}; {hint}the settings are {', '.join(known)}"
            )
