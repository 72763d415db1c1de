"""Keys: whether a table's settings exist, and which one was meant where they do not.

In: keys as written, and those that are known. Out: nothing, or an error with a suggestion.
"""

import difflib
from collections.abc import Iterable

from smkc.errors import SettingError

__all__ = ["check_keys"]

# Settings under other names in earlier versions.
RENAMED = {
    "false_alarms_a_day": "false_alarms_per_day",
    "least_rows": "min_rows",
    "request_seconds": "request_timeout_seconds",
    "requests_a_minute": "requests_per_minute",
    "samples_a_request": "samples_per_request",
}


def check_keys(given: Iterable[str], known: tuple[str, ...], place: str = "") -> None:
    """Refuse keys that nobody knows, with the one that was meant."""
    where = f"{place}: " if place else ""
    for key in given:
        if key not in known:
            if RENAMED.get(key) in known:
                raise SettingError(f"{where}{key!r} is now called {RENAMED[key]!r}; rename it")
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SettingError(
                f"{where}no setting {key!r}; {hint}the settings are {', '.join(known)}"
            )
