"""Loop IR and programs as text, for people, golden files and `CAPTURE_LOGS=loops`.

In:  a Kernel, a KernelStep or a Program.
Out: its text.

    kernel k0(x: f32, out: f32 writable) split i
      for i0 in 1000 parallel vector unroll 2:
        %0 = load x[i0]
        %1 = exp %0 : f32
        store out[i0], %1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel import ir
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep, Program, Ref, ViewStep

_SYMBOLS = {"add": "+", "mul": "*", "floordiv": "//", "mod": "%"}
_STRENGTH = {"add": 1, "mul": 2, "floordiv": 2, "mod": 2}


def print_expr(expr: ir.Expr, outer: int = 0) -> str:
    """An index expression in Python's notation."""
    if isinstance(expr, ir.Const):
        return str(expr.value)
    if isinstance(expr, (ir.Sym, ir.AxisVar)):
        return expr.name
    if isinstance(expr, ir.Indirect):
        return f"%{expr.value}"
    if expr.op not in _SYMBOLS:
        return f"{expr.op}({print_expr(expr.left)}, {print_expr(expr.right)})"
    strength = _STRENGTH[expr.op]
    spaced = f" {_SYMBOLS[expr.op]} " if expr.op != "mul" else "*"
    text = print_expr(expr.left, strength) + spaced + print_expr(expr.right, strength + (expr.op != "add"))
    return f"({text})" if strength < outer else text


def _mask(mask: int | None) -> str:
    return "" if mask is None else f" if %{mask}"


def _load(s: ir.Load) -> str:
    other = f" else {s.other}" if s.mask is not None else ""
    return f"%{s.number} = load {s.buffer}[{print_expr(s.index)}]{_mask(s.mask)}{other}"


def _store(s: ir.Store) -> str:
    verb = "store" if s.combine is None else f"{s.combine} into"
    return f"{verb} {s.buffer}[{print_expr(s.index)}], %{s.value}{_mask(s.mask)}"


def _accumulator(s: ir.Accumulator) -> str:
    return f"{s.name} = {s.combine} of {s.dtype}" + ("" if s.init is None else f" from {s.init}")


def _update(s: ir.Update) -> str:
    return f"update {s.accumulator}, %{s.value}" + ("" if s.index is None else f" at %{s.index}")


_LINES: dict[type, Callable[[Any], str]] = {
    ir.Op: lambda s: f"%{s.number} = {s.name} {', '.join(f'%{arg}' for arg in s.args)} : {s.dtype}",
    ir.ConstOp: lambda s: f"%{s.number} = const {s.value!r} : {s.dtype}",
    ir.IndexOp: lambda s: (
        f"%{s.number} = index {print_expr(s.index)}" + ("" if s.dtype == "i64" else f" : {s.dtype}")
    ),
    ir.Load: _load,
    ir.Store: _store,
    ir.Check: lambda s: f"check %{s.condition} else {s.code}",
    ir.Accumulator: _accumulator,
    ir.Update: _update,
    ir.ScanStep: lambda s: f"%{s.number} = scan {s.accumulator}, %{s.value} : {s.dtype}",
    ir.ReadAccumulator: lambda s: f"%{s.number} = read {s.accumulator} : {s.dtype}",
}


def _loop_line(loop: ir.Loop) -> str:
    marks = [mark for mark, on in (("parallel", loop.parallel), ("vector", loop.vector)) if on]
    marks += [f"unroll {loop.unroll}"] if loop.unroll > 1 else []
    return " ".join([f"for {loop.axis} in {print_expr(loop.extent)}", *marks]) + ":"


def _block(body: list[ir.Stmt], indent: str, lines: list[str]) -> None:
    for statement in body:
        if isinstance(statement, ir.Loop):
            lines.append(indent + _loop_line(statement))
            _block(statement.body, indent + "  ", lines)
        else:
            lines.append(indent + _LINES[type(statement)](statement))


def print_kernel(kernel: ir.Kernel) -> str:
    """The text of a kernel, one line for each statement."""
    buffers = [f"{b.name}: {b.dtype}" + (" writable" if b.writable else "") for b in kernel.buffers]
    head = f"kernel {kernel.name}({', '.join([*buffers, *kernel.sizes])})"
    lines = [head + (f" split {kernel.split}" if kernel.split else "")]
    _block(kernel.body, "  ", lines)
    return "\n".join(lines) + "\n"


def print_kernel_step(step: KernelStep) -> str:
    """The text of the kernel. A table adds the buffers and sizes of each row."""
    lines = [print_kernel(step.kernel)]
    if step.rows > 1:
        lines.append(f"  for each of {step.rows} rows:\n")
        for number in range(step.rows):
            buffers, sizes = step.row(number)
            lines.append(f"    {', '.join([*buffers.values(), *map(print_expr, sizes.values())])}\n")
    return "".join(lines)


def _argument(value: Any) -> str:
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_argument, value)) + "]"
    if isinstance(value, (ir.Const, ir.Sym, ir.AxisVar, ir.Indirect, ir.Binary)):
        return print_expr(value)
    return str(value)


def _exprs(values: tuple[ir.Expr, ...]) -> str:
    return "[" + ", ".join(map(print_expr, values)) + "]"


def _step(step: Any) -> str:
    if isinstance(step, KernelStep):
        return print_kernel_step(step).rstrip("\n")
    if isinstance(step, ViewStep):
        place = f"{_exprs(step.shape)} {_exprs(step.strides)} + {print_expr(step.offset)}"
        return f"{step.output} = view {step.base} {place}"
    assert isinstance(step, ExternStep)
    arguments = [
        *map(_argument, step.args),
        *(f"{name}={_argument(value)}" for name, value in step.kwargs.items()),
    ]
    return f"{', '.join(str(name) for name in step.outputs)} = {step.name}({', '.join(arguments)})"


def _buffer(info: BufferInfo) -> str:
    dtype = str(info.dtype).removeprefix("torch.")
    return f"{info.kind} {info.name}: {dtype}{_exprs(info.shape)} strides {_exprs(info.strides)}"


def print_program(program: Program) -> str:
    """The text of the buffers, steps and outputs of a program."""
    lines = [_buffer(info) for info in program.buffers.values()]
    lines += [_step(step) for step in program.steps]
    return "\n".join([*lines, "return " + ", ".join(map(_argument, program.outputs))]) + "\n"
