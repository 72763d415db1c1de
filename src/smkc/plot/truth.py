"""The section that holds what was found against what was planted, where that is known.

In: a finding and the routine changes of a made-up fleet. Out: HTML.
"""

from collections.abc import Sequence

from smkc.decide import Alert
from smkc.fleet import Change, Finding
from smkc.plot.sections import text
from smkc.plot.wording import clock

__all__ = ["truth_section"]


def truth_section(finding: Finding, alerts: Sequence[Alert], routine: Sequence[Change]) -> str:
    """List the planted incidents and the routine changes, and what became of each."""
    number_of = {id(alert): number for number, alert in enumerate(alerts, start=1)}
    rows = []
    for place, (incident, met) in enumerate(finding.by_incident):
        verdict = '<span class="bad">missed</span>'
        if met:
            named = ", ".join(f"alert {number_of[id(alert)]}" for alert in met)
            verdict = f'<span class="good">found</span> by {named}'
        rows.append(
            f'<tr><td class="letter">{chr(ord("A") + place % 26)}</td>'
            f'<td class="when">{text(clock(incident.start))}</td><td>{text(incident.kind)}</td>'
            f'<td>{text(incident.story)}</td><td class="verdict">{verdict}</td></tr>'
        )
    for change in routine:
        hit = [a for a in finding.false_alarms if a.start <= change.end and change.start <= a.end]
        verdict = '<span class="bad">false alarm</span>' if hit else "left alone"
        rows.append(
            f'<tr><td></td><td class="when">{text(clock(change.start))}</td>'
            f"<td>{text(change.kind)}, routine</td><td>{text(change.story)}</td>"
            f'<td class="verdict">{verdict}</td></tr>'
        )
    false_alarms = len(finding.false_alarms)
    return (
        "<section><h2>Found against planted</h2>"
        f'<p class="note">This telemetry is made up, so the truth is known: {finding.n_found} of '
        f"{len(finding.by_incident)} incidents found, {false_alarms} false "
        f"alarm{'s' * (false_alarms != 1)}.</p>"
        '<div class="card scroll"><table><tr><th></th><th>when</th><th>what</th><th>story</th>'
        f"<th>verdict</th></tr>{''.join(rows)}</table></div></section>"
    )
