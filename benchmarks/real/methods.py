"""The rows of the real-data tables: which methods there are, and what each is run under.

In: a method's key. Out: its row: how to make it, how it meets churn, and which runs a budget gives
it. A new row is one line in ``METHODS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from benchmarks.real.peers import PEERS, Peer
from benchmarks.real.peers.smkc_detector import PAPER, DetectorPeer

__all__ = ["METHODS", "STAGES", "Method"]

# What a method is run under, the most important first: as recorded and under full churn, mild
# churn, drift added, and learning from the past.
STAGES = ("main", "churn", "drift", "prequential")

CARRIED = "aligned columns: the last value carried forward, new variables ignored"
OBSERVED = "none needed: variables that a row lacks are left out, new ones ignored"


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """A row of the tables.

    Parameters
    ----------
    key
        what to type for it.
    name
        what the tables call it.
    make
        makes it, not fitted, from a seed.
    workaround
        how it meets churn, in words.
    is_ours
        whether it is one of smkc's own detectors; the others are its peers.
    uses_seed
        whether chance is in it, so that one run on unchanged recordings is not enough.
    stages
        what a budget that holds back the dear ones runs it under.
    most_seeds
        with how many seeds at most; None for all.
    datasets
        on which datasets; None for all.
    is_quick
        whether a smoke run has it too unless methods are named.
    version
        goes up whenever the same settings would give other scores.
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
        """Whether some runs are left out because it is dear."""
        return self.stages != STAGES or self.most_seeds is not None or self.datasets is not None

    def settings(self, seed: int) -> dict[str, Any]:
        """Return all that decides what it does, as text and numbers."""
        peer = self.make(seed)
        facts = {"peer": type(peer).__name__, "version": self.version, **vars(peer)}
        if isinstance(peer, DetectorPeer):
            facts["settings"] = peer.all_settings
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


# Learned detectors as two processors can train them, one network a recording: short windows, at
# most a thousand of them, ten passes; and only on the smaller datasets.
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
                version=4,
            ),
            _ours("smkc-recon", "smkc recon", RECON, datasets=SMALLER, **DEAR),
            _ours("smkc-ens", "smkc ensemble", ENSEMBLE, datasets=SMALLEST, **DEAR),
        )
    }
)
