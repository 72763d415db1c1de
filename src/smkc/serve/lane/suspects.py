"""Suspects: rows that made a lane fail, counted across the attempts to take them.

In: the time of a row at which something failed. Out: whether to try it again. A lane that failed is
built anew from its journal and is offered the same row again; without this count, one row that
cannot be judged would stop its watch for good.
"""

__all__ = ["MAX_ATTEMPTS", "Suspects"]

# A row that made a lane fail so many times is set aside.
MAX_ATTEMPTS = 3


class Suspects:
    """Failures of one watch's rows, by entity and time.

    Examples
    --------
    >>> suspects = Suspects()
    >>> for _ in range(MAX_ATTEMPTS):
    ...     suspects.note("eu", [15_000])
    >>> suspects.is_guilty("eu", 15_000), suspects.is_suspect("us", 15_000)
    (True, False)
    """

    def __init__(self) -> None:
        self._failures: dict[tuple[str, int], int] = {}

    def note(self, entity: str, times: list[int]) -> None:
        """Count a failure; one of the rows at these times is to blame."""
        for time in times:
            self._failures[entity, time] = self._failures.get((entity, time), 0) + 1

    def is_suspect(self, entity: str, time: int) -> bool:
        """Whether a row has failed, alone or with others."""
        return (entity, time) in self._failures

    def is_guilty(self, entity: str, time: int) -> bool:
        """Whether a row has failed so often that it is not tried again."""
        return self._failures.get((entity, time), 0) >= MAX_ATTEMPTS

    def clear(self, entity: str, time: int) -> None:
        """Forget a row: it was taken or set aside."""
        self._failures.pop((entity, time), None)
