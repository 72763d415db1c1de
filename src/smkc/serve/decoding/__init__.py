"""Decoding: bodies that others push -> samples, within limits that hold.

In: bytes of Prometheus' remote write, OTLP metrics or JSON. Out: samples, or a ``DecodeError`` with
the status to answer.
"""

from smkc.serve.decoding.observations import decode_observations
from smkc.serve.decoding.otlp import decode_otlp, encode_otlp_response
from smkc.serve.decoding.remote_write import decode_remote_write, encode_remote_write
from smkc.serve.decoding.unpacking import DecodeError

__all__ = [
    "DecodeError",
    "decode_observations",
    "decode_otlp",
    "decode_remote_write",
    "encode_otlp_response",
    "encode_remote_write",
]
