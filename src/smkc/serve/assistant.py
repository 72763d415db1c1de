"""Assistant: read-only tools with which a language model can query a running service.

In: the address of a running service. Out: a Model Context Protocol server, each of whose tools
queries one path of the service's API; times are ISO 8601.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import httpx
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from smkc.errors import InputError, SmkcError
from smkc.serve.config.reaching import check_url, is_loopback
from smkc.version import VERSION

INSTRUCTIONS = (
    "smkc follows telemetry and alerts when it behaves unlike before. Begin with incidents "
    "(open_only) to see what is wrong, where it began and who is likely to blame, then alert for "
    "the causes of one of its alerts; alerts lists them singly, loudest says what is unusual now "
    "and what is expected, trace shows readings. Nothing here changes the service."
)

# Maximum number of causes per alert in a list of alerts, of alerts per incident, and of readings
# in a trace.
FIRST_CAUSES, FIRST_STEPS, MAX_READINGS = 3, 20, 200

TIMEOUT_SECONDS = 20.0

# Fields of answers that hold times in milliseconds since 1970.
TIMES = frozenset(
    [
        "acknowledged_at",
        "at",
        "causes_at",
        "end",
        "last_time",
        "now",
        "peak",
        "since",
        "start",
        "time",
        "times",
        "until",
    ]
)

Question = Callable[..., dict[str, Any]]
Watch = Annotated[str, Field(description="name of a watch, as the tool watches lists them")]
Entity = Annotated[str, Field(description="part of a watch that is split; empty if it is not")]
Moment = Annotated[str, Field(description="ISO 8601, UTC unless it names a zone; may be empty")]


class RemoteService:
    """Client of a service in another process; the token, if any, needs the role ``read``."""

    def __init__(self, url: str, token: str = "") -> None:
        check_url("url", url)
        self._url = url.rstrip("/")
        is_here = is_loopback(urlsplit(url).hostname or "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS, trust_env=not is_here)

    def ask(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return the answer to a GET request; empty query parameters are left out.

        If the service refuses the request, raise InputError with the message of the service.
        """
        asked = {key: value for key, value in (query or {}).items() if value != ""}
        try:
            answer = self._client.get(f"{self._url}/api/v1/{path}", params=asked)
        except httpx.HTTPError as error:
            raise InputError(
                f"{self._url} does not answer ({error}); start smkc watch there, or give its "
                "address with --url"
            ) from None
        try:
            content = answer.json()
        except ValueError:
            content = {}
        if answer.status_code != httpx.codes.OK:
            said = content.get("error") if isinstance(content, dict) else None
            raise InputError(f"{self._url}: {said or f'it answered {answer.status_code}'}")
        return _with_dates(content)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def server_of(service: RemoteService) -> MCPServer:
    """Return a server whose tools query the service."""
    server = MCPServer("smkc", version=VERSION, instructions=INSTRUCTIONS)
    only_looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    def tool(question: Question) -> Question:
        return server.tool(annotations=only_looks)(_told(question))

    @tool
    def watches() -> dict[str, Any]:
        """List the watches, the status of each, and the open alerts."""
        found = service.ask("watches")["watches"]
        for lane in (lane for watch in found for lane in watch["lanes"]):
            if lane["alert"]:
                lane["alert"] = _in_short(lane["alert"])
            if lane["latest"]:
                lane["latest"].pop("evidences")
        return {"watches": found}

    @tool
    def incidents(
        open_only: Annotated[bool, Field(description="only incidents that go on")] = False,
        since: Moment = "",
        until: Moment = "",
        limit: Annotated[int, Field(ge=1, le=100, description="number of incidents at most")] = 10,
    ) -> dict[str, Any]:
        """List incidents, newest first: what moved first, where it spread, who is to blame."""
        query = {"open": "true" if open_only else "", **_span(since, until), "limit": limit}
        found = service.ask("incidents", query)["incidents"]
        for one in found:
            steps = one["timeline"]
            one |= {"n_alerts": len(steps), "timeline": steps[:FIRST_STEPS]}
        return {"incidents": found}

    @tool
    def alerts(
        watch: Watch = "",
        entity: Entity = "",
        open_only: Annotated[bool, Field(description="only alerts that go on")] = False,
        since: Moment = "",
        until: Moment = "",
        limit: Annotated[int, Field(ge=1, le=500, description="number of alerts at most")] = 20,
    ) -> dict[str, Any]:
        """List current and past alerts, newest first, with their first causes."""
        query = {"watch": watch, "entity": entity, "open": "true" if open_only else ""}
        found = service.ask("alerts", {**query, **_span(since, until), "limit": limit})["alerts"]
        return {"alerts": [_in_short(alert) for alert in found]}

    @tool
    def alert(
        id: Annotated[str, Field(description="of an alert, as the tool alerts gives it")],
    ) -> dict[str, Any]:
        """Explain an alert: its causes, what is usual, and PromQL that shows each cause."""
        return dict(service.ask(f"alerts/{quote(id, safe='')}"))

    @tool
    def loudest(watch: Watch, entity: Entity = "") -> dict[str, Any]:
        """List the most unusual variables now, alert or not, with their expected ranges."""
        path = f"watches/{quote(watch, safe='')}/loudest"
        return dict(service.ask(path, {"entity": entity}))

    @tool
    def trace(
        watch: Watch,
        variable: Annotated[str, Field(description="as causes and the tool loudest name it")],
        entity: Entity = "",
        since: Moment = "",
        until: Moment = "",
    ) -> dict[str, Any]:
        """Return the readings of one variable and its usual band, thinned to at most 200."""
        query = {"entity": entity, "name": variable, **_span(since, until)}
        answer = dict(service.ask(f"watches/{quote(watch, safe='')}/traces", query))
        for one in answer["traces"]:
            every = -(-len(one["times"]) // MAX_READINGS) or 1
            columns = ("times", "values", "lower", "upper")
            one |= {key: one[key][::every] for key in columns if one[key] is not None}
        return answer

    return server


def _told(question: Question) -> Question:
    """Wrap a tool so that the assistant sees the messages of SmkcError, but not of other errors."""

    @wraps(question)
    def asked(*given: Any, **named: Any) -> dict[str, Any]:
        try:
            return question(*given, **named)
        except SmkcError as error:
            raise ToolError(str(error)) from None

    return asked


def _span(since: str, until: str) -> dict[str, int]:
    moments = {"since": since, "until": until}
    return {key: _milliseconds(moment) for key, moment in moments.items() if moment}


def _in_short(alert: Mapping[str, Any]) -> dict[str, Any]:
    """Return a short form of an alert for lists: time, watch, entity and first causes."""
    times = ("start", "end", "is_open", "is_muted", "anomaly", "acknowledged_by")
    kept = ("id", "watch", "entity", *times)
    causes = [f"{cause['variable']}: {cause['detail']}" for cause in alert["causes"]]
    return {key: alert.get(key) for key in kept} | {"first_causes": causes[:FIRST_CAUSES]}


def _milliseconds(moment: str) -> int:
    """Convert an ISO 8601 time to milliseconds since 1970; UTC unless it has a time zone.

    Examples
    --------
    >>> _milliseconds("2026-03-02T04:05:00Z"), _milliseconds("2026-03-02 04:05")
    (1772424300000, 1772424300000)
    """
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        raise InputError(f"{moment!r} is not a time; write it like 2026-03-02T04:05:00Z") from None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return round(1000 * found.timestamp())


def _with_dates(content: Any, key: str = "") -> Any:
    """Return an answer with its times converted to ISO 8601."""
    if isinstance(content, Mapping):
        return {name: _with_dates(value, name) for name, value in content.items()}
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [_with_dates(value, key) for value in content]
    if key in TIMES and isinstance(content, int) and not isinstance(content, bool):
        moment = datetime.fromtimestamp(content / 1000, UTC)
        return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    return content
