"""Threads: one piece of work a processor, each with its own part of the data.

In: a function and parts. Out: the function's results, in order. The jitted loops let go of
Python's lock, and matrix products inside a part stay on its thread: two thread pools that wait
for each other cost more than they bring.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

__all__ = ["in_threads", "n_threads"]

Part = TypeVar("Part")
Result = TypeVar("Result")


def n_threads() -> int:
    """How many threads are used: ``SMKC_THREADS`` if set, else one a usable processor."""
    asked = os.environ.get("SMKC_THREADS", "")
    return max(1, int(asked)) if asked.isdigit() else len(os.sched_getaffinity(0))


def in_threads(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterable[Result]:
    """Yield ``function(part)`` for every part, in order, several at a time.

    Parts are taken up only a few ahead of what was yielded, so that results do not pile up.

    Examples
    --------
    >>> list(in_threads(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    waiting: list[Any] = []
    with _blas().limit(limits=1, user_api="blas"):
        for part in parts:
            waiting.append(_pool(n_threads()).submit(function, part))
            if len(waiting) > 2 * n_threads():
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="smkc")


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
