"""Places of the program, values and names, in the form in which a trace file has them.

In:  places, stack frames, fake tensors.
Out: what `json` can write.

    place_form("x.py", 6, "scale")    ->    {"file": "x.py", "line": 6, "function": "scale", ...}
    value_form(fake tensor)              ->    {"kind": "tensor", "dtype": "float32", "shape": [3], ...}
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterable
from typing import Any

import torch

from guards.lookup import safe_repr

Form = dict[str, Any]


def place_form(file: str, line: int, function: str) -> Form:
    return {
        "file": file,
        "line": line,
        "function": function,
        "text": linecache.getline(file, line).strip(),
    }


def stack_form(stack: Iterable[traceback.FrameSummary]) -> list[Form]:
    return [place_form(frame.filename, frame.lineno or 0, frame.name) for frame in stack]


def value_form(value: Any) -> Form:
    if isinstance(value, torch.Tensor):
        strided = value.layout is torch.strided
        return {
            "kind": "tensor",
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(map(_size, value.shape)),
            "stride": list(map(_size, value.stride())) if strided else None,
            "requires_grad": value.requires_grad,
        }
    if isinstance(value, (list, tuple)):
        return {"kind": "list", "items": list(map(value_form, value))}
    return {"kind": "number", "text": str(value) if isinstance(value, torch.SymInt) else safe_repr(value)}


def _size(size: Any) -> int | str:
    return size if type(size) is int else str(size)
