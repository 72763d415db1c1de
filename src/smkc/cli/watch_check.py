"""``smkc watch --check``: what a configuration would do, without doing it.

In: a configuration. Out: a line for each watch on standard output, with what is doubtful about it;
an error if it cannot work at all. Nothing is written and nobody is told anything.
"""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smkc.errors import SettingError

if TYPE_CHECKING:
    from smkc.serve.config import Config, PeerConfig, WatchConfig

__all__ = ["check"]


def check(plan: "Config", as_json: bool) -> None:
    """Look for secrets that are missing, ask for one row of each watch, and print what was found.

    Parameters
    ----------
    plan
        the configuration.
    as_json
        whether to print JSON instead of sentences.
    """
    from smkc.cli.printing import console, print_json
    from smkc.serve.api import check_listening, read_keys

    check_listening(plan.listen, read_keys(plan))
    missing = [f"{whose}: {problem}" for whose, problem in _missing(plan)]
    if missing:
        raise SettingError("\n".join(missing))
    found = [_asked(plan, one) for one in plan.watches]
    if as_json:
        print_json(found)
        return
    screen = console()
    for said in found:
        screen.print(_line(said), markup=False)
    n_doubtful = sum("warning" in said for said in found)
    verdict = "is in order"
    if n_doubtful:
        verdict = f"can be used, but see the {'warnings' if n_doubtful > 1 else 'warning'} above"
    screen.print(f"The configuration {verdict}. It would listen at {plan.listen.url}")


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


def _asked(plan: "Config", one: "WatchConfig") -> dict[str, Any]:
    """Ask for one row of a watch; return what is to be said of it."""
    from smkc.serve.intake.entities import Intake
    from smkc.serve.prometheus.client import Prometheus, SourceError

    said: dict[str, Any] = {"watch": one.name, "source": one.source}
    if one.source != "prometheus" or plan.prometheus is None:
        return said
    due = (time.time_ns() // 1_000_000 - one.lateness) // one.step * one.step
    try:
        with Prometheus.of(plan.prometheus) as client:
            samples = client.range(one.query, due, due, one.step)
    except SourceError as error:
        if not error.retry:
            raise
        return said | {"warning": f"cannot be asked now, and would be waited for: {error}"}
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


def _line(said: dict[str, Any]) -> str:
    parts = []
    if said["source"] == "push":
        parts.append("waits for what is pushed")
    if "series" in said:
        parts.append(f"{said['series']:,} series now")
    if "recordings" in said:
        parts.append(f"{said['recordings']:,} recordings, judged each by itself")
    if "warning" in said:
        parts.append(f"warning: {said['warning']}")
    return f"{said['watch']}: {'; '.join(parts)}"
