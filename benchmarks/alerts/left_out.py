"""Leave one dataset out: what the choice among settings is worth on data it was not made on.

In: the mean R1k of each setting on each column. Out: for each dataset, the setting that is best on
all others, and its figures on the dataset that was left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

__all__ = ["Choice", "choices_left_out"]


@dataclass(frozen=True)
class Choice:
    """The setting chosen without a dataset, and its R1k on each of that dataset's columns."""

    dataset: str
    setting: str
    r1k: tuple[float, ...]


def choices_left_out(
    r1k: Mapping[str, Mapping[str, float]], dataset_of: Mapping[str, str]
) -> list[Choice]:
    """Choose a setting for each dataset by the mean R1k on the columns of all other datasets.

    Parameters
    ----------
    r1k
        for each setting, R1k by column. Of equally good settings the first one is chosen.
    dataset_of
        dataset of each column; columns of one dataset are left out together.

    Examples
    --------
    >>> r1k = {"a": {"x": 0.9, "y": 0.1, "z": 0.1}, "b": {"x": 0.2, "y": 0.3, "z": 0.4}}
    >>> for choice in choices_left_out(r1k, {"x": "x", "y": "y", "z": "z"}):
    ...     print(choice.dataset, choice.setting, choice.r1k)
    x b (0.2,)
    y a (0.1,)
    z a (0.1,)
    """
    found = []
    for dataset in dict.fromkeys(dataset_of.values()):
        others = [column for column, of in dataset_of.items() if of != dataset]
        own = [column for column, of in dataset_of.items() if of == dataset]
        best = max(r1k, key=lambda setting: fsum(r1k[setting][column] for column in others))
        found.append(Choice(dataset, best, tuple(r1k[best][column] for column in own)))
    return found
