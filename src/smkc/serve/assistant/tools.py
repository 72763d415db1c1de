"""Tools: what an assistant may ask a service, each a question of its interface.

In: a running service. Out: a server of the Model Context Protocol; none of its tools changes
anything.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from smkc.errors import SmkcError
from smkc.serve.assistant.view import RemoteService, milliseconds
from smkc.version import VERSION

__all__ = ["server_of"]

INSTRUCTIONS = (
    "smkc follows telemetry and alerts when it behaves unlike before. Begin with alerts "
    "(open_only) to see what is wrong, then alert for the causes of one; loudest says what is "
    "unusual now and what is expected, trace shows readings. Nothing here changes the service."
)

# Causes that a list of alerts names for each, and readings that a trace shows at most.
FIRST_CAUSES, MAX_READINGS = 3, 200

Question = Callable[..., dict[str, Any]]
Watch = Annotated[str, Field(description="name of a watch, as the tool watches lists them")]
Entity = Annotated[str, Field(description="part of a watch that is split; empty if it is not")]
Moment = Annotated[str, Field(description="ISO 8601, UTC unless it names a zone; may be empty")]


def server_of(service: RemoteService) -> MCPServer:
    """Return a server whose tools ask the service."""
    server = MCPServer("smkc", version=VERSION, instructions=INSTRUCTIONS)
    only_looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    def tool(question: Question) -> Question:
        return server.tool(annotations=only_looks)(_told(question))

    @tool
    def watches() -> dict[str, Any]:
        """Say what is followed, what each part is doing, and which alerts are open."""
        found = service.ask("watches")["watches"]
        for lane in (lane for watch in found for lane in watch["lanes"]):
            if lane["alert"]:
                lane["alert"] = _in_short(lane["alert"])
            if lane["latest"]:
                lane["latest"].pop("evidences")
        return {"watches": found}

    @tool
    def alerts(
        watch: Watch = "",
        entity: Entity = "",
        open_only: Annotated[bool, Field(description="only alerts that go on")] = False,
        since: Moment = "",
        until: Moment = "",
        limit: Annotated[int, Field(ge=1, le=500, description="number of alerts at most")] = 20,
    ) -> dict[str, Any]:
        """Say what is or was wrong: alerts, newest first, with their first causes."""
        query = {"watch": watch, "entity": entity, "open": "true" if open_only else ""}
        found = service.ask("alerts", {**query, **_span(since, until), "limit": limit})["alerts"]
        return {"alerts": [_in_short(alert) for alert in found]}

    @tool
    def alert(
        id: Annotated[str, Field(description="of an alert, as the tool alerts gives it")],
    ) -> dict[str, Any]:
        """Say why: an alert's causes beside what is usual, and the PromQL that shows each."""
        return dict(service.ask(f"alerts/{quote(id, safe='')}"))

    @tool
    def loudest(watch: Watch, entity: Entity = "") -> dict[str, Any]:
        """Say what is most unusual now, alert or not, beside the band that is expected."""
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
        """Show the readings of one variable, thinned to some 200."""
        query = {"entity": entity, "name": variable, **_span(since, until)}
        answer = dict(service.ask(f"watches/{quote(watch, safe='')}/traces", query))
        for one in answer["traces"]:
            every = -(-len(one["times"]) // MAX_READINGS) or 1
            one |= {key: one[key][::every] for key in ("times", "values")}
        return answer

    return server


def _told(question: Question) -> Question:
    """Let the assistant read what is wrong with a question; other errors are hidden from it."""

    @wraps(question)
    def asked(*given: Any, **named: Any) -> dict[str, Any]:
        try:
            return question(*given, **named)
        except SmkcError as error:
            raise ToolError(str(error)) from None

    return asked


def _span(since: str, until: str) -> dict[str, int]:
    moments = {"since": since, "until": until}
    return {key: milliseconds(moment) for key, moment in moments.items() if moment}


def _in_short(alert: Mapping[str, Any]) -> dict[str, Any]:
    """Return an alert for a list: when, whose, and the first causes in words."""
    kept = ("id", "watch", "entity", "start", "end", "is_open", "anomaly", "acknowledged_by")
    causes = [f"{cause['variable']}: {cause['detail']}" for cause in alert["causes"]]
    return {key: alert.get(key) for key in kept} | {"first_causes": causes[:FIRST_CAUSES]}
