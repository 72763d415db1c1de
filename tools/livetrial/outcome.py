"""Outcome of a trial: the faults compared with the alerts that were seen.

In: faults with their true times, alerts with the times when they were seen open and resolved. Out:
whether each fault was alerted, whether its alert stayed open until the fault ended, and which
alerts belong to no fault.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.livetrial.variables import is_named
from tools.livetrial.watching import SeenAlert

__all__ = ["FaultOutcome", "Outcome", "judge", "table"]

# Delay in seconds after a fault in which its alert may open: a row is queried one step after its
# end, and takes a moment to be judged.
REPORT_SECONDS = 5.0

# An alert that opens within this time after a fault is no false alarm: 10 rows, as in the
# benchmark's measure of alerts.
AFTERMATH_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class FaultOutcome:
    """Result for one fault.

    Parameters
    ----------
    kind, where
        kind of the fault, and the affected pod or service.
    alerted_after
        seconds from its start until an alert opened; None if none did.
    resolved_after
        seconds from its start until that alert was resolved; None also if it was still open at
        the end of the trial.
    is_held
        whether that alert was open when the fault ended.
    was_open
        whether an earlier alert was open when the fault began.
    first_cause
        first cause of that alert.
    is_guilty
        whether the first cause is guilty, or belongs to the affected service.
    """

    kind: str
    where: str
    alerted_after: float | None = None
    resolved_after: float | None = None
    is_held: bool = False
    was_open: bool = False
    first_cause: str = ""
    is_guilty: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One entry per fault, the alerts that belong to none, and the minutes without a fault.

    ``kills`` has an entry for each part of the stack that was killed. An alert of a part that was
    down is no false alarm.
    """

    faults: tuple[FaultOutcome, ...]
    false_alarms: tuple[SeenAlert, ...]
    routine_minutes: float
    kills: tuple[FaultOutcome, ...] = ()

    @property
    def n_alerted(self) -> int:
        """Number of faults that were alerted."""
        return sum(fault.alerted_after is not None for fault in self.faults)

    @property
    def n_held(self) -> int:
        """Number of faults whose alert stayed open until they ended."""
        return sum(fault.is_held for fault in self.faults)


def judge(
    faults: Sequence[Mapping[str, Any]],
    alerts: Sequence[SeenAlert],
    start: float,
    end: float,
    kills: Sequence[Mapping[str, Any]] = (),
) -> Outcome:
    """Compare faults (``begun`` and ``ended``, seconds since 1970) with the alerts of a trial.

    ``start`` and ``end`` limit the time in which alerts could be seen. An alert is a false alarm
    if it opened neither during a fault or a kill nor within AFTERMATH_SECONDS after one.
    """
    killed = [
        _outcome({**one, "kind": f"kill -9 {one['part']}"}, alerts, AFTERMATH_SECONDS)
        for one in kills
    ]
    false_alarms = tuple(
        one
        for one in alerts
        if start <= one.opened <= end
        and not any(
            trouble["begun"] <= one.opened <= trouble["ended"] + AFTERMATH_SECONDS
            for trouble in (*faults, *kills)
        )
    )
    under_faults = sum(fault["ended"] - fault["begun"] for fault in faults)
    minutes = (end - start - under_faults) / 60
    return Outcome(
        faults=tuple(_outcome(fault, alerts, REPORT_SECONDS) for fault in faults),
        false_alarms=false_alarms,
        routine_minutes=minutes,
        kills=tuple(killed),
    )


def _outcome(
    fault: Mapping[str, Any], alerts: Sequence[SeenAlert], seconds_after: float
) -> FaultOutcome:
    """Return the result for a fault whose alert opens at most ``seconds_after`` its end."""
    begun, ended = fault["begun"], fault["ended"]
    was_open = any(
        one.opened < begun and (one.resolved is None or one.resolved > begun) for one in alerts
    )
    where = str(fault.get("pod") or fault.get("service") or "")
    opened = [one for one in alerts if begun <= one.opened <= ended + seconds_after]
    if not opened:
        return FaultOutcome(kind=fault["kind"], where=where, was_open=was_open)
    first = opened[0]
    cause = first.causes[0] if first.causes else ""
    return FaultOutcome(
        kind=fault["kind"],
        where=where,
        alerted_after=first.opened - begun,
        resolved_after=None if first.resolved is None else first.resolved - begun,
        is_held=first.resolved is None or first.resolved >= ended,
        was_open=was_open,
        first_cause=cause,
        is_guilty=bool(cause) and "part" not in fault and is_named(fault, cause),
    )


def table(outcome: Outcome) -> str:
    """Return the outcome as text: one line per fault, false alarms, and a summary."""
    lines = [f"{'fault':<17}{'alerted':>9}{'resolved':>10}  {'held':<6}first cause (* = guilty)"]
    for fault in (*outcome.faults, *outcome.kills):
        held = "yes" if fault.is_held else "no" if fault.alerted_after is not None else ""
        note = "  [an alert from before was open]" if fault.was_open else ""
        mark = "* " if fault.is_guilty else ""
        lines.append(
            f"{fault.kind:<17}{_seconds(fault.alerted_after):>9}"
            f"{_seconds(fault.resolved_after):>10}  {held:<6}{mark}{fault.first_cause}{note}"
        )
    for alert in outcome.false_alarms:
        cause = alert.causes[0] if alert.causes else ""
        lasted = None if alert.resolved is None else alert.resolved - alert.opened
        lines.append(f"{'false alarm':<17}{'':>9}{_seconds(lasted):>10}  {'':<6}{cause}")
    n_guilty = sum(fault.is_guilty for fault in outcome.faults)
    lines.append(
        f"{outcome.n_alerted} of {len(outcome.faults)} faults alerted, {outcome.n_held} open until "
        f"the fault ended, {n_guilty} name a guilty variable first; "
        f"{len(outcome.false_alarms)} false alarms in {outcome.routine_minutes:.0f} routine minutes"
    )
    return "\n".join(lines) + "\n"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} s"
