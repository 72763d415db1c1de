"""Settings of the learned model, and the options by name that users give.

In: plain values by name, as given to a detector or in a TOML file. Out: settings of the networks,
of their masks and of their training, or an error that names the option and valid values.
"""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from smkc.errors import SettingError
from smkc.paper.kernel import CHANNELS
from smkc.paper.learn.masks import PATTERNS, Masking
from smkc.paper.learn.network import Training
from smkc.paper.learn.patches import TOKEN_LAYOUTS

# Objectives of a model, and the networks that each one trains.
OBJECTIVES = {
    "recon": ("recon",),
    "prediction": ("prediction",),
    "ensemble": ("recon", "prediction"),
}

# How components of a score are computed: tuned on validation windows, or as the paper describes
# them. See :class:`smkc.paper.learn.learner.Learner`.
SCORINGS = ("tuned", "paper")

BACKBONES = ("attention", "linear")

# Smallest number of patches per side if the patch size is chosen automatically. Time grows with the
# fourth power of the number, so the largest possible patch is chosen.
LEAST_SIDE = 8


@dataclass(frozen=True, kw_only=True)
class LearnSettings:
    """Settings of the learned model.

    With the defaults, 2 CPU cores train on about 10,000 windows in minutes; the paper's tables are
    made with larger networks and smaller patches.

    Parameters
    ----------
    objective
        ``recon``, ``prediction`` or ``ensemble`` of both.
    channels
        names of the kernel images' channels, in their order.
    patch
        time steps per patch; 0 for the largest power of 2 that gives at least 8 patches per side.
    width, layers, heads
        D, the length of a token, the number of transformer blocks, and of attention heads.
    expansion
        width of a block's hidden layer, in multiples of D.
    backbone
        ``attention`` (softmax, quadratic in the number of tokens) or ``linear``.
    tokens
        ``triangle`` reads the patches on and above the diagonal, ``full`` all of them.
    stem_width, stem_layers
        width and number of the 3 x 3 convolutions before patches are embedded.
    lag_positions
        whether positions have a lag component; False is the paper's no_lag_positional.
    scale_token
        whether the scale token is read; False is the paper's no_scale_token.
    decoder_layers, predictor_layers
        number of cross blocks of reconstruction and of prediction.
    expects_errors
        whether reconstruction also predicts the expected error, relative to which errors are
        measured; the paper's does not.
    scoring
        ``tuned``, or ``paper`` for density and surprise as the paper describes them. The networks
        are the same.
    masking
        how patches are masked, in training and in scoring.
    n_masks
        number of fixed masks that the surprise is averaged over.
    neighbours
        K, the number of nearest training windows that the density averages over.
    reference_size
        largest number of training windows among which neighbours are searched.
    training
        epochs, batches, learning rate, device, seed.
    """

    objective: str = "ensemble"
    channels: tuple[str, ...] = CHANNELS
    patch: int = 0
    width: int = 64
    layers: int = 2
    heads: int = 4
    expansion: int = 4
    backbone: str = "attention"
    tokens: str = "triangle"
    stem_width: int = 16
    stem_layers: int = 2
    lag_positions: bool = True
    scale_token: bool = True
    decoder_layers: int = 2
    predictor_layers: int = 4
    expects_errors: bool = True
    scoring: str = "tuned"
    masking: Masking = field(default_factory=Masking)
    n_masks: int = 16
    neighbours: int = 20
    reference_size: int = 20_000
    training: Training = field(
        default_factory=lambda: Training(epochs=15, patience=4, schedule="cosine")
    )

    def __post_init__(self) -> None:
        choices = {
            "objective": tuple(OBJECTIVES),
            "scoring": SCORINGS,
            "backbone": BACKBONES,
            "tokens": TOKEN_LAYOUTS,
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise SettingError(
                    f"{name}={getattr(self, name)!r} is not known; use one of {', '.join(known)}"
                )
        if not self.channels or len(set(self.channels) & set(CHANNELS)) != len(self.channels):
            raise SettingError(
                f"channels={self.channels!r}: name one or more of {CHANNELS}, each once"
            )
        for size in fields(self):
            value = getattr(self, size.name)
            if size.type is int and size.name != "patch" and value < 1:
                raise SettingError(f"{size.name}={value!r}: give a whole number from 1 on")
        if self.width % self.heads:
            raise SettingError(
                f"width={self.width} is not a multiple of heads={self.heads}; try 128 and 4"
            )

    def patch_of(self, window: int) -> int:
        """Return the time steps per patch of windows of ``window`` time steps.

        Examples
        --------
        >>> [LearnSettings().patch_of(window) for window in (8, 30, 32, 64, 128)]
        [1, 2, 4, 8, 16]
        """
        patch = self.patch or 1
        while not self.patch and window % (2 * patch) == 0 and window // (2 * patch) >= LEAST_SIDE:
            patch *= 2
        return patch


# ---------------------------------------------------------------------- options by name

# Settings that the detector sets itself; masking and training have options of their own below.
OWN = {"objective", "channels", "neighbours", "reference_size", "masking", "training"}
OWN_OF_TRAINING = {"epochs", "device", "seed"}

# Largest value of an integer option, so that a typing error or a damaged file cannot request all
# memory.
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

# All options with their default values.
OPTIONS: dict[str, Any] = {**_OF_MODEL, **_OF_MASKING, **_OF_TRAINING}


def learn_settings(options: Mapping[str, Any] | None, **own: Any) -> LearnSettings:
    """Return the settings that options describe.

    Parameters
    ----------
    options
        some of OPTIONS, by name; None for none.
    own
        settings from the detector: objective, channels, neighbours, reference_size, epochs
        (None for the default), device, seed.

    Examples
    --------
    >>> found = learn_settings({"width": 64, "batch_size": 32}, objective="recon", epochs=5)
    >>> found.width, found.training.batch_size, found.training.epochs
    (64, 32, 5)
    """
    options = _checked(options)
    given = {name: own.pop(name) for name in sorted(OWN_OF_TRAINING) if name in own}
    if given.get("epochs") is None:
        given.pop("epochs", None)
    given |= {name: options[name] for name in _OF_TRAINING if name in options}
    masking = Masking(
        ratio=options.get("mask_ratio", Masking().ratio),
        patterns=tuple(options.get("mask_patterns", PATTERNS)),
    )
    return LearnSettings(
        **own,
        **{name: options[name] for name in _OF_MODEL if name in options},
        masking=masking,
        training=replace(LearnSettings().training, **given),
    )


def _checked(options: Any) -> dict[str, Any]:
    """Return the options after checking their names and types."""
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
    """Return a description of valid values if ``value`` does not fit the default, else None."""
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
    return None if isinstance(value, str) else "text"
