"""Shell: the outermost middleware, which adds security headers and handles unexpected errors.

In: an ASGI app. Out: an ASGI app with security headers on every response, including errors, and a
500 response for unexpected exceptions.
"""

import logging

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smkc.serve.api.refusals import unforeseen

# Pages load resources from the service only, and no site may embed them in a frame.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)

HEADERS = {
    b"content-security-policy": CONTENT_POLICY.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}

# Added unless the response sets this header itself; HTTPS_ALONE only if the service uses HTTPS.
NOT_KEPT = (b"cache-control", b"no-store")
HTTPS_ALONE = (b"strict-transport-security", b"max-age=31536000")

log = logging.getLogger("smkc.serve.api")


class Shell:
    """Outermost ASGI middleware around an app."""

    def __init__(self, app: ASGIApp, is_https: bool = False) -> None:
        self._app = app
        self._headers = [*HEADERS.items(), *([HTTPS_ALONE] if is_https else [])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; websockets are refused."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_started = False

        async def carrying(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                message = {**message, "headers": self._carried(message.get("headers", ()))}
            await send(message)

        try:
            await self._app(scope, receive, carrying)
        except ClientDisconnect:
            log.debug("a client went before its request was whole")
        except Exception as error:
            answer = unforeseen(error, scope["method"], scope["path"])
            if not is_started:
                await answer(scope, receive, carrying)

    def _carried(self, headers: object) -> list[tuple[bytes, bytes]]:
        given = list(headers)  # type: ignore[call-overload]
        names = {name.lower() for name, _ in given}
        own = [(name, value) for name, value in self._headers if name not in names]
        return [*given, *own, *([] if NOT_KEPT[0] in names else [NOT_KEPT])]
