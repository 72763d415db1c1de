"""Settings: a detector's parameters -> the empty state that they describe.

In: parameters by name. Out: a :class:`~smkc.fitted.Fitted` that has learned nothing yet, or an
error that names the parameter.
"""

from collections.abc import Mapping
from typing import Any

from smkc.decide import ALIGNMENTS
from smkc.density import KnnDensity, Projection
from smkc.errors import SettingError
from smkc.fitted import Fitted
from smkc.kernel import Representation
from smkc.recording import Scaling
from smkc.sketch import Sketch

__all__ = ["empty_fitted"]

# Entries of the largest projection: 4 GiB, a full image of 800 rows projected to 256 numbers.
MOST_PROJECTED = 2**30


def empty_fitted(settings: Mapping[str, Any], scaling: Scaling | None) -> Fitted:
    """Check the settings and return what they describe before any data."""
    _check_choices(settings)
    _check_numbers(settings)
    window, components = settings["window"], settings["components"]
    representation = Representation.parse(settings["representation"])
    representation.check(window)
    sketch = Sketch(
        **{name: settings[name] for name in ("buckets", "presence", "saturate", "normalise")}
    )
    projection = Projection(components=components, seed=settings["seed"])
    n_features = representation.n_features(window, sketch.width)
    if n_features * components > MOST_PROJECTED:
        raise SettingError(
            f"representation={settings['representation']!r} makes {n_features:,} numbers of a "
            f"window of {window:,} rows, too many to project to {components}; take a shorter "
            "window, or a band such as 'log3 band(8)'"
        )
    density = KnnDensity.empty(
        window=window,
        representation=representation,
        sketch=sketch,
        projection=projection,
        neighbours=settings["neighbours"],
        least_filled=settings["least_filled"],
        reference_size=settings["reference_size"],
    )
    return Fitted(
        stride=settings["stride"], align=settings["align"], scaling=scaling, density=density
    )


def _check_choices(settings: Mapping[str, Any]) -> None:
    choices = {"detector": ("knn",), "scaling": ("robust", None), "align": ALIGNMENTS}
    for name, known in choices.items():
        if settings[name] not in known:
            raise SettingError(
                f"{name}={settings[name]!r} is not known; use {' or '.join(map(repr, known))}"
            )
    for name in ("presence", "saturate", "normalise"):
        if not isinstance(settings[name], bool):
            raise SettingError(f"{name}={settings[name]!r}: give True or False")
    if not isinstance(settings["representation"], str):
        raise SettingError(
            f"representation={settings['representation']!r}: give text such as 'log3 band(8)'"
        )


def _check_numbers(settings: Mapping[str, Any]) -> None:
    least = {"window": 2, "stride": 1, "neighbours": 1, "seed": 0}
    for name, smallest in least.items():
        _check_whole(name, settings[name], smallest)
    _check_whole("reference_size", settings["reference_size"], settings["neighbours"])
    share, rate = settings["least_filled"], settings["false_alarm_rate"]
    if not isinstance(share, int | float) or not 0 <= share < 1:
        raise SettingError(f"least_filled={share!r}: give a share from 0 to below 1")
    if not isinstance(rate, float) or not 0 < rate < 1:
        raise SettingError(f"false_alarm_rate={rate!r}: give a rate between 0 and 1")


def _check_whole(name: str, value: Any, smallest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise SettingError(f"{name}={value!r}: give a whole number from {smallest} up")
