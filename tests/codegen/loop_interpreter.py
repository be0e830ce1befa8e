"""Runs loop IR and programs on torch tensors, slowly and plainly: the reference for lowering.

In:  a kernel or a Program, and its inputs.
Out: the values of its outputs.

    run_kernel(k0, {"x": memory of x, "out": memory of out})
    run_program(lower_graph(graph), [x, w]) -> [y]

A vector loop runs all its iterations at once: the axis variable and the values are tensors with one element
for each lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from codegen.kernel import ir
from codegen.kernel.ops import TORCH_DTYPES, reference
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep, Program, Ref, ViewStep


class CheckFailed(Exception):
    """A `Check` did not hold; args[0] is its code."""


_INDEX: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


@dataclass
class _Accumulated:
    declaration: ir.Accumulator
    value: Tensor
    index: Tensor | None
    in_lanes: bool


def _identity(combine: str, dtype: torch.dtype) -> Any:
    if combine in ("sum", "any"):
        return 0
    if combine in ("prod", "all"):
        return 1
    low = combine in ("max", "argmax")
    if dtype.is_floating_point:
        return float("-inf") if low else float("inf")
    return torch.iinfo(dtype).min if low else torch.iinfo(dtype).max


_COMBINE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": torch.add,
    "prod": torch.mul,
    "max": torch.maximum,
    "min": torch.minimum,
    "any": torch.logical_or,
    "all": torch.logical_and,
}

_ACROSS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda v: v.sum(dtype=v.dtype),
    "prod": lambda v: v.prod(dtype=v.dtype),
    "max": torch.amax,
    "min": torch.amin,
    "any": torch.any,
    "all": torch.all,
}


class _Run:
    def __init__(self, kernel: ir.Kernel, memory: dict[str, Tensor], sizes: dict[str, int]) -> None:
        self.kernel = kernel
        self.memory = memory
        self.sizes = sizes
        self.axes: dict[str, Any] = {}
        self.values: dict[int, Tensor] = {}
        self.accumulators: dict[str, _Accumulated] = {}
        self.lanes: int | None = None

    def index(self, expr: ir.Expr) -> Any:
        if isinstance(expr, ir.Const):
            return expr.value
        if isinstance(expr, ir.Sym):
            return self.sizes[expr.name]
        if isinstance(expr, ir.AxisVar):
            return self.axes[expr.name]
        if isinstance(expr, ir.Indirect):
            return self.values[expr.value]
        return _INDEX[expr.op](self.index(expr.left), self.index(expr.right))

    def block(self, body: list[ir.Stmt]) -> None:
        for statement in body:
            _RUN[type(statement)](self, statement)

    def loop(self, loop: ir.Loop) -> None:
        extent = int(self.index(loop.extent))
        if not loop.vector:
            for position in range(extent):
                self.axes[loop.axis] = position
                self.block(loop.body)
        elif extent:
            self.axes[loop.axis], self.lanes = torch.arange(extent), extent
            self.block(loop.body)
            self.lanes = None

    def op(self, op: ir.Op) -> None:
        result = reference(op.name, [self.values[arg] for arg in op.args], op.dtype)
        assert result.dtype == TORCH_DTYPES[op.dtype], f"{op} gave {result.dtype}"
        self.values[op.number] = result

    def const(self, op: ir.ConstOp) -> None:
        self.values[op.number] = torch.tensor(op.value, dtype=TORCH_DTYPES[op.dtype])

    def index_op(self, op: ir.IndexOp) -> None:
        self.values[op.number] = torch.as_tensor(self.index(op.index), dtype=TORCH_DTYPES[op.dtype])

    def load(self, load: ir.Load) -> None:
        memory = self.memory[load.buffer]
        index = torch.as_tensor(self.index(load.index))
        if load.mask is None:
            assert index.numel() == 0 or (0 <= index.min() and index.max() < len(memory)), (
                f"{load} outside of its buffer"
            )
            self.values[load.number] = memory[index]
            return
        mask = self.values[load.mask]
        index = torch.where(mask, index, 0)
        assert index.numel() == 0 or (0 <= index.min() and index.max() < max(len(memory), 1)), (
            f"{load} outside of its buffer"
        )
        safe = memory if len(memory) else torch.zeros(1, dtype=memory.dtype)
        self.values[load.number] = torch.where(
            mask, safe[index], torch.tensor(load.other, dtype=memory.dtype)
        )

    def store(self, store: ir.Store) -> None:
        memory = self.memory[store.buffer]
        index = torch.as_tensor(self.index(store.index))
        value = self.values[store.value]
        assert value.dtype == memory.dtype, f"{store}: {value.dtype} into {memory.dtype}"
        assert 0 <= index.min() and index.max() < len(memory), f"{store} outside of its buffer"
        assert store.mask is None, "lowering does not make these"
        if store.combine is not None:
            reduce = {"sum": "sum", "prod": "prod", "max": "amax", "min": "amin"}[store.combine]
            memory.scatter_reduce_(0, index.reshape(-1), value.expand(index.shape).reshape(-1), reduce)
            return
        memory[index] = value.expand(index.shape) if index.dim() else value
        assert index.dim() == 0 or index.unique().numel() == index.numel(), f"{store} writes an element twice"

    def check(self, check: ir.Check) -> None:
        if not bool(self.values[check.condition].all()):
            raise CheckFailed(check.code)

    def accumulator(self, declaration: ir.Accumulator) -> None:
        dtype = TORCH_DTYPES[declaration.dtype]
        init = _identity(declaration.combine, dtype) if declaration.init is None else declaration.init
        shape = () if self.lanes is None else (self.lanes,)
        index = torch.zeros(shape, dtype=torch.int64) if declaration.combine.startswith("arg") else None
        self.accumulators[declaration.name] = _Accumulated(
            declaration, torch.full(shape, init, dtype=dtype), index, self.lanes is not None
        )

    def update(self, update: ir.Update) -> None:
        state = self.accumulators[update.accumulator]
        value = self.values[update.value]
        across = self.lanes is not None and not state.in_lanes
        if across:
            value = value.expand(self.lanes)
        if state.index is not None:
            assert update.index is not None
            self._update_position(state, value, self.values[update.index], across)
            return
        combine = state.declaration.combine
        state.value = _COMBINE[combine](state.value, _ACROSS[combine](value) if across else value)

    def _update_position(self, state: _Accumulated, value: Tensor, index: Tensor, across: bool) -> None:
        pick = torch.argmax if state.declaration.combine == "argmax" else torch.argmin
        assert state.index is not None
        if across:
            place = pick(value)
            value, index = value[place], index.expand(self.lanes)[place]
        better = torch.gt if state.declaration.combine == "argmax" else torch.lt
        new = better(value, state.value) | ((value == state.value) & (index < state.index))
        if value.dtype.is_floating_point:
            new = (new & ~state.value.isnan()) | (value.isnan() & ~state.value.isnan())
        state.value, state.index = torch.where(new, value, state.value), torch.where(new, index, state.index)

    def scan(self, step: ir.ScanStep) -> None:
        state = self.accumulators[step.accumulator]
        value, combine = self.values[step.value], _COMBINE[state.declaration.combine]
        if self.lanes is None or state.in_lanes:
            state.value = combine(state.value, value)
            self.values[step.number] = state.value
            return
        running = _RUNNING[state.declaration.combine]
        self.values[step.number] = combine(state.value, running(value.expand(self.lanes), 0))
        state.value = self.values[step.number][-1]

    def read(self, read: ir.ReadAccumulator) -> None:
        state = self.accumulators[read.accumulator]
        self.values[read.number] = state.value if state.index is None else state.index


_RUNNING: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "sum": torch.cumsum,
    "prod": torch.cumprod,
    "max": lambda value, dim: torch.cummax(value, dim).values,
    "min": lambda value, dim: torch.cummin(value, dim).values,
}
_RUN: dict[type, Callable[[_Run, Any], None]] = {
    ir.Loop: _Run.loop,
    ir.Op: _Run.op,
    ir.ConstOp: _Run.const,
    ir.IndexOp: _Run.index_op,
    ir.Load: _Run.load,
    ir.Store: _Run.store,
    ir.Check: _Run.check,
    ir.Accumulator: _Run.accumulator,
    ir.Update: _Run.update,
    ir.ScanStep: _Run.scan,
    ir.ReadAccumulator: _Run.read,
}


def run_kernel(kernel: ir.Kernel, memory: dict[str, Tensor], sizes: dict[str, int] | None = None) -> None:
    """Runs `kernel` on flat memory; raises CheckFailed."""
    _Run(kernel, memory, sizes or {}).block(kernel.body)


# --- programs ---------------------------------------------------------------------------------------------


def flat_memory(tensor: Tensor) -> Tensor:
    """The elements from the tensor's first to its last, in the order of memory."""
    if tensor.numel() == 0:
        return tensor.new_empty(0)
    length = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return torch.as_strided(tensor, (length,), (1,))


