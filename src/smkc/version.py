"""The version of smkc, in the one place that all others read."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
