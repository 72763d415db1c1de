"""Notes: what a reader dropped, so that it can be told."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Notes:
    """What a reader dropped.

    ``duplicates``, ``infinities`` and ``missing`` count observations; ``ignored`` lists columns
    that were left out, ``beyond`` variables with values beyond float32.
    """

    duplicates: int = 0
    infinities: int = 0
    missing: int = 0
    ignored: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()

    def __add__(self, other: "Notes") -> "Notes":
        return Notes(
            duplicates=self.duplicates + other.duplicates,
            infinities=self.infinities + other.infinities,
            missing=self.missing + other.missing,
            ignored=tuple(dict.fromkeys(self.ignored + other.ignored)),
            beyond=tuple(dict.fromkeys(self.beyond + other.beyond)),
        )
