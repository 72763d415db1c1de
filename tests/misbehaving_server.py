"""An HTTP server in a thread that answers as a test tells it to, well or badly.

In: a function from a request to an answer. Out: an address; what was asked is kept.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request: the form's or the address's fields, each once."""

    method: str
    path: str
    fields: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is sent back.

    Parameters
    ----------
    claimed
        length that the header promises, if another than the body's; -1 promises none and ends the
        body by closing.
    n_pieces, pause_s
        parts that the body is sent in, and seconds before each of them.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed: int | None = None
    n_pieces: int = 1
    pause_s: float = 0.0


Behaviour = Callable[[Asked], Answer]


class MisbehavingServer:
    """Serves at ``url``; ``asked`` holds the requests so far."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.asked: list[Asked] = []
        self.behaviour = behaviour
        self._is_over = threading.Event()
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer waits 40 ms for the other side

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                parts = urlsplit(self.path)
                given = parse_qs(body.decode("utf-8", "replace") or parts.query, True)
                asked = Asked(
                    method=self.command,
                    path=parts.path,
                    fields={key: values[0] for key, values in given.items()},
                    headers={key.lower(): value for key, value in self.headers.items()},
                    body=body,
                )
                served.asked.append(asked)
                with suppress(ConnectionError):
                    self._send(served.behaviour(asked))

            do_GET = do_POST = do_PUT = handle_any

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for header, value in answer.headers.items():
                    self.send_header(header, value)
                length = len(answer.body) if answer.claimed is None else answer.claimed
                if length < 0:
                    self.send_header("Connection", "close")
                else:
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                width = -(-len(answer.body) // answer.n_pieces)
                for start in range(0, len(answer.body), max(width, 1)):
                    if answer.pause_s:
                        served._is_over.wait(answer.pause_s)
                    self.wfile.write(answer.body[start : start + width])
                    self.wfile.flush()
                self.close_connection = length != len(answer.body)

            def log_message(self, *said: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def misbehaving_server(behaviour: Behaviour) -> Iterator[MisbehavingServer]:
    """Serve in a thread until the block ends."""
    server = MisbehavingServer(behaviour)
    try:
        yield server
    finally:
        server.close()
