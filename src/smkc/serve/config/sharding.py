"""Sharding: which of several processes follows an entity.

In: the number of a process among all, and names. Out: whether the process follows a name. The
answer depends only on the name and on how many processes there are.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from smkc.errors import SettingError

SHARD = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")
HASHED_BYTES = 8  # of the digest: enough to spread names evenly


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One of ``of`` processes that follow the same watches, counted from 1.

    Examples
    --------
    >>> first, second = Shard(number=1, of=2), Shard(number=2, of=2)
    >>> [name for name in ("cart", "pay", "search") if first.holds(name)]
    ['pay']
    >>> [name for name in ("cart", "pay", "search") if second.holds(name)]
    ['cart', 'search']
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise SettingError(
                f"shard {self.number}/{self.of}: shards are counted from 1; write 1/{self.of} to "
                f"{self.of}/{self.of}"
            )

    def holds(self, name: str) -> bool:
        """Return whether this process follows an entity, or a watch without entities."""
        if self.of == 1:
            return True
        digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:HASHED_BYTES], "big") % self.of == self.number - 1


def read_shard(text: str) -> Shard:
    """Read a shard such as ``2/4``, the second of four."""
    found = SHARD.fullmatch(text.strip())
    if found is None or int(found[2]) == 0:
        raise SettingError(f"shard {text!r}: write which one of how many, such as 2/4")
    return Shard(number=int(found[1]), of=int(found[2]))
