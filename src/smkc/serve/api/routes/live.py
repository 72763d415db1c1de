"""Live: a route that streams updates as server-sent events.

In: the service's updates. Out: ``row``, ``alert`` and ``status`` events, and heartbeats between
them. The event loop checks the number of the latest update a few times per second, so that an idle
reader occupies no thread.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from smkc.serve.api.access import GuardedRoute, needs
from smkc.serve.api.answers import AlertAnswer, VerdictAnswer
from smkc.serve.api.asking import REFUSALS, Asking, Here
from smkc.serve.api.keys import Caller
from smkc.serve.api.limits import LIVE
from smkc.serve.live import Update
from smkc.serve.service import Service

router = APIRouter(route_class=GuardedRoute, tags=["live"], responses=REFUSALS)

UPDATE_CHECK_SECONDS = 0.2
HEARTBEAT_SECONDS = 15.0

# Maximum duration of a stream; it ends earlier if the caller's token expires. Browsers reconnect
# by themselves.
MOST_SECONDS = 3600.0


@router.get(
    LIVE,
    summary="Events as they happen",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
@needs("read")
async def live(request: Request, service: Here, caller: Asking) -> StreamingResponse:
    """Send an event for each row that is judged and each change of an alert.

    The data of an event is JSON: number, kind, watch, entity, and the verdict or the alert. A
    reader that falls far behind misses the oldest events; one that reconnects with Last-Event-ID
    continues after that event.
    """
    return StreamingResponse(
        _events(request, service, caller),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(request: Request, service: Service, caller: Caller) -> AsyncIterator[str]:
    updates = service.subscribe()
    seen = _start(request.headers.get("last-event-id", ""), updates.number)
    begun = spoke = time.monotonic()
    yield _event("heartbeat", {"now": service.now()}, retry=2000)
    while time.monotonic() - begun < MOST_SECONDS and not request.app.state.is_leaving:
        if caller.expires is not None and service.now() >= caller.expires:
            return
        if updates.number > seen:
            for update in updates.after(seen):
                seen = update.number
                yield _event(update.kind, _content(update), number=update.number)
            spoke = time.monotonic()
        elif time.monotonic() - spoke >= HEARTBEAT_SECONDS:
            spoke = time.monotonic()
            yield _event("heartbeat", {"now": service.now()})
        await asyncio.sleep(UPDATE_CHECK_SECONDS)


def _start(last_event: str, number: int) -> int:
    """Return the number to continue after: that of the last event, if valid, else the latest."""
    is_number = last_event.isascii() and last_event.isdigit() and len(last_event) < 16
    return int(last_event) if is_number and int(last_event) <= number else number


def _content(update: Update) -> dict[str, object]:
    verdict, alert = update.verdict, update.alert
    return {
        "number": update.number,
        "kind": update.kind,
        "watch": update.watch,
        "entity": update.entity,
        "verdict": verdict and VerdictAnswer.model_validate(verdict).model_dump(mode="json"),
        "alert": alert and AlertAnswer.model_validate(alert).model_dump(mode="json"),
    }


def _event(
    kind: str, content: dict[str, object], *, number: int | None = None, retry: int | None = None
) -> str:
    """Format one event; its JSON contains no line breaks."""
    lines = [f"event: {kind}"]
    if number is not None:
        lines.append(f"id: {number}")
    if retry is not None:
        lines.append(f"retry: {retry}")
    return "\n".join([*lines, f"data: {json.dumps(content, allow_nan=False)}", "", ""])