class ProgramRun:
    """The tensors of a program while it runs."""

    def __init__(self, program: Program, inputs: list[Any]) -> None:
        self.program = program
        self.tensors: dict[str, Any] = dict(zip(program.inputs, inputs, strict=True))
        self.sizes = {name: value for name, value in self.tensors.items() if not isinstance(value, Tensor)}
        for name, info in program.buffers.items():
            if info.value is not None:
                self.tensors[name] = info.value

    def number(self, expr: ir.Expr) -> int:
        return int(_Run(ir.Kernel("", ()), {}, self.sizes).index(expr))

    def numbers(self, exprs: tuple[ir.Expr, ...]) -> list[int]:
        return [self.number(expr) for expr in exprs]

    def allocate(self, info: BufferInfo) -> Tensor:
        assert info.kind in ("temp", "output"), f"{info.name} is read before it is written"
        tensor = torch.empty_strided(self.numbers(info.shape), self.numbers(info.strides), dtype=info.dtype)
        if info.dtype.is_floating_point:
            tensor.fill_(float("nan"))  # an element that nobody writes is visible
        return tensor

    def tensor(self, name: str) -> Tensor:
        if name not in self.tensors:
            self.tensors[name] = self.allocate(self.program.buffers[name])
        return self.tensors[name]

    def kernel(self, step: KernelStep) -> None:
        for number in range(step.rows):
            buffers, sizes = step.row(number)
            memory = {own: flat_memory(self.tensor(name)) for own, name in buffers.items()}
            run_kernel(step.kernel, memory, {name: self.number(expr) for name, expr in sizes.items()})

    def argument(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self.tensors[value.name]
        if isinstance(value, (tuple, list)):
            return [self.argument(item) for item in value]
        if isinstance(value, (ir.Const, ir.Sym, ir.AxisVar, ir.Indirect, ir.Binary)):
            return self.number(value)
        return value

    def extern(self, step: ExternStep) -> None:
        kwargs = {name: self.argument(value) for name, value in step.kwargs.items()}
        result = step.op(*map(self.argument, step.args), **kwargs)
        results = result if isinstance(result, (tuple, list)) else (result,)
        for name, value in zip(step.outputs, results, strict=True):
            if name is not None:
                info = self.program.buffers[name]
                assert list(value.shape) == self.numbers(info.shape), f"{name}: {value.shape}"
                self.tensors[name] = value

    def view(self, step: ViewStep) -> None:
        base = self.tensor(step.base)
        offset = base.storage_offset() + self.number(step.offset)
        self.tensors[step.output] = torch.as_strided(
            base, self.numbers(step.shape), self.numbers(step.strides), offset
        )


def execute(run: ProgramRun) -> list[Any]:
    """Runs all steps and returns the outputs."""
    actions: dict[type, Callable[[Any], None]] = {
        KernelStep: run.kernel,
        ExternStep: run.extern,
        ViewStep: run.view,
    }
    for step in run.program.steps:
        actions[type(step)](step)
    return [run.tensor(item) if isinstance(item, str) else run.argument(item) for item in run.program.outputs]


def run_program(program: Program, inputs: list[Any]) -> list[Any]:
    """The outputs of the program. Inputs that it writes are changed."""
    return execute(ProgramRun(program, inputs))
