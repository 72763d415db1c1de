"""Replicas that a process can call, read from the file of Prometheus' targets.

In: the targets file. Out: addresses of a service's replicas, and calls to one of them.
"""

import http.client
import json
import random
import threading
import time
from pathlib import Path

__all__ = ["Peers", "call"]

# Seconds after which the list of replicas is read again, and timeout of a call in seconds.
BELIEVED = 1.0
PATIENCE = 4.0


class Peers:
    """The replicas of each service, read again from the targets file after a second."""

    def __init__(self, targets: Path) -> None:
        self._targets = targets
        self._read_at = 0.0
        self._known: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def of(self, service: str) -> list[str]:
        """Return the addresses of a service's replicas."""
        with self._lock:
            if time.monotonic() - self._read_at > BELIEVED:
                known: dict[str, list[str]] = {}
                for entry in json.loads(self._targets.read_text(encoding="utf-8")):
                    known.setdefault(entry["labels"]["service"], []).extend(entry["targets"])
                self._known, self._read_at = known, time.monotonic()
            return self._known.get(service, [])


def call(peers: Peers, service: str, rng: random.Random) -> bool:
    """Call a replica of a service, or another if it refuses; return whether the status is 200."""
    addresses = list(peers.of(service))
    rng.shuffle(addresses)
    for address in addresses[:2]:
        connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        try:
            connection.request("GET", "/work")
            answer = connection.getresponse()
            answer.read()
        except ConnectionRefusedError:
            continue
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return answer.status == 200
    return False
