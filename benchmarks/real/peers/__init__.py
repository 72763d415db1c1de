"""Peers: the methods of the real-data benchmark, behind one interface.

In: a normal recording to learn from, then another to score. Out: one score per row, higher = more
anomalous. Peers that need another library (group ``benchmarks``) import it when they are fitted.
"""

from benchmarks.real.peers.contract import Peer
from benchmarks.real.peers.registry import PEERS, make_peer

__all__ = ["PEERS", "Peer", "make_peer"]
