"""Beginning and end of each kind of fault.

In: the schedule's entry of a fault, and the stack. Out: the fault, and a function that ends it.
"""

import signal
from collections.abc import Callable
from typing import Any

from tools.livetrial.redis_load import remove_fill
from tools.livetrial.stack import Stack

__all__ = ["begin"]

FLOOD_CONNECTIONS = 400
FILL_MEGABYTES = 300
WRITTEN_MEGABYTES_PER_SECOND = 10.0  # to one file of 64 MB, again and again

End = Callable[[], None]


def begin(stack: Stack, about: dict[str, Any]) -> End:
    """Begin a fault; return the function that ends it."""
    kind, redis = about["kind"], stack.ports["redis"]
    if kind == "redis_dead":
        stack.end("redis", kill=True)
        return stack.start_redis
    if kind == "disk_writes":
        path = stack.folder / "written"
        stack.start_own("write", path=path, megabytes=WRITTEN_MEGABYTES_PER_SECOND)

        def remove_file() -> None:
            stack.end("write")
            path.unlink(missing_ok=True)

        return remove_file
    if kind == "cpu_hog":
        stack.start_own("hog")
        return lambda: stack.end("hog")
    if kind == "client_flood":
        stack.start_own("flood", port=redis, connections=FLOOD_CONNECTIONS)
        return lambda: stack.end("flood")
    if kind == "redis_memory":
        stack.start_own("fill", port=redis, megabytes=FILL_MEGABYTES)

        def remove_keys() -> None:
            stack.end("fill")
            remove_fill(redis, FILL_MEGABYTES)

        return remove_keys
    if kind == "exporter_silent":
        stack.signal("node", signal.SIGSTOP)
        return lambda: stack.signal("node", signal.SIGCONT)
    trouble: dict[str, Any] = {
        key: about[key] for key in ("kind", "service", "pod") if key in about
    }
    stack.trouble(trouble)
    return lambda: stack.relieve(trouble)
