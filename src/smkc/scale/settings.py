"""Settings of a run that reads in pieces.

In: numbers. Out: a frozen object, checked.
"""

from dataclasses import dataclass

from smkc.errors import SettingError

__all__ = ["ScaleSettings"]


@dataclass(frozen=True, kw_only=True)
class ScaleSettings:
    """How much is held in memory, and how often progress is kept.

    Parameters
    ----------
    held
        observations that are held back, so that rows which come a little late find their place.
    block
        observations that are gathered before they are scored.
    entities
        how many entities are followed at a time; for more, the source is read again. Each needs
        memory of its own: some 0.7 MB with ten variables, 5 MB with two hundred.
    seconds
        how often the state is written, so that a run can be resumed there.
    """

    held: int = 1_000_000
    block: int = 1_000_000
    entities: int = 256
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for name, least in (("held", 0), ("block", 1), ("entities", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise SettingError(f"{name}={value!r}: give a whole number of at least {least}")
        if not self.seconds >= 0:
            raise SettingError(f"seconds={self.seconds!r}: give a number of at least 0")
