"""``smkc watch --backtest 7d``: the alerts that each budget of false alarms would have given.

In: a configuration and a time span. Out: a table of alerts and the number of alerts per budget, or
JSON. Nothing is stored, and no receiver is notified.
"""

import time
from typing import Any

from rich.table import Table
from rich.text import Text

from smkc.cli.printing import cause_record, console, plain_table, print_json
from smkc.errors import SettingError
from smkc.recording.visible import visible
from smkc.serve.backtest import Backtest, as_started
from smkc.serve.backtest import backtest as replayed
from smkc.serve.config import Config, WatchConfig, duration
from smkc.serve.messages import instant
from smkc.serve.prometheus.client import Prometheus
from smkc.serve.rows import AlertRecord


def backtest(plan: Config, span: str, as_json: bool) -> None:
    """Replay the past of each watch that queries Prometheus, and print its alerts per budget.

    ``span`` is the duration to replay up to now, such as ``7d``.
    """
    back = duration(span)
    watches = [one for one in plan.watches if one.source == "prometheus"]
    if plan.prometheus is None or not watches:
        raise SettingError(
            "no watch queries Prometheus, so there is no past to replay; add a watch with a "
            "query, or score a file with smkc detect"
        )
    records: list[dict[str, Any]] = []
    with Prometheus.of(plan.prometheus) as client:
        for one in watches:
            now = time.time_ns() // 1_000_000
            watch = as_started(one, client, now)
            end = (now - watch.lateness) // watch.step * watch.step
            start = end - back // watch.step * watch.step
            if start == end:
                raise SettingError(f"--backtest {span!r} is shorter than a step; give '7d', say")
            found = replayed(watch, client, start, end)
            if as_json:
                records += [_record(watch, one_of) for one_of in found]
            else:
                _show(watch, span, found)
    if as_json:
        print_json(records)


def _show(watch: WatchConfig, span: str, found: list[Backtest]) -> None:
    screen = console()
    if not found:
        screen.print(
            f"{watch.name}: the query {watch.query!r} gives no series in {span}; try it in "
            "Prometheus",
            markup=False,
        )
    for one in found:
        where = visible(f"{watch.name}, {one.entity}" if one.entity else watch.name)
        if one.problem:
            screen.print(f"{where}: {one.problem}", markup=False, soft_wrap=True)
            continue
        days = one.judged * watch.step / 86_400_000
        screen.print(
            f"{where}: learned from {one.learned:,} rows, judged {one.judged:,} ({days:.2g} days)",
            markup=False,
        )
        for budget, alerts in one.alerts.items():
            mark = " (as configured)" if budget == watch.false_alarms_per_day else ""
            word = "alert" if len(alerts) == 1 else "alerts"
            screen.print(
                f"  false_alarms_per_day = {budget:g}{mark}: {len(alerts)} {word}", markup=False
            )
        if any(one.alerts.values()):
            screen.print(_table(one))


def _table(one: Backtest) -> Table:
    """Return a table of the largest budget's alerts, each with the smallest budget giving it."""
    table = plain_table("start (UTC)", "end", "from budget")
    table.add_column("first cause", overflow="fold")
    for alert in one.alerts[max(one.alerts)]:
        cause = alert.causes[0] if alert.causes else None
        said = "no single variable" if cause is None else f"{cause.who}: {cause.kind}"
        end = "goes on" if alert.is_open else instant(alert.end)[:19]
        budget = f"{_strictest(one, alert):g}"
        table.add_row(instant(alert.start)[:19], end, budget, Text(visible(said)))
    return table


def _strictest(one: Backtest, alert: AlertRecord) -> float:
    """Return the smallest budget that has an alert which overlaps this one."""
    return min(
        budget
        for budget, alerts in one.alerts.items()
        if any(other.start <= alert.end and alert.start <= other.end for other in alerts)
    )


def _record(watch: WatchConfig, one: Backtest) -> dict[str, Any]:
    return {
        "watch": watch.name,
        "entity": one.entity,
        "step": watch.step,
        "learned": one.learned,
        "judged": one.judged,
        "problem": one.problem,
        "false_alarms_per_day": watch.false_alarms_per_day,
        "budgets": [
            {
                "false_alarms_per_day": budget,
                "alerts": [
                    {
                        "start": instant(alert.start),
                        "end": None if alert.is_open else instant(alert.end),
                        "p_value": alert.p_value,
                        "causes": [cause_record(cause) for cause in alert.causes[:3]],
                    }
                    for alert in alerts
                ],
            }
            for budget, alerts in one.alerts.items()
        ],
    }
