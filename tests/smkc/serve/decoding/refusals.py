"""What decoders refuse, and with which status."""

import pytest

from smkc.serve.decoding.unpacking import DecodeError

__all__ = ["refused"]


def refused(status: int, words: str):
    """Expect a refusal with a status."""
    return pytest.raises(DecodeError, match=words, check=lambda error: error.status == status)
