"""Settings from a TOML file, from ``--set key=value`` and from the few options of their own.

In: what was typed. Out: keyword arguments for the detector and for the reader; a later source
beats an earlier one: file, ``--set``, option.
"""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smkc.errors import SettingError

__all__ = ["Settings", "gather"]

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
    """Join all sources and check every key; options that are None were not given."""
    from smkc.recording import Identity

    known = _setting_names()
    file = _read_config(config) if config else {}
    detector = dict(file.get("detector", {}))
    read = dict(file.get("read", {}))
    place = f"[{{}}] of {config}"
    _check_keys(detector, known, place.format("detector"))
    _check_keys(read, READ_KEYS, place.format("read"))
    given = _pairs(detector_pairs, "--set")
    _check_keys(given, known, "--set")
    for key, value in given.items():
        both = isinstance(value, dict) and isinstance(detector.get(key), dict)
        detector[key] = {**detector[key], **value} if both else value
    given = _pairs(read_pairs, "--read")
    _check_keys(given, READ_KEYS, "--read")
    read |= given
    detector |= {key: value for key, value in (detector_options or {}).items() if value is not None}
    read |= {key: value for key, value in (read_options or {}).items() if value is not None}
    detector = {key: _none_or(value) for key, value in detector.items()}
    if "identity" in file:
        rule = file["identity"]
        _check_keys(rule, ("drop", "pattern"), place.format("identity"))
        drop = rule.get("drop", [])
        detector["identity"] = Identity(
            drop=tuple([drop] if isinstance(drop, str) else drop), pattern=rule.get("pattern")
        )
    return Settings(detector=detector, read=read)


def _setting_names() -> tuple[str, ...]:
    """Return the settings that some kind of detector has; each class refuses those of others."""
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
    """Read ``key=value`` texts; a value is read as TOML where it is TOML, else taken as text.

    ``key.inner=value`` puts the value into a table called key.
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


def _check_keys(given: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SettingError(
                f"{place}: no setting {key!r}; {hint}the settings are {', '.join(known)}"
            )


def _none_or(value: Any) -> Any:
    """TOML has no null, so the word none stands for it."""
    return None if isinstance(value, str) and value.lower() in ("none", "null") else value
