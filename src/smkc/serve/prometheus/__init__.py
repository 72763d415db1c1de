"""Prometheus: asks a server for ranges of samples.

In: its address, a query and times. Out: samples, read while the answer arrives; whatever the server
does wrong becomes a ``SourceError`` that says whether to ask again.
"""

from smkc.serve.prometheus.client import Prometheus
from smkc.serve.prometheus.refusals import SourceError

__all__ = ["Prometheus", "SourceError"]
