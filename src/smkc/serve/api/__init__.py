"""API: the HTTP API of the service, for programs, for the dashboard, and for pushing samples.

In: a :class:`smkc.serve.service.Service`. Out: :func:`create_app`, and :class:`Server`, which runs
the app in a thread. Without tokens only this machine can reach it (:func:`check_listening`).

A request passes ``shell`` -> ``limits`` (with ``keys``) -> ``access`` -> a route.
"""

from smkc.serve.api.app import create_app
from smkc.serve.api.keys import Keys, Token, parse_token, read_keys
from smkc.serve.api.listening import Server, check_listening

__all__ = [
    "Keys",
    "Server",
    "Token",
    "check_listening",
    "create_app",
    "parse_token",
    "read_keys",
]
