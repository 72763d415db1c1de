"""The rows of the real-data tables: the methods, and the conditions that each is run under.

In: a method's key. Out: its row: how to make it, how it handles churn, and its runs under a budget.
To add a row, add a line to ``METHODS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from benchmarks.real.peers import PEERS, Peer
from benchmarks.real.peers.smkc_detector import PAPER, DetectorPeer

__all__ = ["METHODS", "STAGES", "Method"]

# Groups of conditions, the most important first: as recorded and under full churn; mild churn; with
# drift; prequential, that is learning from past test rows.
STAGES = ("main", "churn", "drift", "prequential")

CARRIED = "aligned columns: the last value carried forward, new variables ignored"
OBSERVED = "none needed: variables that a row lacks are left out, new ones ignored"


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """A row of the tables.

    Parameters
    ----------
    key
        name on the command line.
    name
        name in the tables.
    make
        returns the unfitted method, given a seed.
    workaround
        how it handles churn, in words.
    is_ours
        whether it is one of smkc's own detectors; the others are its peers.
    uses_seed
        whether it is random, so that unchanged recordings need several seeds too.
    stages
        stages that it runs under if the budget holds back expensive methods.
    most_seeds
        maximum number of seeds under such a budget; None for all.
    datasets
        datasets under such a budget; None for all.
    is_quick
        whether it runs before the slow methods, and in smoke runs that name no methods.
    version
        increase it when the same settings would give other scores.
    """

    key: str
    name: str
    make: Callable[[int], Peer]
    workaround: str
    is_ours: bool = False
    uses_seed: bool = False
    stages: tuple[str, ...] = STAGES
    most_seeds: int | None = None
    datasets: tuple[str, ...] | None = None
    is_quick: bool = True
    version: int = 1

    @property
    def is_held_back(self) -> bool:
        """Whether some runs are left out because it is expensive."""
        return self.stages != STAGES or self.most_seeds is not None or self.datasets is not None

    def settings(self, seed: int) -> dict[str, Any]:
        """Return everything that determines its scores, as text and numbers."""
        peer = self.make(seed)
        facts = {"peer": type(peer).__name__, "version": self.version, **vars(peer)}
        if isinstance(peer, DetectorPeer):
            settings = dict(peer.all_settings)
            del settings["false_alarm_rate"]  # it concerns alerts alone
            facts["settings"] = settings
        return facts


def _peer(key: str, name: str, workaround: str = CARRIED, **more: Any) -> Method:
    return Method(key=key, name=name, make=PEERS[name], workaround=workaround, **more)


def _ours(
    key: str, name: str, settings: Mapping[str, Any], *, uses_seed: bool = True, **more: Any
) -> Method:
    def make(seed: int) -> Peer:
        return DetectorPeer(**settings, **({"seed": seed} if uses_seed else {}))

    told = "none needed: reads whatever a window holds, new variables too"
    return Method(
        key=key, name=name, make=make, workaround=told, is_ours=True, uses_seed=uses_seed, **more
    )


# Settings with which 2 processors can train the learned detectors, one network per recording: short
# windows, at most 1,000 of them, 10 epochs; and only on the smaller datasets.
SMALL = {"window": 32, "epochs": 10, "most_windows": 1000}
RECON, ENSEMBLE = {"detector": "recon", **SMALL}, {"detector": "ensemble", **SMALL}
DEAR: dict[str, Any] = {"stages": ("main",), "most_seeds": 1, "is_quick": False}
SMALLER, SMALLEST = ("skab", "nezha", "petshop", "cloudmon"), ("nezha", "petshop", "cloudmon")

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.key: method
        for method in (
            _peer("random", "random", "none needed: looks at nothing", uses_seed=True),
            _peer("robust-z-mean", "robust z, mean", OBSERVED),
            _peer("robust-z-max", "robust z, max", OBSERVED),
            _peer("plain-z", "plain z, mean", OBSERVED),
            _peer("pca", "PCA"),
            _peer("isolation-forest", "isolation forest", uses_seed=True),
            _peer("windowed-knn", "windowed kNN"),
            _peer(
                "half-space-trees",
                "River half-space trees",
                "River leaves out what a row lacks; variables that its first row lacks are ignored",
                uses_seed=True,
            ),
            _peer("pyod-iforest", "PyOD IForest", uses_seed=True),
            _peer("pyod-ecod", "PyOD ECOD", stages=("main", "churn", "drift")),
            _peer("sketched-discord", "sketched discord", uses_seed=True),
            _peer(
                "stumpy", "STUMPY discord", stages=("main", "churn"), most_seeds=1, is_quick=False
            ),
            _ours("randproj-knn", "RandProj-kNN", PAPER),
            _ours("smkc-knn", "smkc kNN", {"detector": "knn", "window": 64}),
            _ours(
                "smkc-evidence",
                "smkc evidence",
                {"detector": "evidence"},
                uses_seed=False,
                version=5,
            ),
            _ours("smkc-recon", "smkc recon", RECON, datasets=SMALLER, **DEAR),
            _ours("smkc-ens", "smkc ensemble", ENSEMBLE, datasets=SMALLEST, **DEAR),
        )
    }
)
