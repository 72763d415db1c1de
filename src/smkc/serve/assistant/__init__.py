"""Assistant: a running service, as tools that a language model may call; it can only look.

In: calls through the Model Context Protocol. Out: answers from the service's own interface.
"""

from smkc.serve.assistant.tools import server_of
from smkc.serve.assistant.view import RemoteService

__all__ = ["RemoteService", "server_of"]
