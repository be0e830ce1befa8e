"""What a `TensorGuard` remembers of a tensor.

In:  a tensor, and the dims whose sizes are free.
Out: `TensorProperties`, plain data. None in `sizes` or `strides` is a free number.

    TensorProperties.of(torch.ones(2, 3), (0,))  ->  float32, cpu, sizes (None, 3), strides (3, 1)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import torch

from capture_records import dataclass
from guards.values import ObjectRef

# c10::DeviceType by number (torch/headeronly/core/DeviceType.h).
_DEVICE_TYPES = {
    name: number
    for number, name in enumerate(
        [
            "cpu",
            "cuda",
            "mkldnn",
            "opengl",
            "opencl",
            "ideep",
            "hip",
            "fpga",
            "maia",
            "xla",
            "vulkan",
            "metal",
            "xpu",
            "mps",
            "meta",
            "hpu",
            "ve",
            "lazy",
            "ipu",
            "mtia",
            "privateuseone",
        ]
    )
}


def samples() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """An ordinary tensor, one that waits for a gradient, and one of inference mode: native code looks at them
    once (`native/tensors/torch_symbols.c`).
    """
    with torch.inference_mode(False), torch.enable_grad():
        ordinary = torch.zeros(1, device="cpu")
        leaf = torch.zeros(1, device="cpu", dtype=torch.float32, requires_grad=True)
    with torch.inference_mode():
        return ordinary, leaf, torch.zeros(1, device="cpu")


@dataclass(frozen=True)
class TensorProperties:
    """`is_leaf` is None where it is not checked. `dispatch_keys` is the raw key set of the tensor alone: that
    of the thread is in the global state.
    """

    type: ObjectRef
    dtype: torch.dtype
    device: torch.device
    layout: torch.layout
    dispatch_keys: int
    requires_grad: bool
    is_leaf: bool | None
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None

    @staticmethod
    def of(
        tensor: torch.Tensor,
        dynamic_dims: tuple[int, ...] = (),
        check_leaf: bool = False,
        strides: bool = True,
        open_strides: Collection[int] = (),
    ) -> TensorProperties:
        """The properties, read past `__torch_function__` and the properties of a subclass. The strides of the
        dims `open_strides` are free, and so are those of the dims outside of them.
        """
        with torch._C.DisableTorchFunctionSubclass():
            kind, keys = type(tensor), torch._C._dispatch_keys(tensor)
            is_leaf = _is_leaf(tensor) if check_leaf else None
            if hides_properties(tensor):
                tensor = torch.Tensor.as_subclass(tensor, torch.Tensor)
            sizes = tuple(tensor.shape)
            has_strides = strides and tensor.layout is torch.strided
            dynamic = {dim % len(sizes) for dim in dynamic_dims}
            return TensorProperties(
                type=ObjectRef(kind),
                dtype=tensor.dtype,
                device=tensor.device,
                layout=tensor.layout,
                dispatch_keys=keys.raw_repr(),
                requires_grad=tensor.requires_grad,
                is_leaf=is_leaf,
                sizes=tuple(None if dim in dynamic else size for dim, size in enumerate(sizes)),
                strides=_fixed_strides(tensor.stride(), dynamic, open_strides) if has_strides else None,
            )

    def mismatch(self, value: Any) -> str | None:
        """The first property that differs, as text, or None when all are equal."""
        if type(value) is not self.type.get():
            return f"type {type(value).__name__}, was {self.type.text}"
        seen = TensorProperties.of(value, (), self.is_leaf is not None)
        for name in ("dtype", "device", "layout", "dispatch_keys", "requires_grad", "is_leaf"):
            old, new = getattr(self, name), getattr(seen, name)
            if old != new:
                text = keys_text if name == "dispatch_keys" else str
                return f"{name.replace('_', ' ')} {text(new)}, was {text(old)}"
        for name in ("sizes", "strides"):
            old, new = getattr(self, name), getattr(seen, name)
            if old is not None and not _fits(old, new):
                return f"{name} {_dims(new)}, was {_dims(old)}"
        return None

    @property
    def device_bits(self) -> int:
        """The type in the low byte and the index in the next byte, as in c10::Device. 0xff is no index."""
        index = 0xFF if self.device.index is None else self.device.index
        return _DEVICE_TYPES[self.device.type] | index << 8

    @property
    def text(self) -> str:
        """`float32[2, *] strides [3, 1] on cpu, requires_grad`. A `*` is a free number."""
        dtype = str(self.dtype).removeprefix("torch.")
        strides = f" strides {_dims(self.strides)}" if self.strides is not None else ""
        leaf = "" if self.is_leaf is None else ", leaf" if self.is_leaf else ", not a leaf"
        grad = ", requires_grad" if self.requires_grad else ""
        return f"{dtype}{_dims(self.sizes)}{strides} on {self.device}{grad}{leaf}"


def _is_leaf(tensor: torch.Tensor) -> bool:
    """False for a view that has lost its place in autograd's graph: torch refuses the question."""
    try:
        return bool(torch.Tensor.is_leaf.__get__(tensor))  # type: ignore[attr-defined]
    except RuntimeError:
        return False


