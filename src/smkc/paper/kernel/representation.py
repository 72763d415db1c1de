"""Representation: which comparisons of a window's time steps become its features.

In: the paper's short names, such as ``log3 band(8)``. Out: a frozen description.
"""

import re
from dataclasses import dataclass

from smkc.errors import SettingError

# The paper's order: cosine similarities first, then robust log distances.
CHANNELS = ("cos_g", "cos_delta", "cos_abs", "log_g", "log_delta", "log_abs")

CHANNEL_SETS = {
    "full": CHANNELS,
    "log3": CHANNELS[3:],
    "cos3": CHANNELS[:3],
    "base2": ("cos_g", "log_g"),
}

_WORD = re.compile(r"([a-z_0-9+]+)(?:\((\d{1,6})\))?")


@dataclass(frozen=True, kw_only=True)
class Representation:
    """A choice of the features that describe a window.

    Parameters
    ----------
    channels
        names of the channels used, of the six in CHANNELS, in the paper's order.
    layout
        ``image`` compares all pairs of time steps, ``band`` the lags 1..size, ``anchor`` each step
        with ``size`` anchors; ``seq`` is the sequence of states itself.
    size
        w of a band, r of anchors; 0 otherwise.
    proj
        number of components that states are projected to before comparison; 0 for no projection.
    down
        number of time steps that the window is averaged to before comparison; 0 for no averaging.

    Examples
    --------
    >>> Representation.parse("log3 band(8)").channels
    ('log_g', 'log_delta', 'log_abs')
    >>> Representation.parse("log3 band(8)").n_features(window=64)
    1536
    >>> str(Representation.parse("full proj(128) image"))
    'full proj(128) image'
    """

    channels: tuple[str, ...] = CHANNEL_SETS["log3"]
    layout: str = "band"
    size: int = 8
    proj: int = 0
    down: int = 0

    @classmethod
    def parse(cls, text: "str | Representation") -> "Representation":
        """Parse a description: a channel set (or channels joined by +), options, and a layout.

        Channel sets are full, log3, cos3 and base2; layouts image, band(w), anchor(r) and seq;
        options proj(d) and down(steps). By default all channels are used and the layout is image.
        """
        if isinstance(text, Representation):
            return text
        channels: tuple[str, ...] = CHANNELS
        layout, size, options = "image", 0, {"proj": 0, "down": 0}
        for word in text.replace(",", " ").lower().split():
            match = _WORD.fullmatch(word)
            name, number = (match[1], int(match[2] or 0)) if match else (word, 0)
            if name in ("band", "anchor") and number > 0:
                layout, size = name, number
            elif name in options and number > 0:
                options[name] = number
            elif name in ("image", "seq") and not number:
                layout, size = name, 0
            elif name in CHANNEL_SETS and not number:
                channels = CHANNEL_SETS[name]
            elif match and not number and set(name.split("+")) <= set(CHANNELS):
                channels = tuple(channel for channel in CHANNELS if channel in name.split("+"))
            else:
                raise SettingError(
                    f"representation {text!r}: {word!r} is not known; use a channel set "
                    f"({', '.join(CHANNEL_SETS)}, or names such as cos_g+log_delta), a layout "
                    "(image, band(8), anchor(16), seq) and options (proj(128), down(16))"
                )
        return cls(channels=channels, layout=layout, size=size, **options)

    def __str__(self) -> str:
        names = {channels: name for name, channels in CHANNEL_SETS.items()}
        words = [names.get(self.channels, "+".join(self.channels))]
        words += [f"proj({self.proj})"] if self.proj else []
        words += [f"down({self.down})"] if self.down else []
        words.append(f"{self.layout}({self.size})" if self.size else self.layout)
        return " ".join(words)

    def check(self, window: int) -> None:
        """Raise SettingError if windows of this length cannot have this representation."""
        if self.down and window % self.down:
            raise SettingError(
                f"representation '{self}' needs a window that is a multiple of {self.down}; "
                f"window={window} is not"
            )
        length = self.down or window
        if self.layout == "band" and self.size >= length:
            raise SettingError(
                f"representation '{self}' compares {self.size} lags, which needs a window longer "
                f"than that; window={window}: take a longer window or a smaller band"
            )
        if self.layout == "anchor" and self.size > length:
            raise SettingError(
                f"representation '{self}' has more anchors than the window's {length} steps; take "
                "fewer anchors or a longer window"
            )

    @property
    def places(self) -> tuple[int, ...]:
        """Place of each of the six channels in the features; -1 for those not used."""
        here = self.channels
        return tuple(here.index(name) if name in here else -1 for name in CHANNELS)

    def shape(self, window: int, width: int = 256) -> tuple[int, ...]:
        """Return the shape of a window's features before flattening; ``width`` is a state's."""
        length = self.down or window
        if self.layout == "seq":
            return (length, self.proj or width)
        if self.layout == "band":
            return (len(self.channels), self.size, length)
        if self.layout == "anchor":
            return (len(self.channels), length, self.size)
        return (len(self.channels), length, length)

    def n_features(self, window: int, width: int = 256) -> int:
        """Return the length of the flat feature vector."""
        n = 1
        for extent in self.shape(window, width):
            n *= extent
        return n
