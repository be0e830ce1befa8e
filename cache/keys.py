"""The names of stored objects.

In:  the texts that decide the machine code: the LLVM module, the processor level, the versions of llvmlite
     and LLVM.
Out: `object_key(parts)`: 64 hexadecimal digits.

    object_key(("define i32 @k() ...", "x86-64-v4", "llvmlite 0.50.0")) -> "9c1f..."
"""

from __future__ import annotations

import hashlib

FORMAT_VERSION = 2  # of the files. A new version makes new keys, so old files are never read.


def object_key(parts: tuple[str, ...]) -> str:
    """A digest of the format and the parts. The length of each part counts: ("ab", "c") and ("a", "bc")
    differ.
    """
    digest = hashlib.sha256(f"capture object {FORMAT_VERSION}\n".encode())
    for part in parts:
        data = part.encode()
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()
