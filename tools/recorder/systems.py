"""The systems that can be recorded, by name.

In: nothing. Out: the class of each system.
"""

from tools.recorder.cache.system import Cache
from tools.recorder.pipeline.system import Pipeline
from tools.recorder.shop.system import Shop
from tools.recorder.system import System

__all__ = ["SYSTEMS"]

SYSTEMS: dict[str, type[System]] = {one.name: one for one in (Shop, Cache, Pipeline)}
