"""Options: what a user may set about learning, by name -> settings of the learned model.

In: a mapping of names to plain values, as a detector or a TOML file has them. Out:
:class:`~smkc.paper.learn.model.LearnSettings`, or an error that names the option and what it takes.
"""

import difflib
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from smkc.errors import SettingError
from smkc.paper.learn.masks import PATTERNS, Masking
from smkc.paper.learn.model import LearnSettings
from smkc.paper.learn.network import Training

__all__ = ["OPTIONS", "learn_settings"]

# Set by the detector's own settings.
OWN = {"objective", "channels", "neighbours", "reference_size", "masking", "training"}
OWN_OF_TRAINING = {"epochs", "device", "seed"}

# No size of a network is larger; a slip, or a damaged file, shall not ask for all memory.
LARGEST_SIZE = 65_536

_OF_MODEL: dict[str, Any] = {
    option.name: option.default for option in fields(LearnSettings) if option.name not in OWN
}
_OF_TRAINING: dict[str, Any] = {
    option.name: getattr(LearnSettings().training, option.name)
    for option in fields(Training)
    if option.name not in OWN_OF_TRAINING
}
_OF_MASKING: dict[str, Any] = {"mask_ratio": Masking().ratio, "mask_patterns": PATTERNS}

# Every option and the value it has if it is not given.
OPTIONS: dict[str, Any] = {**_OF_MODEL, **_OF_MASKING, **_OF_TRAINING}


def learn_settings(options: Mapping[str, Any] | None, **own: Any) -> LearnSettings:
    """Return the settings that options describe.

    Parameters
    ----------
    options
        some of OPTIONS, by name; None for none.
    own
        what the detector sets itself: objective, channels, neighbours, reference_size, epochs
        (None for the default), device, seed.

    Examples
    --------
    >>> found = learn_settings({"width": 64, "batch_size": 32}, objective="recon", epochs=5)
    >>> found.width, found.training.batch_size, found.training.epochs
    (64, 32, 5)
    """
    options = _checked(options)
    training = LearnSettings().training
    given = {name: own.pop(name) for name in sorted(OWN_OF_TRAINING) if name in own}
    if given.get("epochs") is None:
        given.pop("epochs", None)
    given |= {name: options[name] for name in _OF_TRAINING if name in options}
    if given.get("checkpoint") is not None:
        given["checkpoint"] = Path(given["checkpoint"])
    masking = Masking(
        ratio=options.get("mask_ratio", Masking().ratio),
        patterns=tuple(options.get("mask_patterns", PATTERNS)),
    )
    return LearnSettings(
        **own,
        **{name: options[name] for name in _OF_MODEL if name in options},
        masking=masking,
        training=replace(training, **given),
    )


def _checked(options: Any) -> dict[str, Any]:
    """Return options whose names and types are right."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise SettingError(
            f"learn={options!r}: give options by name, such as learn={{'width': 64}}"
        )
    for name, value in options.items():
        if name not in OPTIONS:
            near = difflib.get_close_matches(str(name), OPTIONS, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SettingError(
                f"learn has no option {name!r}; {hint}the options are {', '.join(OPTIONS)}"
            )
        wanted = _wanted(OPTIONS[name], value)
        if wanted is not None:
            raise SettingError(f"learn option {name}={value!r}: give {wanted}")
    return dict(options)


def _wanted(usual: Any, value: Any) -> str | None:
    """Say what an option of this usual value takes, unless the value is such a thing."""
    if isinstance(usual, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(usual, int):
        is_size = isinstance(value, int) and not isinstance(value, bool)
        fits = is_size and (1 <= value <= LARGEST_SIZE or value == usual)
        return None if fits else f"a whole number from 1 to {LARGEST_SIZE:,}"
    if isinstance(usual, float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and math.isfinite(value) else "a number"
    if isinstance(usual, tuple):
        is_list = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        return None if is_list else f"a list such as {list(usual)}"
    if usual is None:
        return None if value is None or isinstance(value, str) else "a path as text"
    return None if isinstance(value, str) else "text"
