"""JSON and bytes as one block of bytes.

In:  JSON, a list of blobs.
Out: bytes, and back; `Malformed` where the bytes are of another version or damaged.

    magic | version | length of the JSON, number of blobs | lengths of the blobs | JSON | blobs
"""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any

from codegen.stored.names import Malformed

MAGIC = b"capture graph\x00"
VERSION = 2
_HEAD = struct.Struct(f"<{len(MAGIC)}sHQQ")


def pack(content: Any, blobs: list[bytes]) -> bytes:
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    lengths = struct.pack(f"<{len(blobs)}Q", *map(len, blobs))
    return b"".join((_HEAD.pack(MAGIC, VERSION, len(text), len(blobs)), lengths, text, *blobs))


def unpack(data: bytes) -> tuple[Any, list[bytes]]:
    """(JSON, blobs). Raises Malformed."""
    try:
        magic, version, size, count = _HEAD.unpack_from(data)
        if magic != MAGIC or version != VERSION or count > len(data):
            raise Malformed(f"not a graph of version {VERSION}")
        lengths = struct.unpack_from(f"<{count}Q", data, _HEAD.size)
        begin = _HEAD.size + 8 * count
        ends = [begin + size]
        for length in lengths:
            ends.append(ends[-1] + length)
        if ends[-1] != len(data):
            raise Malformed("the graph is not complete")
        content = json.loads(data[begin : ends[0]])
    except (struct.error, ValueError, RecursionError) as error:
        raise Malformed(f"the graph is damaged: {error}") from error
    return content, [data[first:last] for first, last in itertools.pairwise(ends)]