def keys_text(keys: int) -> str:
    return str(torch._C.DispatchKeySet.from_raw_repr(keys)).removeprefix("DispatchKeySet")


def hides_properties(tensor: torch.Tensor) -> bool:
    """Whether attributes of the tensor may be the user's own. The plain tensor on its memory has those of
    torch.
    """
    kind = type(tensor)
    return (
        kind not in (torch.Tensor, torch.nn.Parameter)
        and kind.__torch_dispatch__ is torch._C._disabled_torch_dispatch_impl
        and torch.Tensor.layout.__get__(tensor) is torch.strided  # type: ignore[attr-defined]
    )


def _fixed_strides(
    strides: tuple[int, ...], dynamic: Collection[int], open_strides: Collection[int]
) -> tuple[int | None, ...]:
    """The strides that depend neither on a dynamic size nor on an open stride: none of these is smaller."""
    limit = min((strides[dim] for dim in (*dynamic, *open_strides)), default=None)
    return tuple(
        stride if (limit is None or stride <= limit) and dim not in open_strides else None
        for dim, stride in enumerate(strides)
    )


def free_strides(
    tensor: torch.Tensor, dynamic_dims: Iterable[int], open_strides: Collection[int] = ()
) -> dict[int, int | None]:
    """The dims whose stride a `TensorGuard` leaves free, each with the dim inside of it. The stride of a dim
    is the size of the dim inside times the stride of that dim.

    None stands where there is no such dim, as in a slice of a larger tensor, and for the open ones. Else the
    stride is fixed.
    """
    sizes, strides = tuple(tensor.shape), tensor.stride()
    properties = TensorProperties.of(tensor, tuple(dynamic_dims), open_strides=open_strides)
    free = [dim for dim, stride in enumerate(properties.strides or ()) if stride is None]
    return {dim: None if dim in open_strides else _dim_inside(sizes, strides, dim) for dim in free}


def openable_strides(
    tensor: torch.Tensor, dims: Collection[int], dynamic_dims: Collection[int]
) -> tuple[int, ...]:
    """Those of these dims, whose strides change, that can be open: no dim inside explains the stride, as in a
    part of a larger tensor, and the parts of the tensor along the dim do not overlap.

    The stride of a dim of size 1 may be a product by chance. It is none if it changes and the dim inside does
    not.
    """
    sizes, strides = tuple(tensor.shape), tensor.stride()
    changing = {*dims, *dynamic_dims}

    def is_explained(dim: int) -> bool:
        inside = _explanations(sizes, strides, dim)
        return bool(inside if sizes[dim] != 1 else changing.intersection(inside))

    return tuple(
        dim
        for dim in dims
        if not is_explained(dim)
        and strides[dim] >= max(2, 1 + sum((sizes[d] - 1) * strides[d] for d in dims_inside(strides, dim)))
    )


def dims_inside(strides: tuple[int, ...], dim: int) -> list[int]:
    """The dims with smaller strides, and later ones with the same."""
    place = (strides[dim], -dim)
    return [d for d, stride in enumerate(strides) if (stride, -d) < place]


def _dim_inside(sizes: tuple[int, ...], strides: tuple[int, ...], dim: int) -> int | None:
    """The dim inside, one of a smaller stride where possible."""
    inside = _explanations(sizes, strides, dim)
    return next((d for d in inside if strides[d] < strides[dim]), inside[0] if inside else None)


def _explanations(sizes: tuple[int, ...], strides: tuple[int, ...], dim: int) -> list[int]:
    """The dims inside whose size times stride is the stride of this dim. Dims of size 1 have equal strides:
    the later dim is inside, so that there is no circle.
    """
    inside = dims_inside(strides, dim)
    return [d for d, size in enumerate(sizes) if d in inside and strides[dim] == size * strides[d]]


def _fits(pattern: tuple[int | None, ...], values: tuple[int, ...] | None) -> bool:
    if values is None or len(pattern) != len(values):
        return False
    return all(expected is None or expected == value for expected, value in zip(pattern, values))


def _dims(values: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("*" if value is None else str(value) for value in values) + "]"


def storage_key(tensor: torch.Tensor) -> int:
    """A number that is equal for tensors that share memory: the data pointer of the storage, or the address
    of the storage where it is empty.
    """
    with torch._C.DisableTorchFunctionSubclass():
        if tensor.layout is not torch.strided:
            return tensor._cdata
        storage = tensor.untyped_storage()
        return storage.data_ptr() or storage._cdata
