"""Bodies are unpacked up to the limit, and not on the sender's word alone."""

import gzip
import subprocess
import sys
import zlib

import cramjam
import pytest
from tests.peak_memory import PEAK_BYTES
from tests.smkc.serve.decoding.refusals import refused

from smkc.serve.config import Limits
from smkc.serve.decoding.unpacking import media_type, ungzipped, unsnapped

LIMITS = Limits(body_bytes=1000, decoded_bytes=5000)
TEXT = b"what was sent, " * 100


def snapped(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def claim(length: int) -> bytes:
    """A length as snappy starts with it."""
    out = bytearray()
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*out, length])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("application/json", ("application/json", {})),
        (' Application/X-Protobuf ; PROTO="a.B"', ("application/x-protobuf", {"proto": "a.B"})),
        ("", ("", {})),
        (";;=;a=b=c", ("", {"a": "b=c"})),
    ],
)
def test_media_type(text, expected):
    assert media_type(text) == expected


@pytest.mark.parametrize("data", [b"", b"a", TEXT, bytes(5000)], ids=len)
def test_snappy_is_unpacked(data):
    assert unsnapped(snapped(data), LIMITS) == data


def test_nothing_unpacks_to_nothing():
    assert unsnapped(b"", LIMITS) == ungzipped(b"", "gzip", LIMITS) == b""


def test_snappy_that_is_too_long():
    with refused(413, "5,001 bytes"):
        unsnapped(snapped(bytes(5001)), LIMITS)


@pytest.mark.parametrize("length", [2**32 - 1, 2**31])
def test_snappy_that_claims_gigabytes(length):
    with refused(413, "unpacks to"):
        unsnapped(claim(length) + b"\x00a", LIMITS)


def test_snappy_that_claims_more_than_it_can_hold():
    with refused(400, "claims to hold 4,000"):
        unsnapped(claim(4000) + b"\x00a", LIMITS)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\xff" * 20, "not snappy"),
        (claim(5) + b"\x00a", "damaged"),
        (snapped(TEXT)[:-1], "damaged"),
        (bytes(cramjam.snappy.compress(TEXT)), "framed"),
    ],
    ids=["no length", "too little", "cut", "framed"],
)
def test_what_is_no_snappy(body, words):
    with refused(400, words):
        unsnapped(body, LIMITS)


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_plain_stays_plain(encoding):
    assert ungzipped(TEXT, encoding, LIMITS) == TEXT


@pytest.mark.parametrize("data", [b"", b"a", TEXT, bytes(5000)], ids=len)
def test_gzip_is_unpacked(data):
    assert ungzipped(gzip.compress(data), "GZIP", LIMITS) == data


def test_gzip_files_may_follow_one_another():
    assert ungzipped(gzip.compress(b"ab") + gzip.compress(b"cd"), "gzip", LIMITS) == b"abcd"


def test_gzip_that_is_too_long():
    with refused(413, "more than 5,000"):
        ungzipped(gzip.compress(bytes(5001)), "gzip", LIMITS)
    with refused(413, "more than 5,000"):
        ungzipped(gzip.compress(bytes(2501)) * 2, "gzip", LIMITS)


@pytest.mark.parametrize(
    "body",
    [b"x", TEXT, gzip.compress(TEXT)[:-9], gzip.compress(TEXT)[:4], gzip.compress(b"a") + b"x"],
    ids=["a letter", "text", "cut", "cut early", "trailing"],
)
def test_what_is_no_gzip(body):
    with refused(400, "gzip"):
        ungzipped(body, "gzip", LIMITS)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "x"])
def test_other_encodings_are_not_known(encoding):
    with refused(415, "not known"):
        ungzipped(TEXT, encoding, LIMITS)


BOMBS = """
from smkc.serve.config import Limits
from smkc.serve.decoding.observations import decode_observations
from smkc.serve.decoding.otlp import decode_otlp
from smkc.serve.decoding.remote_write import decode_remote_write
from smkc.serve.decoding.unpacking import DecodeError

limits = Limits(decoded_bytes=32 << 20, samples_per_request=50_000)
V1, V2 = "application/x-protobuf", "application/x-protobuf;proto=io.prometheus.write.v2.Request"
READ = {
    "v1": lambda body: decode_remote_write(body, V1, "snappy", limits),
    "v2": lambda body: decode_remote_write(body, V2, "snappy", limits),
    "otlp": lambda body: decode_otlp(body, V1, "gzip", limits),
    "json": lambda body: decode_otlp(body, "application/json", "gzip", limits),
    "observations": lambda body: decode_observations(body, "", "gzip", limits),
}

before = peak_bytes()
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        READ[path.name.split(".")[0]](path.read_bytes())
        print(path.name, "was read")
    except DecodeError as error:
        print(path.name, error.status)
print("MiB", (peak_bytes() - before) >> 20)
"""


def zipped(piece: bytes, times: int) -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    packed = [packer.compress(piece) for _ in range(times)]
    return b"".join([*packed, packer.flush()])


def series_full_of(field: bytes) -> bytes:
    """A series of half a MiB that holds the same empty field again and again."""
    inner = field * (1 << 18)
    return b"\x0a" + claim(len(inner)) + inner


def test_bombs_take_no_memory(tmp_path):
    """Small bodies that unpack to much, and small messages that would parse to much."""
    mebibyte = 1 << 20
    bombs = {
        "v1.long": snapped(bytes(64 * mebibyte)),
        "v1.claim": claim(2**32 - 1) + b"\x00a",
        "v1.lie": claim(30 * mebibyte) + b"\x00a",
        "v1.series": snapped(b"\x0a\x00" * (14 * mebibyte)),
        "v1.one_series": snapped(b"\x0a" + claim(28 * mebibyte) + b"\x0a\x00" * (14 * mebibyte)),
        "v1.labels": snapped(series_full_of(b"\x0a\x00") * 4 + series_full_of(b"\x12\x00") * 4),
        "v2.symbols": snapped(b"\x22\x00" * (14 * mebibyte)),
        "v2.series": snapped(b"\x2a\x00" * (14 * mebibyte)),
        "otlp.long": zipped(bytes(mebibyte), 100),
        "otlp.groups": zipped(b"\x0a\x00" * (mebibyte // 2), 30),
        "json.lists": b"",
        "observations.lists": zipped(b"[" + b"[]," * (mebibyte // 4), 30),
        "observations.deep": zipped(b"[" * mebibyte, 30),
        "observations.long": zipped(b" " * mebibyte, 100),
    }
    bombs["json.lists"] = bombs["observations.lists"]
    for name, body in bombs.items():
        assert len(body) < Limits().body_bytes
        (tmp_path / name).write_bytes(body)
    done = subprocess.run(
        [sys.executable, "-c", PEAK_BYTES + BOMBS, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *said, memory = done.stdout.splitlines()
    found = dict(line.split(" ", 1) for line in said)
    expected = dict.fromkeys(bombs, "413") | {"v1.lie": "400", "v1.labels": "400"}
    assert found == expected
    # The limit of 32 MiB is held a few times over: packed, unpacked, in pieces and joined.
    assert int(memory.removeprefix("MiB ")) < 200
