"""Matrix products and convolutions as generated functions of the object file.

In:  an ExternStep of mm, addmm, bmm or convolution; the buffers of the Program; a target.
Out: a `ProductStep`, which calls a function of `codegen.llvm.dense`. Where a form has no such function, such
     as a convolution with open sizes, a KernelStep with plain loops (`codegen.export.product_loops`). None
     for other operators.

    mm(x[32, 64], w.t()) -> y   ->   call void @f_k0(ptr y, ptr x, ptr w, ptr null, ptr workspace + 128)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from capture_records import dataclass
from codegen.export import product_loops
from codegen.export.cblas import calls_cblas, emit_cblas
from codegen.kernel.ir import Const, Expr, add, mul
from codegen.kernel.ops import IR_DTYPES
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep, Ref
from codegen.llvm.dense.blocking import most_workspace
from codegen.llvm.dense.convolution import ConvolutionForm, convolution_workspace_bytes, emit_convolution
from codegen.llvm.dense.forms import SUMMED_IN, MatmulForm, Strides
from codegen.llvm.dense.images import Image
from codegen.llvm.dense.matmul import emit_matmul, workspace_bytes
from codegen.llvm.target import Target
from codegen.llvm.types import SIZES

aten = torch.ops.aten
Buffers = dict[str, BufferInfo]
#: declarations by name, definition
Function = tuple[dict[str, str], str]
AXES = ("batch", "row", "column")


@dataclass(frozen=True, slots=True)
class ProductStep:
    """output = left @ right (+ bias), by the function that `emit(symbol)` writes.

    `workspace`: the bytes that it needs while it runs. `numbers`: the open ones among its sizes and strides,
    which are arguments of the function.
    """

    output: str
    left: str
    right: str
    bias: str | None
    workspace: Expr
    emit: Callable[[str], Function]
    numbers: tuple[Expr, ...] = ()

    @property
    def buffers(self) -> tuple[str, ...]:
        read = (self.left, self.right) if self.bias is None else (self.left, self.right, self.bias)
        return (*read, self.output)


def native_product(
    step: ExternStep, buffers: Buffers, name: str, target: Target, cblas: bool = False
) -> ProductStep | KernelStep | None:
    """What computes the step; `name`: of the kernel, if it is one. `cblas`: products call it."""
    rule = RULES.get(step.op)
    found = rule(step, buffers, target, cblas) if rule is not None else None
    return found or product_loops.native_product(step, buffers, name)


def _matrix_product(step: ExternStep, buffers: Buffers, target: Target, cblas: bool) -> ProductStep | None:
    *base, left, right = step.args
    factors = {step.kwargs.get(name, 1) for name in ("alpha", "beta")}
    if factors != {1}:
        return None
    bias = base[0].name if base else None
    output = str(step.outputs[0])
    matrices = {"output": output, "left": left.name, "right": right.name}
    if bias is not None:
        matrices["bias"] = bias
    infos = {name: buffers[buffer] for name, buffer in matrices.items()}
    dtype = IR_DTYPES.get(buffers[output].dtype)
    if dtype not in SUMMED_IN or any(info.dtype is not buffers[output].dtype for info in infos.values()):
        return None
    values = _numbers(infos)
    form = _form(dtype, values, bias is not None)
    if cblas and calls_cblas(form):
        emit = partial(emit_cblas, form, target)
        return ProductStep(output, left.name, right.name, bias, Const(0), emit)
    return ProductStep(
        output,
        left.name,
        right.name,
        bias,
        _workspace(form, target, values["inner"]),
        lambda symbol: emit_matmul(form, target, symbol, "internal"),
        tuple(values[name] for name in form.arguments()),
    )


def _numbers(infos: Mapping[str, BufferInfo]) -> dict[str, Expr]:
    """Sizes and strides of the matrices, by their names in a form."""
    shape = infos["output"].shape
    found = {
        "batch": shape[0] if len(shape) == 3 else Const(1),
        "rows": shape[-2],
        "columns": shape[-1],
        "inner": infos["left"].shape[-1],
    }
    for matrix, info in infos.items():
        # a dim of one element, and one that is not there, have stride 0: they are repeated
        steps = [
            Const(0) if size == Const(1) else stride
            for size, stride in zip(info.shape, info.strides, strict=True)
        ]
        steps = [*[Const(0)] * (3 - len(steps)), *steps]
        found.update({f"{matrix}_{name}": step for name, step in zip(AXES, steps, strict=True)})
    return found


def _form(dtype: str, values: Mapping[str, Expr], biased: bool) -> MatmulForm:
    known = {name: value.value if isinstance(value, Const) else None for name, value in values.items()}

    def strides(matrix: str) -> Strides:
        return Strides(*(known[f"{matrix}_{axis}"] for axis in AXES))

    return MatmulForm(
        dtype,
        known["rows"],
        known["columns"],
        known["inner"],
        batch=known["batch"],
        output=strides("output"),
        left=strides("left"),
        right=strides("right"),
        bias=strides("bias") if biased else None,
    )


def _workspace(form: MatmulForm, target: Target, inner: Expr) -> Expr:
    """Bytes that are enough for all values of the open sizes."""
    if None not in form.sizes().values():
        return Const(workspace_bytes(form, target))
    fixed, along_inner = most_workspace(form, target)
    size = SIZES[form.summed_in]
    return add(Const(fixed * size), mul(inner, Const(along_inner * size)))


def _known(numbers: tuple[Expr, ...]) -> list[int]:
    return [number.value for number in numbers if isinstance(number, Const)]


def _convolution(step: ExternStep, buffers: Buffers, target: Target, cblas: bool) -> ProductStep | None:
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
        Const(needed),
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


RULES: dict[Any, Callable[[ExternStep, Buffers, Target, bool], ProductStep | None]] = {
    aten.mm.default: _matrix_product,
    aten.bmm.default: _matrix_product,
    aten.addmm.default: _matrix_product,
    aten.convolution.default: _convolution,
}
