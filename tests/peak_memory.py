"""The peak memory of a script that runs in a process of its own.

``ru_maxrss`` does not serve on Linux: a new process starts with the peak of the process that
started it, and a worker that has run many tests may have had gigabytes.
"""

PEAK_BYTES = """
import re, resource, sys
from pathlib import Path

def peak_bytes():
    if sys.platform == "linux":
        found = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
        return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)
"""
"""Python that defines ``peak_bytes()``; put it before the script."""
