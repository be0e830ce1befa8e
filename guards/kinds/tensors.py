"""Guards of tensors and arrays: properties, writes, shared storage.

In:  places and the tensors, or objects with a buffer, found there.
Out: `TensorGuard`, `UnwrittenTensorGuard`, `BufferGuard`, `SharedStorageGuard`.

    TensorGuard.of(LocalSource("x"), torch.ones(2))   ->   x: float32[2] strides [1] on cpu
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import torch

from guards.encoder import Encoder
from guards.guard import Guard, GuardError, PlaceGuard
from guards.kinds.identity import ExactTypeGuard
from guards.lookup import isinstance_raw
from guards.properties.buffer import LONGEST_FORMAT, BufferProperties
from guards.properties.global_state import DTYPE_CODES
from guards.properties.tensor import TensorProperties, storage_key
from guards.sources import Source
from guards.values import ObjectRef


class TensorGuard(PlaceGuard):
    """dtype, device, layout, dispatch keys, requires_grad, exact type, number of dims, sizes and strides.

    The sizes of `dynamic_dims` are free. The strides that depend on them are free too: these are the strides
    of every dim outside of them in memory (`guards.kinds.sizes.free_stride_guards` checks them).
    The strides of the dims `open_strides` are free as well, with those outside of them.
    `check_leaf` adds `is_leaf`, which matters where the graph writes to the tensor in place.
    """

    cost = 30
    instruction = "CHECK_TENSOR"
    implies = (ExactTypeGuard,)
    payload: TensorProperties

    @classmethod
    def of(
        cls,
        source: Source,
        tensor: torch.Tensor,
        dynamic_dims: Iterable[int] = (),
        *,
        check_leaf: bool = False,
        strides: bool = True,
        open_strides: Collection[int] = (),
    ) -> TensorGuard:
        dims = tuple(dynamic_dims)
        return cls((source,), TensorProperties.of(tensor, dims, check_leaf, strides, open_strides))

    def holds_for(self, value: Any) -> bool:
        return self.payload.mismatch(value) is None

    def operands(self) -> list[Any]:
        p = self.payload
        leaf = -1 if p.is_leaf is None else int(p.is_leaf)
        head = [p.type, DTYPE_CODES[p.dtype], p.device_bits, p.dispatch_keys, int(p.requires_grad), leaf]
        dims = [-1 if n is None else n for n in (*p.sizes, *(p.strides or ()))]
        return [*head, len(p.sizes), *dims]

    @property
    def text(self) -> str:
        return f"{self.source.text}: {self.payload.text}"

    def found_text(self, value: Any) -> str:
        return self.payload.mismatch(value) or "equal by now"

    def references(self) -> Iterable[ObjectRef]:
        yield self.payload.type
        yield from super().references()


class UnwrittenTensorGuard(PlaceGuard):
    """Nothing was written to the tensor, and its memory is the same.

    A write that autograd does not see, through `tensor.data` or NumPy, is not noticed.
    """

    cost = 32
    instruction = "CHECK_UNWRITTEN"

    @classmethod
    def of(cls, source: Source, tensor: torch.Tensor) -> UnwrittenTensorGuard:
        if tensor.is_inference():
            raise GuardError(f"{source.text} is an inference tensor: torch does not count writes to it")
        return cls((source,), (tensor._version, tensor.data_ptr()))

    def holds_for(self, value: Any) -> bool:
        if not isinstance_raw(value, torch.Tensor) or value.is_inference():
            return False
        return bool(self.payload == (value._version, value.data_ptr()))

    def operands(self) -> tuple[int, int]:
        version, address = self.payload
        return version, address

    @property
    def text(self) -> str:
        return f"{self.source.text} has not been written to"

    def found_text(self, value: Any) -> str:
        return "written to, or other memory"


class BufferGuard(PlaceGuard):
    """Class, element format, shape and strides of an object with a buffer, such as a NumPy array.

    It is made only for classes written in C: they give out their buffers without user code.
    """

    cost = 35
    instruction = "CHECK_BUFFER"
    payload: BufferProperties

    @classmethod
    def of(cls, source: Source, value: Any) -> BufferGuard:
        properties = BufferProperties.of(value)
        if len(properties.format) > LONGEST_FORMAT:
            raise GuardError(f"{source.text} has elements of format {properties.format!r}")
        return cls((source,), properties)

    def holds_for(self, value: Any) -> bool:
        return self.payload.mismatch(value) is None

    def operands(self) -> list[int]:
        return self.payload.words()

    @property
    def text(self) -> str:
        return f"{self.source.text}: {self.payload.text}"

    def found_text(self, value: Any) -> str:
        return self.payload.mismatch(value) or "equal by now"


class SharedStorageGuard(Guard):
    """The same tensors as at capture share a storage. `payload[i]` is the first place with the storage of
    place i.
    """

    cost = 100

    @classmethod
    def of(cls, sources: Sequence[Source], tensors: Sequence[torch.Tensor]) -> SharedStorageGuard:
        return cls(tuple(sources), _first_places(tensors))

    @classmethod
    def none(cls, sources: Sequence[Source]) -> SharedStorageGuard:
        """No two of these tensors share a storage."""
        return cls(tuple(sources), tuple(range(len(sources))))

    def holds(self, values: tuple[Any, ...]) -> bool:
        are_tensors = all(isinstance_raw(value, torch.Tensor) for value in values)
        return are_tensors and _first_places(values) == self.payload

    def encode(self, encoder: Encoder) -> None:
        pairs = zip(encoder.registers_of(self.sources), self.payload)
        encoder.emit("CHECK_ALIASING", operands=[word for pair in pairs for word in pair])

    @property
    def text(self) -> str:
        shared = [(first, i) for i, first in enumerate(self.payload) if i != first]
        if not shared:
            return "no two share storage: " + ", ".join(source.text for source in self.sources)
        places = self.sources
        return "share storage: " + ", ".join(f"{places[a].text} and {places[b].text}" for a, b in shared)


def _first_places(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    first: dict[int, int] = {}
    return tuple(first.setdefault(storage_key(tensor), i) for i, tensor in enumerate(tensors))
