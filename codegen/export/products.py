"""Matrix products and convolutions as generated functions of the object file.

In:  an ExternStep of mm, addmm, bmm or convolution; the buffers of the Program; a target.
Out: a `ProductStep`, which calls a function of `codegen.llvm.dense`. Where sizes are open or a form has no
     such function, a KernelStep with plain loops (`codegen.export.product_loops`). None for other operators.

    mm(x[32, 64], w.t()) -> y   ->   call void @f_k0(ptr y, ptr x, ptr w, ptr null, ptr workspace + 128)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from codegen.export import product_loops
from codegen.kernel.ir import Const, Expr
from codegen.kernel.ops import IR_DTYPES
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep, Ref
from codegen.kernel.records import dataclass
from codegen.llvm.dense.convolution import ConvolutionForm, convolution_workspace_bytes, emit_convolution
from codegen.llvm.dense.forms import SUMMED_IN, MatmulForm, Strides
from codegen.llvm.dense.images import Image
from codegen.llvm.dense.matmul import emit_matmul, workspace_bytes
from codegen.llvm.target import Target

aten = torch.ops.aten
Buffers = dict[str, BufferInfo]
#: declarations by name, definition
Function = tuple[dict[str, str], str]


@dataclass(frozen=True, slots=True)
class ProductStep:
    """output = left @ right (+ bias), by the function that `emit(symbol)` writes.

    `workspace`: the bytes that it needs while it runs.
    """

    output: str
    left: str
    right: str
    bias: str | None
    workspace: int
    emit: Callable[[str], Function]

    @property
    def buffers(self) -> tuple[str, ...]:
        read = (self.left, self.right) if self.bias is None else (self.left, self.right, self.bias)
        return (*read, self.output)


def native_product(
    step: ExternStep, buffers: Buffers, name: str, target: Target
) -> ProductStep | KernelStep | None:
    """What computes the step; `name`: of the kernel, if it is one."""
    rule = RULES.get(step.op)
    found = rule(step, buffers, target) if rule is not None else None
    return found or product_loops.native_product(step, buffers, name)


def _matrix_product(step: ExternStep, buffers: Buffers, target: Target) -> ProductStep | None:
    *base, left, right = step.args
    factors = {step.kwargs.get(name, 1) for name in ("alpha", "beta")}
    if factors != {1}:
        return None
    bias = base[0].name if base else None
    output = str(step.outputs[0])
    form = _form(buffers, output, left.name, right.name, bias)
    if form is None:
        return None
    needed = workspace_bytes(form, target)
    return ProductStep(
        output,
        left.name,
        right.name,
        bias,
        needed,
        lambda symbol: emit_matmul(form, target, symbol, "internal"),
    )


def _form(buffers: Buffers, output: str, left: str, right: str, bias: str | None) -> MatmulForm | None:
    """The product of these buffers; None where a number of them is open."""
    names = [output, left, right, *([bias] if bias is not None else [])]
    infos = [buffers[name] for name in names]
    dtype = IR_DTYPES.get(infos[0].dtype)
    if dtype not in SUMMED_IN or any(info.dtype is not infos[0].dtype for info in infos):
        return None
    if not all(isinstance(number, Const) for info in infos for number in (*info.shape, *info.strides)):
        return None
    rows, columns = _known(infos[0].shape[-2:])
    strides = [_strides(info, len(infos[0].shape)) for info in infos]
    return MatmulForm(
        dtype,
        rows,
        columns,
        _known(infos[1].shape)[-1],
        batch=_known(infos[0].shape)[0] if len(infos[0].shape) == 3 else 1,
        output=strides[0],
        left=strides[1],
        right=strides[2],
        bias=strides[3] if bias is not None else None,
    )


def _known(numbers: tuple[Expr, ...]) -> list[int]:
    return [number.value for number in numbers if isinstance(number, Const)]


def _strides(info: BufferInfo, rank: int) -> Strides:
    """A dim of one element, and one that is not there, have stride 0: they are repeated."""
    steps = [
        0 if size == 1 else stride
        for size, stride in zip(_known(info.shape), _known(info.strides), strict=True)
    ]
    batch, row, column = [*[0] * (3 - len(steps)), *steps] if rank >= 2 else (0, 0, 0)
    return Strides(batch, row, column)


def _convolution(step: ExternStep, buffers: Buffers, target: Target) -> ProductStep | None:
    given, weight, bias, stride, padding, dilation, transposed, _, groups = step.args
    output = str(step.outputs[0])
    names = [output, given.name, weight.name, *([bias.name] if isinstance(bias, Ref) else [])]
    infos = [buffers[name] for name in names]
    rank = len(infos[0].shape) - 2
    numbers = (*stride, *padding, *dilation, groups)
    if transposed or rank not in (1, 2) or not all(type(number) is int for number in numbers):
        return None
    if any(info.dtype is not infos[0].dtype or not _is_dense(info) for info in infos):
        return None
    dtype = IR_DTYPES.get(infos[0].dtype)
    if dtype not in SUMMED_IN:
        return None
    (batch, channels), extents = _known(infos[1].shape[:2]), _known(infos[1].shape[2:])
    out_channels, kernel = _known(infos[2].shape)[0], _known(infos[2].shape[2:])
    height, width = _plane(extents, 1)
    image = Image(
        channels,
        height,
        width,
        _plane(kernel, 1),
        _plane(stride, 1),
        _plane(padding, 0),
        _plane(dilation, 1),
    )
    form = ConvolutionForm(dtype, image, out_channels, batch=batch, groups=groups, bias=isinstance(bias, Ref))
    needed = convolution_workspace_bytes(form, target)
    return ProductStep(
        output,
        weight.name,
        given.name,
        bias.name if isinstance(bias, Ref) else None,
        needed,
        lambda symbol: emit_convolution(form, target, symbol, "internal"),
    )


def _plane(numbers: Any, beside: int) -> tuple[int, int]:
    """Two numbers: a line is a plane of height 1."""
    first, second = [beside, *numbers] if len(numbers) == 1 else numbers
    return first, second


def _is_dense(info: BufferInfo) -> bool:
    """Whether the buffer lies row by row, with known sizes."""
    expected = 1
    for size, stride in zip(reversed(info.shape), reversed(info.strides), strict=True):
        if not isinstance(size, Const) or size.value == 0:
            return False
        if size.value != 1 and stride != Const(expected):
            return False
        expected *= size.value
    return True


RULES: dict[Any, Callable[[ExternStep, Buffers, Target], ProductStep | None]] = {
    aten.mm.default: _matrix_product,
    aten.bmm.default: _matrix_product,
    aten.addmm.default: _matrix_product,
    aten.convolution.default: _convolution,
}
