"""Annotating: the annotation of an alert in Grafana, created once and changed afterwards.

In: a receiver and the content of an annotation. Out: requests to Grafana's annotations API, and the
outcome. The annotation is looked up by the alert's tag first, so that a message that is sent again,
or by a second service, changes it instead of creating another.

The API: https://grafana.com/docs/grafana/latest/developers/http_api/annotations
"""

import json
from typing import Any
from urllib.parse import urlencode

from smkc.serve.delivery.posting import Answer, Receiver
from smkc.serve.messages import ALERT_TAG

HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # the start of an answer is read as it comes
    "Content-Type": "application/json",
}


def annotate(receiver: Receiver, content: dict[str, Any], now: int) -> Answer:
    """Create the annotation of an alert, or change it if it exists; record the outcome."""
    tag = next(tag for tag in content["tags"] if tag.startswith(ALERT_TAG))
    wanted = urlencode({"tags": tag, "type": "annotation", "limit": 1})
    known = receiver.ask(b"", HEADERS, method="GET", suffix=f"?{wanted}")
    if known.status != "sent":
        return receiver.note(known, now)
    try:
        found = json.loads(known.body)
        number = int(found[0]["id"]) if found else None
    except (ValueError, TypeError, LookupError, RecursionError):
        said = "answered with something other than a list of annotations; correct the address"
        return receiver.note(Answer(status="later", said=said), now)
    body = json.dumps(content).encode()
    if number is None:
        return receiver.post(body, HEADERS, now)
    changed = receiver.ask(body, HEADERS, method="PATCH", suffix=f"/{number}")
    return receiver.note(changed, now)
