"""Assistant: read-only tools with which a language model can query a running service.

In: calls through the Model Context Protocol. Out: answers from the API of the service.
"""

from smkc.serve.assistant.tools import RemoteService, server_of

__all__ = ["RemoteService", "server_of"]
