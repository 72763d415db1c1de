"""Adapter for TSB-AD: smkc as functions for its runner.

In: (T, V) arrays from the runner. Out: (T,) scores, one per time step.

The functions do not need TSB-AD; only :func:`register`, which adds them to its runner, does:
``pip install --no-deps TSB-AD``, then the packages that its runner imports.

Notes
-----
Liu and Paparrizos, "The Elephant in the Room: Towards A Reliable Time-Series Anomaly Detection
Benchmark", NeurIPS 2024 (Datasets and Benchmarks).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, reference_scores, scores
from smkc.detector import Detector
from smkc.errors import optional_module

# The dependencies of TSB-AD require NumPy below 2, and smkc requires a later one. Its runner works
# with either, and imports pandas, scikit-learn, scipy, statsmodels and matplotlib.
INSTALL = "pip install --no-deps TSB-AD"


def run_SMKC(data_train: Any, data_test: Any, **settings: Any) -> NDArray[np.float64]:
    """Learn from the anomaly-free beginning, then score all of the data (semi-supervised).

    Parameters
    ----------
    data_train
        (T_train, V) normal data.
    data_test
        (T, V) data to score; the runner passes all of it, including the beginning.
    settings
        settings of :class:`smkc.Detector`.

    Examples
    --------
    >>> data = np.random.default_rng(0).normal(size=(700, 2))
    >>> data[650:655] = 9
    >>> bool(640 <= run_SMKC(data[:500], data).argmax() < 665)
    True
    """
    return scores(Detector(**settings).fit(as_recording(data_train)), data_test)


def run_SMKC_U(data: Any, **settings: Any) -> NDArray[np.float64]:
    """Score data without normal data, each half after fitting on the other (unsupervised).

    Examples
    --------
    >>> data = np.random.default_rng(0).normal(size=(700, 2))
    >>> data[650:655] = 9
    >>> bool(640 <= run_SMKC_U(data).argmax() < 665)
    True
    """
    recording = as_recording(data)
    return reference_scores(Detector(**settings).fit(recording), recording)


def register(**settings: Any) -> None:
    """Add ``SMKC`` and ``SMKC_U`` to the runner of TSB-AD, with these settings as hyperparameters.

    ``run_Semisupervise_AD("SMKC", ...)`` and ``run_Unsupervise_AD("SMKC_U", ...)`` then work. Both
    names are also added to the pools and hyperparameter tables that the scripts of TSB-AD read.
    """
    wrapper = optional_module("TSB_AD.model_wrapper", "TSB-AD", INSTALL)
    tables = optional_module("TSB_AD.HP_list", "TSB-AD", INSTALL)
    pools = {
        "SMKC": (run_SMKC, wrapper.Semisupervise_AD_Pool),
        "SMKC_U": (run_SMKC_U, wrapper.Unsupervise_AD_Pool),
    }
    for name, (function, pool) in pools.items():
        setattr(wrapper, f"run_{name}", function)
        if name not in pool:
            pool.append(name)
        tables.Optimal_Uni_algo_HP_dict[name] = dict(settings)
        tables.Optimal_Multi_algo_HP_dict[name] = dict(settings)
