"""The level of this processor, without LLVM.

In:  the environment variable CAPTURE_CPU, else the features that the system reports.
Out: the name of the level.

    host_level()   ->   "x86-64-v4"

`codegen.llvm.target` asks LLVM and has what the emitter needs of a level. A stored graph needs its name only.
"""

from __future__ import annotations

import functools
import os
import platform

#: by level: the features that it adds to those above, by Linux's names
FEATURES: dict[str, frozenset[str]] = {
    "x86-64-v2": frozenset({"popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}),
    "x86-64-v3": frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}),
    "x86-64-v4": frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
}


def host_level() -> str:
    """The level that CAPTURE_CPU names, else the best one of this processor; "" where it is not known."""
    return os.environ.get("CAPTURE_CPU") or best_level()


@functools.cache
def best_level() -> str:
    if platform.machine() != "x86_64":
        return ""
    found = features()
    level = "x86-64"
    for name, added in FEATURES.items():
        if not added <= found:
            break
        level = name
    return level


def features() -> set[str]:
    """The features of the first processor. It is the same for all of them."""
    try:
        with open("/proc/cpuinfo", "rb") as lines:  # the first file that a process opens as text takes 0.2 ms
            line = next((line for line in lines if line.startswith(b"flags")), b"")
    except OSError:
        return set()
    return set(line.decode().partition(":")[2].split())
