"""``smkc watch --check``: check a configuration without starting the service.

In: a configuration. Out: one line per watch on standard output, with warnings, and a table of the
planted anomalies that it would catch; an error if the configuration cannot work. Nothing is stored,
and no receiver is notified.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from smkc.cli.printing import console, print_json
from smkc.errors import SettingError
from smkc.serve.api import check_listening, read_keys
from smkc.serve.backtest import as_started, past_rows
from smkc.serve.config import Config, PeerConfig, WatchConfig, WebhookConfig
from smkc.serve.intake.entities import Intake
from smkc.serve.lane.fitting import time_left
from smkc.serve.lane.follower import recording_of
from smkc.serve.lane.testing import told, tried
from smkc.serve.messages import address
from smkc.serve.prometheus.client import Prometheus, SourceError
from smkc.serve.rows import Row

# Largest number of recordings of a split watch that are tried: those with the most rows.
MOST_TRIED = 3


def check(plan: Config, as_json: bool, *, quick: bool = False) -> bool:
    """Check that secrets can be read, test each watch on its history, and print the results.

    ``quick`` queries only the latest row of each watch. Returns False if a watch has the verdict
    ``no``.
    """
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


def _missing(plan: Config) -> Iterator[tuple[str, str]]:
    """Yield the section whose secrets or certificates cannot be read, and the reason."""
    peers: list[tuple[str, PeerConfig]] = []
    if plan.prometheus is not None:
        peers.append(("[prometheus]", plan.prometheus))
    peers += [(f"[[alertmanager]] {address(one.url)}", one) for one in plan.alertmanagers]
    peers += [(f"[[webhook]] {one.name}", one) for one in plan.webhooks]
    peers += [(f"[[grafana]] {address(one.url)}", one) for one in plan.grafanas]
    for whose, peer in peers:
        try:
            peer.request_headers()
            peer.trust()
            if isinstance(peer, WebhookConfig):
                peer.signing_key()
        except SettingError as error:
            yield whose, str(error)


def _asked(plan: Config, one: WatchConfig, quick: bool) -> dict[str, Any]:
    """Query the rows of a watch, try it on them, and return the results as a dictionary."""
    said: dict[str, Any] = {"watch": one.name, "source": one.source}
    if one.source != "prometheus" or plan.prometheus is None:
        return said
    now = time.time_ns() // 1_000_000
    try:
        with Prometheus.of(plan.prometheus) as client:
            one = as_started(one, client, now)
            due = (now - one.lateness) // one.step * one.step
            said |= {"step": one.step} | _now(client, one, due)
            if "warning" not in said and not quick:
                said |= _tried(client, one, due)
    except SourceError as error:
        if not error.retry:
            raise
        said["warning"] = f"Prometheus cannot be queried now; the service would try again: {error}"
    return said


def _now(client: Prometheus, one: WatchConfig, due: int) -> dict[str, Any]:
    """Return the number of series in the latest row and of recordings, with a warning if 0."""
    samples = client.range(one.query, due, due, one.step)
    said: dict[str, Any] = {"series": len(samples.names)}
    if not samples.names:
        said["warning"] = (
            f"the query {one.query!r} gives no series now; try it in Prometheus, and check that "
            "its targets are up"
        )
    elif one.entity:
        said["recordings"] = len(Intake(one).by_entity(samples))
        if not said["recordings"]:
            said["warning"] = (
                f"none of them has the label {one.entity!r} to split them by; correct entity, or "
                "leave it out"
            )
    return said


def _tried(client: Prometheus, one: WatchConfig, due: int) -> dict[str, Any]:
    """Return self-tests of a watch: learn from its history, with anomalies planted in it.

    Return a warning if no recording has enough rows.
    """
    rows: dict[str, list[Row]] = {}
    for entity, some in past_rows(one, client, due - one.history // one.step * one.step, due):
        rows.setdefault(entity, []).extend(some)
    enough = {entity: found for entity, found in rows.items() if len(found) >= one.min_rows}
    if not enough:
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
        "tables": [
            f"{entity}: {diagnosis}" if entity else str(diagnosis)
            for entity, diagnosis in diagnoses.items()
        ],
    }


def _line(said: dict[str, Any]) -> str:
    parts = []
    if said["source"] == "push":
        parts.append("waits for pushed samples")
    if "series" in said:
        parts.append(f"{said['series']:,} series now")
    if "recordings" in said:
        parts.append(f"{said['recordings']:,} recordings, scored separately")
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
