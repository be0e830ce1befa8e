"""Matrix products and convolutions as plain loops, for rare forms and convolutions with open sizes.

In:  an ExternStep of mm, addmm, bmm or convolution; the buffers of the Program.
Out: a KernelStep that computes the same; None for any other step.

    mm(x[4, 8], w[8, 3])   ->   for i in 4: for j in 3 vector: sum over k of x[i, k] * w[k, j]

The vector runs over the axis along which the memory is dense: over the columns of the result, or over the
inner axis where the right side is transposed (the weight of a linear layer).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from capture_records import dataclass
from codegen.kernel import ir
from codegen.kernel.ir import AxisVar, Const, Expr, add, mul
from codegen.kernel.ops import IR_DTYPES
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep

aten = torch.ops.aten
#: element types whose products are computed in another type
COMPUTED_IN = {"bf16": "f32", "f16": "f32"}
NUMBERS = frozenset({"f32", "f64", "bf16", "f16", "i64", "i32", "i16", "i8", "u8"})

Buffers = dict[str, BufferInfo]


def native_product(step: ExternStep, buffers: Buffers, name: str) -> KernelStep | None:
    """The kernel `name` in place of the step."""
    rule = RULES.get(step.op)
    return rule(step, buffers, name) if rule is not None else None


class Body:
    """Statements in the making. Values are numbered in their order."""

    def __init__(self) -> None:
        self.statements: list[ir.Stmt] = []
        self.count = 0

    def inner(self) -> Body:
        """The body of a loop in this one, to be written before anything else here."""
        body = Body()
        body.count = self.count
        return body

    def loop(self, axis: str, extent: Expr, body: Body, **kind: Any) -> None:
        self.count = body.count
        self.statements.append(ir.Loop(axis, extent, body.statements, **kind))

    def _value(self, make: Callable[[int], ir.Stmt]) -> int:
        number = self.count
        self.count += 1
        self.statements.append(make(number))
        return number

    def constant(self, value: float | int, dtype: str) -> int:
        return self._value(lambda n: ir.ConstOp(n, value, dtype))

    def index(self, index: Expr) -> int:
        return self._value(lambda n: ir.IndexOp(n, index, "i64"))

    def op(self, name: str, dtype: str, *args: int) -> int:
        return self._value(lambda n: ir.Op(n, name, args, dtype))

    def load(self, buffer: str, index: Expr, dtype: str, wanted: str, mask: int | None = None) -> int:
        number = self._value(lambda n: ir.Load(n, buffer, index, dtype, mask))
        return number if dtype == wanted else self.op("cast", wanted, number)

    def read(self, accumulator: str, dtype: str) -> int:
        return self._value(lambda n: ir.ReadAccumulator(n, accumulator, dtype))

    def store(self, buffer: str, index: Expr, value: int, dtype: str, found: str) -> None:
        number = value if dtype == found else self.op("cast", dtype, value)
        self.statements.append(ir.Store(buffer, index, number))


def at(strides: Sequence[Expr], places: Sequence[Expr]) -> Expr:
    """The element at these places."""
    index: Expr = Const(0)
    for stride, place in zip(strides, places, strict=True):
        index = add(index, mul(place, stride))
    return index


def buffer(name: str, info: BufferInfo, writable: bool = False) -> ir.Buffer:
    return ir.Buffer(name, IR_DTYPES[info.dtype], writable, info.dtype.itemsize)


def kernel_step(name: str, used: Sequence[ir.Buffer], body: Body, sizes: Sequence[str]) -> KernelStep:
    kernel = ir.Kernel(name, tuple(used), tuple(sizes), body.statements)
    return KernelStep(kernel, tuple(one.name for one in used), tuple(map(ir.Sym, sizes)))


def symbols_of(*infos: BufferInfo) -> list[str]:
    """The names of the open sizes of these buffers, sorted."""
    found: set[str] = set()
    pending = [expr for info in infos for expr in (*info.shape, *info.strides)]
    while pending:
        expr = pending.pop()
        if isinstance(expr, ir.Sym):
            found.add(expr.name)
        elif isinstance(expr, ir.Binary):
            pending += (expr.left, expr.right)
    return sorted(found)


# --- matrix products --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Product:
    """output = alpha * left @ right + beta * bias, of matrices or of batches of them."""

    output: str
    left: str
    right: str
    bias: str | None = None
    alpha: float = 1
    beta: float = 1


def _mm(step: ExternStep, buffers: Buffers, name: str) -> KernelStep | None:
    left, right = step.args
    return _product(Product(str(step.outputs[0]), left.name, right.name), buffers, name)


def _addmm(step: ExternStep, buffers: Buffers, name: str) -> KernelStep | None:
    bias, left, right = step.args
    alpha, beta = step.kwargs.get("alpha", 1), step.kwargs.get("beta", 1)
    if not all(isinstance(factor, (int, float)) for factor in (alpha, beta)):
        return None
    base = bias.name if beta != 0 else None  # NaN in a bias that does not count must not be seen
    return _product(Product(str(step.outputs[0]), left.name, right.name, base, alpha, beta), buffers, name)


def _product(product: Product, buffers: Buffers, name: str) -> KernelStep | None:
    output, left, right = (buffers[one] for one in (product.output, product.left, product.right))
    dtype = IR_DTYPES.get(output.dtype)
    if dtype not in NUMBERS or not left.dtype is right.dtype is output.dtype:
        return None
    wide = COMPUTED_IN.get(dtype, dtype)
    axes = [f"i{dim}" for dim in range(len(output.shape))]
    places = list(map(AxisVar, axes))
    inner = AxisVar("k")
    along_inner = left.strides[-1] == right.strides[-2] == Const(1) and right.strides[-1] != Const(1)

    body = Body()  # of the loop over the columns
    body.statements.append(ir.Accumulator("total", "sum", wide))
    summed = body.inner()
    first = summed.load(product.left, at(left.strides, [*places[:-1], inner]), dtype, wide)
    second = summed.load(product.right, at(right.strides, [*places[:-2], inner, places[-1]]), dtype, wide)
    term = summed.op("mul", wide, first, second)
    summed.statements.append(ir.Update("total", term))
    body.loop("k", left.shape[-1], summed, vector=along_inner, unroll=4)
    value = body.read("total", wide)
    value = _scaled(body, value, product.alpha, wide)
    used = [buffer(product.left, left), buffer(product.right, right)]
    infos = [output, left, right]
    if product.bias is not None:
        bias = buffers[product.bias]
        if bias.dtype is not output.dtype:
            return None
        index = at(_broadcast(bias, len(output.shape)), places)
        value = body.op(
            "add", wide, value, _scaled(body, body.load(product.bias, index, dtype, wide), product.beta, wide)
        )
        used.append(buffer(product.bias, bias))
        infos.append(bias)
    body.store(product.output, at(output.strides, places), value, dtype, wide)
    unique = {one.name: one for one in used}
    whole = _nest(body, axes, output.shape, vector=not along_inner)
    return kernel_step(
        name, [*unique.values(), buffer(product.output, output, writable=True)], whole, symbols_of(*infos)
    )


def _scaled(body: Body, value: int, factor: float, dtype: str) -> int:
    return value if factor == 1 else body.op("mul", dtype, value, body.constant(factor, dtype))


def _broadcast(info: BufferInfo, rank: int) -> list[Expr]:
    """The strides of the buffer as a tensor of that rank; 0 where it is repeated."""
    steps = [Const(0) if size == Const(1) else stride for size, stride in zip(info.shape, info.strides)]
    return [*[Const(0)] * (rank - len(steps)), *steps]


def _nest(body: Body, axes: Sequence[str], extents: Sequence[Expr], vector: bool) -> Body:
    """Parallel loops around the body, the last one innermost."""
    for axis, extent in reversed(list(zip(axes, extents, strict=True))):
        outer = Body()
        outer.loop(axis, extent, body, parallel=True, vector=vector and axis == axes[-1], unroll=1)
        body = outer
    return body


# --- convolutions -----------------------------------------------------------------------------------------


def _convolution(step: ExternStep, buffers: Buffers, name: str) -> KernelStep | None:
    given, weights, bias, stride, padding, dilation, transposed, _, groups = step.args
    output, source, weight = (buffers[one] for one in (str(step.outputs[0]), given.name, weights.name))
    dtype = IR_DTYPES.get(output.dtype)
    numbers = (*stride, *padding, *dilation, groups)
    if dtype not in NUMBERS or not all(type(n) is int for n in numbers) or source.dtype is not weight.dtype:
        return None
    fixed = [weight.shape[0], *(source.shape[2:] if transposed else ())]
    if not all(isinstance(size, Const) for size in fixed):
        return None
    wide = COMPUTED_IN.get(dtype, dtype)
    rank = len(output.shape) - 2
    axes = ["n", "c", *(f"o{dim}" for dim in range(rank))]
    kernel_axes = [f"k{dim}" for dim in range(rank)]
    outs, taps = [AxisVar(axis) for axis in axes[2:]], list(map(AxisVar, kernel_axes))
    place = _transposed if transposed else _plain
    channels = weight.shape[0 if transposed else 1]
    inner_count = _divided(weight.shape[0], groups) if transposed else channels
    per_group = weight.shape[1] if transposed else _divided(weight.shape[0], groups)
    group = ir.floordiv(AxisVar("c"), per_group)
    channel = add(mul(group, inner_count), AxisVar("r"))
    where = [channel, ir.mod(AxisVar("c"), per_group)] if transposed else [AxisVar("c"), AxisVar("r")]

    body = Body()
    body.statements.append(ir.Accumulator("total", "sum", wide))
    summed = body.inner()
    reads: list[Expr] = []
    mask: int | None = None
    for dim in range(rank):
        read, mask = place(
            summed,
            outs[dim],
            taps[dim],
            (stride[dim], padding[dim], dilation[dim]),
            source.shape[2 + dim],
            mask,
        )
        reads.append(read)
    first = summed.load(given.name, at(source.strides, [AxisVar("n"), channel, *reads]), dtype, wide, mask)
    second = summed.load(weights.name, at(weight.strides, [*where, *taps]), dtype, wide)
    summed.statements.append(ir.Update("total", summed.op("mul", wide, first, second)))
    loops = _reduction(summed, ["r", *kernel_axes], [inner_count, *weight.shape[2:]])
    body.statements += loops.statements
    body.count = loops.count
    value = body.read("total", wide)
    used = {given.name: buffer(given.name, source), weights.name: buffer(weights.name, weight)}
    if bias is not None:
        index = at(buffers[bias.name].strides, [AxisVar("c")])
        value = body.op("add", wide, value, body.load(bias.name, index, dtype, wide))
        used[bias.name] = buffer(bias.name, buffers[bias.name])
    body.store(str(step.outputs[0]), at(output.strides, list(map(AxisVar, axes))), value, dtype, wide)
    whole = _nest(body, axes, output.shape, vector=True)
    written = buffer(str(step.outputs[0]), output, writable=True)
    return kernel_step(name, [*used.values(), written], whole, symbols_of(output, source, weight))


def _divided(size: Expr, parts: int) -> Expr:
    assert isinstance(size, Const), "channels are no symbols"
    return Const(size.value // parts)


def _reduction(body: Body, axes: Sequence[str], extents: Sequence[Expr]) -> Body:
    for axis, extent in reversed(list(zip(axes, extents, strict=True))):
        outer = Body()
        outer.loop(axis, extent, body)
        body = outer
    return body


def _plain(
    body: Body, out: Expr, tap: Expr, numbers: tuple[int, int, int], size: Expr, mask: int | None
) -> tuple[Expr, int | None]:
    """The place that is read: out * stride + tap * dilation - padding, and whether it exists."""
    stride, padding, dilation = numbers
    read = add(mul(out, Const(stride)), mul(tap, Const(dilation)))
    if not padding:
        return read, mask
    read = add(read, Const(-padding))
    return read, _inside(body, body.index(read), size, mask)


def _transposed(
    body: Body, out: Expr, tap: Expr, numbers: tuple[int, int, int], size: Expr, mask: int | None
) -> tuple[Expr, int | None]:
    """The place from which the tap reaches `out`: (out + padding - tap * dilation) / stride, if it is whole.

    The division is of a number that is not negative: a multiple of the stride is added before, and taken
    away behind.
    """
    stride, padding, dilation = numbers
    assert isinstance(size, Const), "transposed convolutions have fixed sizes"
    lift = (size.value + padding + 1) * stride + dilation * 4096 * stride
    ahead = add(add(out, Const(padding + lift)), mul(tap, Const(-dilation)))
    read = add(ir.floordiv(ahead, Const(stride)), Const(-(lift // stride)))
    whole = body.op("eq", "b8", body.index(ir.mod(ahead, Const(stride))), body.constant(0, "i64"))
    mask = whole if mask is None else body.op("and", "b8", mask, whole)
    return read, _inside(body, body.index(read), size, mask)


def _inside(body: Body, place: int, size: Expr, mask: int | None) -> int:
    low = body.op("ge", "b8", place, body.constant(0, "i64"))
    high = body.op("lt", "b8", place, body.index(size))
    inside = body.op("and", "b8", low, high)
    return inside if mask is None else body.op("and", "b8", mask, inside)


RULES: dict[Any, Callable[[ExternStep, Buffers, str], KernelStep | None]] = {
    aten.mm.default: _mm,
    aten.bmm.default: _mm,
    aten.addmm.default: _addmm,
    aten.convolution.default: _convolution,
}
