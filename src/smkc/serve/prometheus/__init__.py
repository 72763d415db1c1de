"""Prometheus: a client that queries a server for ranges of samples.

In: the server's address, a query and times. Out: samples, parsed while the response arrives; every
failure is a ``SourceError``, which says whether a retry may help.
"""

from smkc.serve.prometheus.client import Prometheus, SourceError

__all__ = ["Prometheus", "SourceError"]
