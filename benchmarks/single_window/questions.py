"""The evidences: the question that each one asks of a window, and how its null behaves.

In: nothing. Out: the list of evidences; statistics are in the same order.
"""

from dataclasses import dataclass

__all__ = ["EVIDENCES", "KINDS", "Evidence"]

KINDS = ("level", "jump", "relation", "repetition", "regime", "presence")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One question.

    Parameters
    ----------
    name
        name of its statistic.
    kind
        kind of change that it tests for, one of KINDS.
    question
        the question in words.
    is_dear
        whether it needs the window's factor model, which takes most of the time.
    grows
        whether its statistic sums over variables, so that its null is extrapolated beyond the
        cardinalities of the reference windows.
    weight
        factor of its log p-value where evidences are joined: 0.5 for statistics of single values
        or steps, since the factor model asks the same question more precisely.
    """

    name: str
    kind: str
    question: str
    is_dear: bool = False
    grows: bool = False
    weight: float = 1.0


EVIDENCES = (
    Evidence(
        name="largest_value",
        kind="level",
        question="is a value far from its variable's median?",
        weight=0.5,
    ),
    Evidence(
        name="largest_step",
        kind="jump",
        question="does a variable take a large step?",
        weight=0.5,
    ),
    Evidence(
        name="repeated_steps",
        kind="repetition",
        question="are four consecutive steps like four earlier ones?",
    ),
    Evidence(
        name="step_sizes",
        kind="regime",
        question="are steps larger in one part of the window than in the other?",
        weight=0.5,
    ),
    Evidence(
        name="gaps",
        kind="presence",
        question="do variables fall silent together for a while?",
    ),
    Evidence(
        name="factor_speed",
        kind="regime",
        question="do the window's factors change their speed?",
        is_dear=True,
    ),
    Evidence(
        name="known_speeds",
        kind="regime",
        question="do the factors change between speeds that reference windows have?",
        is_dear=True,
    ),
    Evidence(
        name="path_break",
        kind="jump",
        question="does a segment of the factors' path come from elsewhere?",
        is_dear=True,
    ),
    Evidence(
        name="path_copy",
        kind="repetition",
        question="does a segment of the factors' path repeat an earlier one?",
        is_dear=True,
    ),
    Evidence(
        name="hole",
        kind="relation",
        question="is a segment badly explained by a model that has not seen it?",
        is_dear=True,
        grows=True,
    ),
    Evidence(
        name="residual_size",
        kind="relation",
        question="do residuals change their size in a segment?",
        is_dear=True,
        grows=True,
    ),
)
