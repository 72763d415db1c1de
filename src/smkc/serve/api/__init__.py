"""API: the service over HTTP, for programs, for the dashboard, and for those who push samples.

In: a :class:`smkc.serve.view.ServiceView`. Out: :func:`create_app`, and :class:`Server`, which runs
it in a thread. Without tokens it is for this machine alone (:func:`check_listening`).

A request passes ``shell`` -> ``limits`` (``origin``, ``keys``, ``rate``) -> ``access`` -> a route.
"""

from smkc.serve.api.app import create_app
from smkc.serve.api.keys import Keys, Token
from smkc.serve.api.listening import Server, check_listening
from smkc.serve.api.tokens import parse_token, read_keys

__all__ = [
    "Keys",
    "Server",
    "Token",
    "check_listening",
    "create_app",
    "parse_token",
    "read_keys",
]
