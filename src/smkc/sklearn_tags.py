"""Tags: what scikit-learn asks of an estimator in its pipelines and searches.

In: nothing. Out: scikit-learn's own description of an outlier detector that takes missing values.
"""

from importlib import import_module
from typing import Any

__all__ = ["outlier_tags"]


def outlier_tags() -> Any:
    """Return the tags; scikit-learn, which asks for them, is loaded by then."""
    utils = import_module("sklearn.utils")
    return utils.Tags(
        estimator_type="outlier_detector",
        target_tags=utils.TargetTags(required=False),
        input_tags=utils.InputTags(allow_nan=True, dict=True, string=True),
    )
