"""Peers: what others would use on recordings whose variables come and go, behind one contract.

In: a normal recording to learn from, then another to judge. Out: one score a row, higher = more
anomalous. Peers of other libraries (group ``benchmarks``) import them when they are fitted.
"""

from benchmarks.real.peers.contract import Peer
from benchmarks.real.peers.registry import PEERS, make_peer

__all__ = ["PEERS", "Peer", "make_peer"]
