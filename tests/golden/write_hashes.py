"""Writes hashes.json: buckets and signs of fifty identifiers, with hashlib alone.

These numbers are a file format. Reference sets that users have stored depend on them: if one of
them changes, every stored model is worthless. A change therefore needs a new format version of
the model file, and never a quiet rerun of this script. Run it only to add identifiers:
``python tests/golden/write_hashes.py``.

In the file, bucket numbers start at 0 (the paper's start at 1), "val" and "pres" are the two
streams, and the identifier's UTF-8 bytes are followed by the paper's suffixes "#val",
"#val_sign", "#pres", "#pres_sign".
"""

import hashlib
import json
from pathlib import Path

WIDTHS = (32, 64, 128, 256, 512)
TARGET = Path(__file__).with_name("hashes.json")

IDENTIFIERS = [
    # nothing, white space, single characters
    "",
    " ",
    "\t",
    "\n",
    "a",
    "A",
    "0",
    "#",
    "\u0000",
    # plain names as telemetry has them
    "cpu",
    "CPU",
    "cpu ",
    "mem",
    "var_0",
    "var_1",
    "var_15",
    "node_load1",
    "process_resident_memory_bytes",
    "sensor-17/temperature",
    "plant.line3.motor.rpm",
    # names that contain the suffixes themselves
    "cpu#val",
    "cpu#val_sign",
    "cpu#pres",
    "cpu#pres_sign",
    "#val",
    "#pres_sign",
    # label sets, in canonical order and not
    'http_requests_total{code="200",method="get"}',
    'http_requests_total{method="get",code="200"}',
    'container_cpu_usage_seconds_total{namespace="shop",pod="cart-7d9f8b6c5-x2x4z"}',
    'container_cpu_usage_seconds_total{namespace="shop",pod="cart-7d9f8b6c5-q8wpl"}',
    'up{instance="10.0.0.1:9090",job="prometheus"}',
    'up{instance="[::1]:9090",job="prometheus"}',
    'quoted{path="C:\\\\temp\\"x\\""}',
    'lines{text="a\nb"}',
    "empty{}",
    # Unicode: accents composed and decomposed, scripts, symbols beyond the basic plane, direction
    "temp\u00e9rature",
    "tempe\u0301rature",
    "\u6e29\u5ea6",
    "\u0442\u0435\u043c\u043f",
    "\u062d\u0631\u0627\u0631\u0629",
    "\u03bc_\u03c3\u00b2",
    "\U0001f321",
    "\U0001f468\u200d\U0001f469",
    "\u202eabc",
    "\ufeffcpu",
    "\u00a0",
    "\uffff",
    "\U0010ffff",
    # long
    "x" * 1_000,
    "pod/" + "0123456789abcdef" * 4_096,
]


def number(identifier: str, suffix: str) -> int:
    """MD5 as the paper has it, read as a big-endian integer."""
    text = (identifier + suffix).encode("utf-8")
    return int(hashlib.md5(text).hexdigest(), 16)


def entry(identifier: str) -> dict:
    """One identifier's lines of the file."""
    streams = {}
    for stream in ("val", "pres"):
        hashed = number(identifier, f"#{stream}")
        streams[stream] = {
            "buckets": {str(width): hashed % width for width in WIDTHS},
            "sign": 1 - 2 * (number(identifier, f"#{stream}_sign") % 2),
        }
    return {"identifier": identifier, **streams}


def main() -> None:
    """Write the file beside this script."""
    assert len(IDENTIFIERS) == len(set(IDENTIFIERS)) == 50
    entries = [entry(identifier) for identifier in IDENTIFIERS]
    lines = ",\n".join(json.dumps(item, ensure_ascii=True) for item in entries)
    TARGET.write_text(f"[\n{lines}\n]\n", encoding="ascii")


if __name__ == "__main__":
    main()
