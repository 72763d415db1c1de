"""New normal: a variable that has stayed unusual for so long that it is judged by its recent past.

In: what the default detector has followed. Out: one sentence for each such variable.
"""

from dataclasses import dataclass
from typing import Any

from smkc.decide.words import figure
from smkc.recording.times import show_time


@dataclass(frozen=True, kw_only=True)
class NewNormal:
    """A lasting change of one variable.

    Parameters
    ----------
    variable
        identifier of the variable, or of the role that changed.
    row
        number of the row in which the change began.
    since
        time of that row; None if it is not known.
    before, now
        usual value in the reference, and mean since the change; None for the middle of a role, and
        for the difference of a member from its peers. For a counter these are rates.

    Examples
    --------
    >>> print(NewNormal(variable="cpu", row=3, since=17, before=0.25, now=0.75))
    new normal since 17: cpu is 0.75, 0.25 before
    """

    variable: str
    row: int
    since: Any = None
    before: float | None = None
    now: float | None = None

    @property
    def values(self) -> str:
        """The change in numbers, for display; empty if these are not known."""
        if self.before is None or self.now is None:
            return ""
        return f" is {figure(self.now)}, {figure(self.before)} before"

    def __str__(self) -> str:
        since = "" if self.since is None else f" since {show_time(self.since)}"
        return f"new normal{since}: {self.variable}{self.values}"
