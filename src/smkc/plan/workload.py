"""Workload: a sentence -> how much is to be scored, how, and on what machines.

In: text such as "1e6 series, 15 s, 30 days". Out: a :class:`Workload`, or an error that names the
part which was not understood.
"""

import re
from dataclasses import dataclass, replace

from smkc.errors import SettingError

__all__ = ["ENGINES", "Workload"]

ENGINES = ("evidence", "knn")

# Seconds of each unit of time.
UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3_600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("y", "year", "years"), 31_557_600.0),
}

# Words for each number of a workload, beside series and times.
WORDS = {
    "variables": ("variables", "variable"),
    "window": ("rows", "row"),
    "references": ("references", "reference"),
    "reference_rows": ("reference-rows",),
    "cores": ("cores", "core"),
    "memory": ("gb", "gib"),
}

WHOLE = ("series", "variables", "window", "references", "reference_rows", "cores")

LARGEST = 1e15

_PART = re.compile(r"(?:every |for |machines of |of |and )*([0-9][0-9_.e+]*) *([a-z-]+)(?: .*)?")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is to be scored.

    Parameters
    ----------
    series
        how many series there are in all.
    step, span
        seconds from one row to the next, and seconds in all.
    variables
        series that are scored together, as one recording: those of one host, say.
    engine
        the detector, ``evidence`` or ``knn``.
    window, references
        rows a window and reference windows of ``knn``.
    reference_rows
        rows that each recording's model learns from.
    cores, memory
        of one machine; memory in GB.

    Examples
    --------
    >>> Workload.parse("1e6 series, 15 s, 30 days").n_rows
    172800
    >>> Workload.parse("500 series, 1 min, 1 week, 20 variables, knn").n_recordings
    25
    """

    series: int
    step: float
    span: float
    variables: int = 40
    engine: str = "evidence"
    window: int = 64
    references: int = 4096
    reference_rows: int = 20_000
    cores: int = 16
    memory: float = 64.0

    @classmethod
    def parse(cls, text: str) -> "Workload":
        """Read parts separated by commas; the shorter time is the step, the longer the span."""
        numbers: dict[str, float] = {}
        times: list[float] = []
        engine = ENGINES[0]
        for part in (" ".join(piece.lower().split()) for piece in text.split(",")):
            if part in ENGINES:
                engine = part
                continue
            number, unit = _number(text, part)
            if unit in UNITS:
                times.append(number * UNITS[unit])
                continue
            named = next((name for name, words in WORDS.items() if unit in words), unit)
            if named in numbers or (named not in WORDS and named != "series"):
                raise _not_understood(text, part)
            numbers[named] = number
        if "series" not in numbers or len(times) != 2:
            raise SettingError(
                f"the plan {text!r} needs how many series, how far apart their rows are and for "
                'how long; write for example "1e6 series, 15 s, 30 days"'
            )
        known = cls(series=1, step=min(times), span=max(times), engine=engine)
        given = {name: int(n) if name in WHOLE else n for name, n in numbers.items()}
        return replace(known, **given)  # type: ignore[arg-type]

    @property
    def n_recordings(self) -> int:
        """How many recordings the series make up."""
        return -(-self.series // self.variables)

    @property
    def n_rows(self) -> int:
        """Rows of each recording."""
        return max(1, round(self.span / self.step))

    @property
    def n_learned(self) -> int:
        """Rows that each model learns from: no more than there are."""
        return min(self.reference_rows, self.n_rows)

    @property
    def n_observations(self) -> int:
        """Observations in all."""
        return self.series * self.n_rows


def _number(text: str, part: str) -> tuple[float, str]:
    """Return the number and the word of one part."""
    match = _PART.fullmatch(part)
    if match is None:
        raise _not_understood(text, part)
    try:
        number = float(match[1].replace("_", ""))
    except ValueError:
        raise _not_understood(text, part) from None
    is_time = match[2] in UNITS
    if not 0 < number <= LARGEST or (
        not is_time and match[2] not in WORDS["memory"] and number < 1
    ):
        raise SettingError(f"the plan {text!r}: {part!r} is out of range; give from 1 to 1e15")
    return number, match[2]


def _not_understood(text: str, part: str) -> SettingError:
    return SettingError(
        f"the plan {text!r}: {part!r} is not understood, or said twice; give parts such as 1e6 "
        "series, 15 s, 30 days, 40 variables, evidence or knn, 64 rows, 4096 references, 20000 "
        "reference-rows, 16 cores, 64 GB"
    )
