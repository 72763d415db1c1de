"""Settings from a TOML file, from ``--set key=value`` and from options such as ``--window``.

In: command-line arguments. Out: keyword arguments for the detector and for the reader. Options
override ``--set`` and ``--read``, which override the file.
"""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smkc.errors import SettingError

READ_KEYS = (
    *("layout", "time", "variable", "value", "labels", "step", "time_unit", "time_format"),
    "ignore",
)
TABLES = ("detector", "identity", "read")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Keyword arguments for ``Detector`` and for ``read``."""

    detector: dict[str, Any]
    read: dict[str, Any]


def gather(
    config: Path | None,
    detector_pairs: Iterable[str] = (),
    read_pairs: Iterable[str] = (),
    detector_options: Mapping[str, Any] | None = None,
    read_options: Mapping[str, Any] | None = None,
) -> Settings:
    """Merge all sources and check every key; an option that is None was not given."""
    from smkc.recording import Identity

    known = _setting_names()
    file = _read_config(config) if config else {}
    detector = _checked(file.get("detector", {}), known, f"[detector] of {config}")
    read = _checked(file.get("read", {}), READ_KEYS, f"[read] of {config}")
    for key, value in _checked(_pairs(detector_pairs, "--set"), known, "--set").items():
        both = isinstance(value, dict) and isinstance(detector.get(key), dict)
        detector[key] = {**detector[key], **value} if both else value
    read |= _checked(_pairs(read_pairs, "--read"), READ_KEYS, "--read")
    detector |= {key: value for key, value in (detector_options or {}).items() if value is not None}
    read |= {key: value for key, value in (read_options or {}).items() if value is not None}
    detector = {key: _plain(value) for key, value in detector.items()}
    if "identity" in file:
        rule = _checked(file["identity"], ("drop", "pattern"), f"[identity] of {config}")
        drop = rule.get("drop", [])
        detector["identity"] = Identity(
            drop=tuple([drop] if isinstance(drop, str) else drop), pattern=rule.get("pattern")
        )
    return Settings(detector=detector, read=read)


def _setting_names() -> tuple[str, ...]:
    """Return the settings of all kinds of detector; each class rejects those it does not have."""
    from smkc.loading import KINDS, detector_class

    names = ["detector"]
    for kind in KINDS:
        names += [name for name in detector_class(kind).setting_names() if name not in names]
    return tuple(name for name in names if name != "identity")


def _read_config(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not a TOML file: {error}; see smkc detect --help") from None
    for key, value in content.items():
        if key not in TABLES or not isinstance(value, dict):
            raise SettingError(
                f"{key!r} in {path} is not known; write settings under [detector], [identity] "
                "or [read]"
            )
    return content


def _pairs(pairs: Iterable[str], option: str) -> dict[str, Any]:
    """Parse ``key=value`` strings; a value that is not valid TOML is taken as text.

    ``key.inner=value`` puts the value into a table named key.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise SettingError(f"{option} {pair!r}: write it as key=value, such as window=128")
        try:
            content = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            content = value.strip()
        name, _, inner = key.strip().partition(".")
        if inner:
            table = found.setdefault(name, {})
            found[name] = {**(table if isinstance(table, dict) else {}), inner: content}
        else:
            found[name] = content
    return found


def _checked(given: dict[str, Any], known: tuple[str, ...], place: str) -> dict[str, Any]:
    """Return the settings; raise SettingError if one is unknown, and suggest the right one."""
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SettingError(
                f"{place}: no setting {key!r}; {hint}the settings are {', '.join(known)}"
            )
    return given


def _plain(value: Any) -> Any:
    """Convert the words none and null to None, as TOML has no null, and choices to text."""
    if not isinstance(value, str):
        return value
    return None if value.lower() in ("none", "null") else str(value)
