"""Marks: what a row is to an alert, beside how surprising it is."""

from enum import IntEnum

__all__ = ["Mark"]


class Mark(IntEnum):
    """What a row is to an alert."""

    NONE = 0
    NEWS = 1  # another trouble begins than the one that goes on
    ECHO = 2  # only averages over earlier rows are unusual: the trouble itself is over
