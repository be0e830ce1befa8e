"""The names of kernels for Linux's `perf`.

In:  kernels with their addresses.
Out: lines of /tmp/perf-PID.map: first address, length, name.

    7f11c0de0000 1c0 step [0/0]: k0
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

FOLDER = "/tmp"  # where perf looks


def path() -> str:
    return os.path.join(FOLDER, f"perf-{os.getpid()}.map")


def write(kernels: Iterable[Any], function: str) -> None:
    """Add kernels to the file of this process. Nobody else can have put a link in its place."""
    lines = [
        f"{kernel.address:x} {kernel.code.size(kernel.symbol):x} {function}: {kernel.name}\n"
        for kernel in kernels
    ]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with open(os.open(path(), flags, 0o600), "w") as file:
        file.writelines(lines)
