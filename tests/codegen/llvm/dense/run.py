"""Runs generated products on tensors that lie inside of larger ones, whose other elements must not change."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from codegen.launch.jit import compile_text
from codegen.llvm.dense.forms import MatmulForm
from codegen.llvm.dense.matmul import emit_matmul, workspace_bytes
from codegen.llvm.function_text import module_of
from codegen.llvm.target import Target

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
}
BAND = 64  # bytes around the workspace


class Function:
    """The machine code of `text`, the function of a form with a workspace of so many bytes."""

    def __init__(self, form: Any, text: tuple[dict[str, str], str], workspace: int, target: Target) -> None:
        self.form = form
        self.workspace = workspace
        self.code = compile_text(module_of([text]), ["function"], target)
        kinds = [ctypes.c_void_p] * len(form.pointers()) + [ctypes.c_int64] * len(form.arguments())
        self.function = ctypes.CFUNCTYPE(None, *kinds)(self.code.address("function"))

    def __call__(self, output: Tensor, *inputs: Tensor | None, **numbers: int) -> Tensor:
        """`inputs`: left, right, bias, operands. Fails where the function writes beside its workspace."""
        needed = self.workspace
        memory = torch.full((needed + 3 * BAND,), 0xA5, dtype=torch.uint8)
        begin = BAND + -(memory.data_ptr() + BAND) % BAND
        given = [*inputs, *[None] * (3 - len(inputs))]
        pointers: list[Any] = [None if tensor is None else tensor.data_ptr() for tensor in given]
        pointers.insert(3, memory.data_ptr() + begin)
        self.function(output.data_ptr(), *pointers, *(numbers[name] for name in self.form.arguments()))
        assert bool((memory[:begin] == 0xA5).all()), "the function wrote before its workspace"
        assert bool((memory[begin + needed :] == 0xA5).all()), "the function wrote behind its workspace"
        return output

    def bound(self, output: Tensor, *inputs: Tensor) -> Callable[[], None]:
        """A call without arguments and checks, for a form without open numbers."""
        memory = torch.empty(self.workspace + 64, dtype=torch.uint8)
        workspace = memory.data_ptr() + -memory.data_ptr() % 64
        tensors = (output, *inputs, *[memory] * (3 - len(inputs)))
        first, *others = (tensor.data_ptr() for tensor in tensors)

        def call() -> None:
            self.function(first, *others[:3], workspace, *others[3:])

        call.tensors = tensors  # type: ignore[attr-defined]
        return call


class Product(Function):
    """A matrix product. How large the workspace is depends on the open sizes of a call."""

    def __init__(self, form: MatmulForm, target: Target) -> None:
        needed = 0 if form.arguments() else workspace_bytes(form, target)
        super().__init__(form, emit_matmul(form, target, "function"), needed, target)
        self.target = target

    def __call__(self, output: Tensor, *inputs: Tensor | None, **numbers: int) -> Tensor:
        sizes = {name: numbers[name] for name, size in self.form.sizes().items() if size is None}
        self.workspace = workspace_bytes(self.form, self.target, **sizes)
        return super().__call__(output, *inputs, **numbers)


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype[0] in "iu":
        low = 0 if dtype == "u8" else -9
        return torch.randint(low, 10, shape, generator=generator).to(DTYPES[dtype])
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(DTYPES[dtype])


def inside(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """(a tensor with a border of two elements at each side in the last two dims, the part without it)."""
    shape = [*tensor.shape[:-2], *(size + 4 for size in tensor.shape[-2:])]
    fill = float("nan") if tensor.dtype.is_floating_point else 77
    around = torch.full(shape, fill, dtype=tensor.dtype)
    part = around[..., 2:-2, 2:-2]
    part.copy_(tensor)
    return around, part


def border_is_whole(around: Tensor) -> bool:
    rest = around.clone()
    fill = float("nan") if around.dtype.is_floating_point else 77
    rest[..., 2:-2, 2:-2] = fill
    return torch.equal(
        rest.isnan() if around.dtype.is_floating_point else rest == fill, torch.ones_like(rest) > 0
    )


def assert_as_exact_as_eager(found: Tensor, left: Tensor, right: Tensor, bias: Tensor | None = None) -> None:
    """The distance from the sum in float64 (or int64) is that of eager, or what k roundings allow."""
    wide = torch.int64 if not found.dtype.is_floating_point else torch.float64
    truth = left.to(wide) @ right.to(wide) + (0 if bias is None else bias.to(wide))
    if wide is torch.int64:
        assert torch.equal(found, truth.to(found.dtype))
        return
    size = left.abs().to(wide) @ right.abs().to(wide) + (0 if bias is None else bias.abs().to(wide))
    summed = torch.float64 if found.dtype is torch.float64 else torch.float32
    rounding = torch.finfo(summed).eps * (left.shape[-1] + 2) ** 0.5 + torch.finfo(found.dtype).eps / 2
    assert bool(((found.to(wide) - truth).abs() <= rounding * size + 1e-30).all())
