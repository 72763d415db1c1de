"""Terms: sizes -> the numbers that a row's cost is a sum of, each with a coefficient of its own.

In: variables, rows a window and the like. Out: terms by name, the same for whoever fits the
coefficients and whoever plans with them.
"""

__all__ = ["evidence_terms", "gpu_terms", "knn_terms", "occupied_buckets"]


def evidence_terms(*, variables: float, learned: float) -> dict[str, float]:
    """Terms of a row that is judged by evidences, of a model and of learning it.

    Variables are also compared in pairs; ``learned`` is how many rows were learned from.
    """
    return {
        "row": 1.0,
        "variables": variables,
        "pairs": variables**2,
        "learned": learned,
        "learned variables": learned * variables,
    }


def knn_terms(
    *, variables: float, window: float, buckets: float, references: float, components: float
) -> dict[str, float]:
    """Terms of a window that is judged by its neighbours, all references measured."""
    return {
        "row": 1.0,
        "variables": variables,
        "buckets": occupied_buckets(variables, buckets),
        "window": window,
        "projection": window * components,
        "references": references,
        "neighbours": references * components,
    }


def gpu_terms(*, variables: float, window: float, references: float) -> dict[str, float]:
    """Terms of a window that is judged by its neighbours on a GPU, with the usual sketch."""
    return {
        "row": 1.0,
        "observations": variables * window,
        "comparisons": occupied_buckets(variables, 128) * window,
        "window": window,
        "references": references,
    }


def occupied_buckets(variables: float, buckets: float) -> float:
    """How many buckets hold anything, on average, when so many variables are hashed into them.

    Examples
    --------
    >>> round(occupied_buckets(16, 128), 1)
    15.1
    """
    empty: float = (1 - 1 / buckets) ** variables
    return buckets * (1 - empty)
