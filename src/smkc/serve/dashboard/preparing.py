"""Preparing: what takes long the first time is done beside, so that no request waits for it.

In: work that need be done once, such as compiling. Out: whether it is done, after a short wait.
"""

import logging
import threading
from collections.abc import Callable

__all__ = ["Preparing"]

log = logging.getLogger("smkc.serve.dashboard")


class Preparing:
    """Work that is begun when it is first asked for, and done once.

    Parameters
    ----------
    work
        what is to be done; if it fails, that counts as done: who needs it will meet the failure.

    Examples
    --------
    >>> done = []
    >>> Preparing(lambda: done.append("compiled")).is_done(within_s=10.0), done
    (True, ['compiled'])
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def is_done(self, within_s: float) -> bool:
        """Begin if nobody has, wait so long at most, and tell whether it is done."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="smkc-prepare", daemon=True)
                self._thread.start()
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._work()
        except Exception:
            log.exception("what is needed later could not be prepared")
