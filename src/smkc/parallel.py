"""Threads: a function applied to parts of the data, one thread per processor.

In: a function and parts. Out: the function's results, in order. The jitted loops release Python's
global interpreter lock. Matrix products inside a part should stay on its thread: two thread pools
that wait for each other take more time than they save.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from math import prod
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Part = TypeVar("Part")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return the number of threads: ``SMKC_THREADS`` if set, else one per usable processor."""
    asked = os.environ.get("SMKC_THREADS", "")
    if asked.isdigit():
        return max(1, int(asked))
    if hasattr(os, "sched_getaffinity"):  # Linux: the processors that this process may use
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterable[Result]:
    """Yield ``function(part)`` for every part, in order, several at a time.

    About ``2 * n_threads()`` parts are computed ahead, so that results do not pile up.

    Examples
    --------
    >>> list(in_threads(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    waiting: list[Any] = []
    n_ahead = 2 * n_threads()
    pool = _pool(n_threads())
    for part in parts:
        waiting.append(pool.submit(function, part))
        if len(waiting) > n_ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def products_on_one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to 1 thread inside this block: a matrix product stays on the calling thread."""
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit


def scratch(purpose: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return an uninitialised float32 array of this thread, for temporary results.

    The next call with the same purpose reuses the memory: allocating some megabytes takes as long
    as the work that is done in them.
    """
    size = prod(shape)
    mine: NDArray[np.float32] | None = getattr(_own, purpose, None)
    if mine is None or mine.size < size:
        mine = np.empty(size, np.float32)
        setattr(_own, purpose, mine)
    return mine[:size].reshape(shape)


_own = local()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="smkc")


# A forked process has none of its parent's threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
