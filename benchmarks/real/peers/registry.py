"""Peers by name, each with the settings that the benchmark uses.

In: a name and a seed. Out: an unfitted peer.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from benchmarks.real.peers.contract import Peer
from benchmarks.real.peers.half_space_trees import HalfSpaceTrees
from benchmarks.real.peers.isolation_forest import IsolationForest
from benchmarks.real.peers.principal_components import PrincipalComponents
from benchmarks.real.peers.pyod_detectors import PyodEcod, PyodIForest
from benchmarks.real.peers.random_scores import RandomScores
from benchmarks.real.peers.sketched_discord import SketchedDiscord
from benchmarks.real.peers.smkc_detector import DetectorPeer, randproj_knn
from benchmarks.real.peers.stumpy_discord import StumpyDiscord
from benchmarks.real.peers.windowed_knn import WindowedKnn
from benchmarks.real.peers.z_scores import PlainZ, RobustZ
from smkc.errors import SettingError

__all__ = ["PEERS", "make_peer"]

PEERS: Mapping[str, Callable[[int], Peer]] = MappingProxyType(
    {
        "random": lambda seed: RandomScores(seed=seed),
        "robust z, mean": lambda seed: RobustZ(pooling="mean"),
        "robust z, max": lambda seed: RobustZ(pooling="max"),
        "plain z, mean": lambda seed: PlainZ(),
        "PCA": lambda seed: PrincipalComponents(),
        "isolation forest": lambda seed: IsolationForest(seed=seed),
        "windowed kNN": lambda seed: WindowedKnn(),
        "River half-space trees": lambda seed: HalfSpaceTrees(seed=seed),
        "PyOD IForest": lambda seed: PyodIForest(seed=seed),
        "PyOD ECOD": lambda seed: PyodEcod(),
        "STUMPY discord": lambda seed: StumpyDiscord(),
        "sketched discord": lambda seed: SketchedDiscord(seed=seed),
        "RandProj-kNN": lambda seed: randproj_knn(seed=seed),
        "smkc kNN": lambda seed: DetectorPeer(detector="knn", window=64, seed=seed),
    }
)


def make_peer(name: str, seed: int = 0) -> Peer:
    """Return an unfitted peer by its name in ``PEERS``; deterministic peers ignore the seed."""
    if name not in PEERS:
        raise SettingError(f"no peer is called {name!r}; choose one of {', '.join(PEERS)}")
    return PEERS[name](seed)
