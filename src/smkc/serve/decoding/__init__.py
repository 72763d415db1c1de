"""Decoding: bodies of push requests -> samples, within enforced limits.

In: bytes of Prometheus' remote write, OTLP metrics or JSON. Out: samples, or a ``DecodeError`` with
the HTTP status of the response.
"""
