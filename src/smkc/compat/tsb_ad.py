"""TSB-AD: smkc in the form of its runner functions.

In: (T, V) arrays as its runner hands them over. Out: (T,) a score a time step.

The functions need no TSB-AD; only :func:`register`, which adds them to its runner, does:
``pip install --no-deps TSB-AD``, then what its runner imports.

Notes
-----
Liu and Paparrizos, "The Elephant in the Room: Towards A Reliable Time-Series Anomaly Detection
Benchmark", NeurIPS 2024 (Datasets and Benchmarks).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, host_module, reference_scores, scores
from smkc.detector import Detector

__all__ = ["register", "run_SMKC", "run_SMKC_U"]

# With its dependencies it asks for a NumPy before 2, and smkc for a later one. Its runner works
# with either, and imports pandas, scikit-learn, scipy, statsmodels and matplotlib.
PIP_OPTIONS = "--no-deps "


def run_SMKC(data_train: Any, data_test: Any, **settings: Any) -> NDArray[np.float64]:
    """Learn from the anomaly-free beginning, then score all of the data (semi-supervised).

    Parameters
    ----------
    data_train
        (T_train, V) normal data.
    data_test
        (T, V) what to score; the runner hands over everything, the beginning too.
    settings
        of :class:`smkc.Detector`.

    Examples
    --------
    >>> data = np.random.default_rng(0).normal(size=(700, 2))
    >>> data[650:655] = 9
    >>> bool(640 <= run_SMKC(data[:500], data).argmax() < 665)
    True
    """
    return scores(Detector(**settings).fit(as_recording(data_train)), data_test)


def run_SMKC_U(data: Any, **settings: Any) -> NDArray[np.float64]:
    """Score data among themselves, each half by what the other half taught (unsupervised).

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
    """Add ``SMKC`` and ``SMKC_U`` to TSB-AD's runner, with these settings in its tables.

    ``run_Semisupervise_AD("SMKC", ...)`` and ``run_Unsupervise_AD("SMKC_U", ...)`` then work, and
    so do the pools and the tables of hyperparameters that its scripts read.
    """
    wrapper = host_module("TSB_AD.model_wrapper", "TSB-AD", PIP_OPTIONS)
    tables = host_module("TSB_AD.HP_list", "TSB-AD", PIP_OPTIONS)
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
