"""``smkc watch --check``: what a configuration would do, and catch, without doing it.

In: a configuration. Out: a line for each watch on standard output, with what is doubtful about it,
and a table of the planted anomalies that it would catch; an error if it cannot work at all. Nothing
is written and nobody is told anything.
"""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smkc.errors import SettingError

if TYPE_CHECKING:
    from smkc.doctor import Diagnosis
    from smkc.serve.config import Config, PeerConfig, WatchConfig
    from smkc.serve.prometheus.client import Prometheus

__all__ = ["check"]

# Number of recordings of a split watch that are tried: those with the most rows.
MOST_TRIED = 3


def check(plan: "Config", as_json: bool, *, quick: bool = False) -> bool:
    """Look for secrets that are missing, try each watch on its history, and print what was found.

    Parameters
    ----------
    plan
        the configuration.
    as_json
        whether to print JSON instead of sentences.
    quick
        whether to ask for one row of each watch, and to leave the history.

    Returns
    -------
    works
        whether no watch was found to catch too little or to alarm too often.
    """
    from smkc.cli.printing import console, print_json
    from smkc.serve.api import check_listening, read_keys

    check_listening(plan.listen, read_keys(plan))
    missing = [f"{whose}: {problem}" for whose, problem in _missing(plan)]
    if missing:
        raise SettingError("\n".join(missing))
    found = [_asked(plan, one, quick) for one in plan.watches]
    tests = [test for said in found for test in said.get("self_tests", ())]
    works = all(test["verdict"] != "no" for test in tests)
    if as_json:
        print_json([{key: said[key] for key in said if key != "tables"} for said in found])
        return works
    screen = console()
    for said in found:
        screen.print(_line(said), markup=False)
        for table in said.get("tables", ()):
            screen.print(f"\n{table}\n", markup=False, soft_wrap=True)
    n_doubtful = sum("warning" in said for said in found)
    verdict = "is in order"
    if n_doubtful:
        verdict = f"can be used, but see the {'warnings' if n_doubtful > 1 else 'warning'} above"
    if not works:
        verdict = "can be read, but does not work on these data: see above"
    screen.print(f"The configuration {verdict}. It would listen at {plan.listen.url}")
    return works


def _missing(plan: "Config") -> Iterator[tuple[str, str]]:
    """Yield whose secrets or certificates cannot be read, and why."""
    from smkc.serve.config import WebhookConfig

    for whose, peer in _peers(plan):
        try:
            peer.request_headers()
            peer.trust()
            if isinstance(peer, WebhookConfig):
                peer.signing_key()
        except SettingError as error:
            yield whose, str(error)


def _peers(plan: "Config") -> "Iterator[tuple[str, PeerConfig]]":
    from smkc.serve.messages import address

    if plan.prometheus is not None:
        yield "[prometheus]", plan.prometheus
    for manager in plan.alertmanagers:
        yield f"[[alertmanager]] {address(manager.url)}", manager
    for webhook in plan.webhooks:
        yield f"[[webhook]] {webhook.name}", webhook
    if plan.remote_write is not None:
        yield "[remote_write]", plan.remote_write


def _asked(plan: "Config", one: "WatchConfig", quick: bool) -> dict[str, Any]:
    """Ask for rows of a watch, try it on them, and return what is to be said of it."""
    from smkc.serve.past import with_step
    from smkc.serve.prometheus.client import Prometheus, SourceError

    said: dict[str, Any] = {"watch": one.name, "source": one.source}
    if one.source != "prometheus" or plan.prometheus is None:
        return said
    now = time.time_ns() // 1_000_000
    try:
        with Prometheus.of(plan.prometheus) as client:
            one = with_step(one, client, now)
            due = (now - one.lateness) // one.step * one.step
            said |= {"step": one.step} | _now(client, one, due)
            if "warning" not in said and not quick:
                said |= _tried(client, one, due)
    except SourceError as error:
        if not error.retry:
            raise
        said["warning"] = f"cannot be asked now, and would be waited for: {error}"
    return said


def _now(client: "Prometheus", one: "WatchConfig", due: int) -> dict[str, Any]:
    """Return how many series there are in the latest row, and in how many recordings."""
    from smkc.serve.intake.entities import Intake

    samples = client.range(one.query, due, due, one.step)
    said: dict[str, Any] = {}
    said["series"] = len(samples.names)
    if not samples.names:
        said["warning"] = (
            f"the query {one.query!r} gives nothing now; try it in Prometheus, and see whether its "
            "targets are up"
        )
    elif one.entity:
        said["recordings"] = len(Intake(one).by_entity(samples))
        if not said["recordings"]:
            said["warning"] = (
                f"none of them has the label {one.entity!r}, which is to split them; correct "
                "entity, or leave it out"
            )
    return said


def _tried(client: "Prometheus", one: "WatchConfig", due: int) -> dict[str, Any]:
    """Learn from the history of a watch, and plant anomalies in it."""
    from dataclasses import asdict

    from smkc.serve.lane.follower import recording_of
    from smkc.serve.lane.testing import told, tried
    from smkc.serve.past import past_rows
    from smkc.serve.rows import Row

    rows: dict[str, list[Row]] = {}
    for entity, some in past_rows(one, client, due - one.history // one.step * one.step, due):
        rows.setdefault(entity, []).extend(some)
    enough = {entity: found for entity, found in rows.items() if len(found) >= one.min_rows}
    if not enough:
        from smkc.serve.lane.learning import time_left

        most = max((len(found) for found in rows.values()), default=0)
        left = time_left(one, most, one.min_rows)
        return {"warning": f"{most:,} of {one.min_rows:,} rows to learn from: {left}"}
    fullest = sorted(enough, key=lambda entity: (-len(enough[entity]), entity))[:MOST_TRIED]
    diagnoses = {entity: tried(recording_of(enough[entity]), one) for entity in fullest}
    return {
        "self_tests": [
            {"entity": entity, **asdict(told(diagnosis, one))}
            for entity, diagnosis in diagnoses.items()
        ],
        "tables": [_table(entity, diagnosis) for entity, diagnosis in diagnoses.items()],
    }


def _table(entity: str, diagnosis: "Diagnosis") -> str:
    return f"{entity}: {diagnosis}" if entity else str(diagnosis)


def _line(said: dict[str, Any]) -> str:
    parts = []
    if said["source"] == "push":
        parts.append("waits for what is pushed")
    if "series" in said:
        parts.append(f"{said['series']:,} series now")
    if "recordings" in said:
        parts.append(f"{said['recordings']:,} recordings, judged each by itself")
    if "step" in said:
        parts.append(f"a row every {said['step'] / 1000:g} s")
    for test in said.get("self_tests", ()):
        whose = f" of {test['entity']}" if test["entity"] else ""
        parts.append(f"{test['caught']} of {test['planted']} planted anomalies{whose} caught")
        if test["remedy"]:
            parts.append(test["remedy"])
    if "warning" in said:
        parts.append(f"warning: {said['warning']}")
    return f"{said['watch']}: {'; '.join(parts)}"
