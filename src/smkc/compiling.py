"""Compilation notice: one line on standard error when the first call compiles loops.

Numba compiles a loop when it is first called and caches it on disk. The first call after an
installation or an upgrade therefore takes some seconds longer; the notice tells users why.
"""

from typing import Any

from smkc import progress

MESSAGE = (
    "smkc: compiling for this processor, some 15 seconds, only the first time "
    "(smkc warmup does it ahead)"
)

_compiled: list[str] = []
_is_announced = False


def announce() -> None:
    """Write :data:`MESSAGE` when a loop of smkc is compiled for the first time in this process.

    Like a progress bar, the message appears on terminals and in notebooks, and never within
    :func:`smkc.progress.quiet`.
    """
    global _is_announced
    if _is_announced:
        return
    _is_announced = True
    from numba.core import event

    class OnCompile(event.Listener):
        def on_start(self, started: Any) -> None:
            module = getattr(getattr(started.data["dispatcher"], "py_func", None), "__module__", "")
            if not module.startswith("smkc."):
                return
            if not _compiled:
                progress.note(MESSAGE)
            _compiled.append(module)

        def on_end(self, ended: Any) -> None:
            pass

    event.register("numba:compile", OnCompile())  # type: ignore[no-untyped-call]


def n_compiled() -> int:
    """Return how many loops this process compiled since :func:`announce`; cached ones excluded."""
    return len(_compiled)
