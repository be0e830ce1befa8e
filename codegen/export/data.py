"""The constants of an exported function, as a module of LLVM text.

In:  the constant buffers of a Program, with their values.
Out: a symbol for each, and a module with their bytes as read-only data.

    w = [1.0, 2.0]   ->   @mlp_w = hidden constant [8 x i8] c"\\00\\00\\80?...", align 64

Buffers with the same bytes share one symbol: tied weights are there once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy
import torch

from codegen.kernel.program import BufferInfo

ALIGNMENT = 64


class Data:
    """`symbols`: by buffer. `text`: the module; empty without constants. `size`: in bytes."""

    def __init__(self, prefix: str, buffers: Mapping[str, BufferInfo]) -> None:
        self.symbols: dict[str, str] = {}
        self.size = 0
        self._lines: list[str] = []
        self._sizes: dict[str, int] = {}
        known: dict[bytes, str] = {}
        for name, info in buffers.items():
            if info.kind == "constant" and info.value is not None:
                content = content_of(info.value)
                digest = hashlib.sha256(content).digest()
                if digest not in known:
                    known[digest] = f"{prefix}_c{len(known)}"
                    self._add(known[digest], content)
                self.symbols[name] = known[digest]

    def _add(self, symbol: str, content: bytes) -> None:
        size = max(len(content), 1)
        self._sizes[symbol] = size
        self.size += size
        text = f'c"{escaped(content)}"' if content else "zeroinitializer"
        self._lines.append(f"@{symbol} = hidden constant [{size} x i8] {text}, align {ALIGNMENT}")

    @property
    def text(self) -> str:
        return "\n".join([*self._lines, ""]) if self._lines else ""

    @property
    def declarations(self) -> list[str]:
        """The constants as the code sees them."""
        return [
            f"@{symbol} = external hidden constant [{size} x i8], align {ALIGNMENT}"
            for symbol, size in self._sizes.items()
        ]


def content_of(value: torch.Tensor) -> bytes:
    """The bytes from the first element to behind the last one, in the layout of the tensor."""
    if value.numel() == 0:
        return b""
    last = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))
    flat = torch.as_strided(value.detach(), (last,), (1,))
    return bytes(flat.view(torch.uint8).numpy().tobytes())


def escaped(content: bytes) -> str:
    """Each byte as LLVM writes it: a backslash and two digits."""
    digits = numpy.frombuffer(content.hex().encode(), dtype=numpy.uint8).reshape(-1, 2)
    slashes = numpy.full((len(digits), 1), ord("\\"), dtype=numpy.uint8)
    return numpy.concatenate([slashes, digits], axis=1).tobytes().decode()
