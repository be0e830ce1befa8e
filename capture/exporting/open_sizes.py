"""Sizes that the caller of an exported function chooses.

In:  `dynamic_sizes` of `capture.export`; the tensor arguments.
Out: `OpenDim`s, and marks on the tensors for the capture. `size_bounds.py` goes on behind it.

    {"x": {0: "batch"}, "mask": {0: "batch", 1: ("length", 2, 512)}}

Dims with one name have one size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from capture.policy.marks import DimRange, mark_open
from capture.report.arguments import shown
from capture.report.errors import UsageError
from capture_records import dataclass
from codegen.export.c_text import identifier

#: sizes 0 and 1 are other programs: they broadcast, and nothing is left of an empty tensor
LEAST, MOST = 2, 2**31 - 1
FORM = '{"x": {0: "batch"}}, or {"x": {0: ("batch", 2, 512)}} with bounds'


@dataclass(frozen=True, slots=True)
class OpenDim:
    """Dim `dim` of the tensor argument `argument`, whose path is `path`."""

    path: str
    argument: int
    dim: int
    name: str
    least: int
    most: int

    def __str__(self) -> str:
        return f"dim {self.dim} of {self.path}"


def open_dims(given: Any, arguments: Sequence[tuple[str, torch.Tensor]]) -> list[OpenDim]:
    """What `dynamic_sizes` says. Raises UsageError."""
    if not isinstance(given, Mapping):
        raise UsageError(f"dynamic_sizes is {shown(given)}: write {FORM}")
    paths = {path: place for place, (path, _) in enumerate(arguments)}
    found = []
    for path, dims in given.items():
        if path not in paths:
            raise UsageError(f"dynamic_sizes: no tensor argument {path!r}; there are {', '.join(paths)}")
        if not isinstance(dims, Mapping):
            raise UsageError(f"dynamic_sizes of {path} is {shown(dims)}: write {FORM}")
        tensor = arguments[paths[path]][1]
        found += [_open_dim(path, paths[path], dim, wanted, tensor) for dim, wanted in dims.items()]
    return list(_with_common_bounds(found))


def _open_dim(path: str, place: int, dim: Any, wanted: Any, tensor: torch.Tensor) -> OpenDim:
    given: Any = wanted if isinstance(wanted, tuple) else (wanted, LEAST, MOST)
    if tuple(map(type, given)) != (str, int, int):
        raise UsageError(f"dynamic_sizes of {path} is {shown(wanted)} at {shown(dim)}: write {FORM}")
    name, least, most = given
    if not isinstance(dim, int) or not -tensor.dim() <= dim < tensor.dim():
        raise UsageError(f"dynamic_sizes: {path} has {tensor.dim()} dims, {shown(dim)} is none of them")
    if identifier(name) != name:
        raise UsageError(f"dynamic_sizes of {path}: {name!r} has to be an identifier of C that is free")
    if least < LEAST or most > MOST:
        raise UsageError(
            f"dynamic_sizes: {name} is from {least} to {most}; it can be {LEAST} to {MOST}. Export the sizes "
            "0 and 1 on their own"
        )
    return OpenDim(path, place, dim % tensor.dim(), name, least, most)


def _with_common_bounds(dims: list[OpenDim]) -> Iterator[OpenDim]:
    for dim in dims:
        same = [other for other in dims if other.name == dim.name]
        least, most = max(other.least for other in same), min(other.most for other in same)
        if least > most:
            raise UsageError(f"dynamic_sizes: {dim.name} has no size from {least} to {most}")
        yield replace(dim, least=least, most=most)


def mark(dims: Sequence[OpenDim], arguments: Sequence[tuple[str, torch.Tensor]]) -> None:
    """Marks the sizes for the capture. Raises UsageError where the example has another size."""
    sizes: dict[str, int] = {}
    for open_dim in dims:
        tensor = arguments[open_dim.argument][1]
        size = tensor.shape[open_dim.dim]
        if not open_dim.least <= size <= open_dim.most:
            raise UsageError(
                f"dynamic_sizes: {open_dim} is {size} here; {open_dim.name} is from {open_dim.least} to "
                f"{open_dim.most}: give an example of such a size"
            )
        if sizes.setdefault(open_dim.name, size) != size:
            raise UsageError(
                f"dynamic_sizes: {open_dim} is {size} here, but {open_dim.name} is {sizes[open_dim.name]}"
            )
        mark_open(tensor, open_dim.dim, DimRange(open_dim.least, open_dim.most))
