"""Program: an ATen graph as buffers and steps, between lowering and the launch plan.

In:  `codegen.passes.pipeline.lower_graph(aten_graph)`.
Out: `codegen.launch.plan.build_plan(program, addresses)` makes the launch plan that the extension executes.

    y = relu(x @ w)   ->   buffers: x, w (input), mm (temp), y (output)
                           steps:   ExternStep(aten.mm.default, (x, w) -> mm);  KernelStep(k0: mm -> y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import cycle
from typing import Any, Protocol

import torch
from torch._ops import OpOverload

from capture_records import dataclass
from codegen.kernel.ir import Expr, Kernel


@dataclass(slots=True)
class BufferInfo:
    """The storage of a tensor of the graph. Sizes, strides and the offset count elements.

    kind: input (a placeholder), output (allocated for the caller), temp (in the workspace, or a tensor where
    an ExternStep touches it), constant (a tensor that the graph holds, in `value`), version (the contents of
    an input after a write; only the passes use it: `codegen.lower.ordered_writes`).
    """

    name: str
    kind: str
    dtype: torch.dtype
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr
    value: torch.Tensor | None = None


def is_input_memory(info: BufferInfo) -> bool:
    return info.kind in ("input", "version")


@dataclass(frozen=True, slots=True)
class Ref:
    """A buffer among the arguments of a step."""

    name: str


class OpenKernel(Protocol):
    """Makes kernels for short sizes from one with open sizes (`codegen.passes.loops.short_sizes`)."""

    def short_sizes(self, number: Callable[[Expr], Any]) -> set[str]: ...

    def kernel_for(self, sizes: Mapping[str, int]) -> tuple[Kernel, dict[str, BufferInfo]]: ...


@dataclass(frozen=True, slots=True)
class Origin:
    """What a kernel computes, for people: ATen operators, and nodes of the captured graph."""

    operators: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`mul`, `fused_mul_sin_add`; empty where it is not known."""
        shown = self.operators[:MOST_OPERATORS]
        more = [f"{len(self.operators) - len(shown)}_more"] if len(shown) < len(self.operators) else []
        return "_".join((["fused"] if len(shown) > 1 else []) + [*shown, *more])


UNKNOWN = Origin()
MOST_OPERATORS = 8  # in a title


@dataclass(slots=True)
class KernelStep:
    """Run `kernel` for each row of a table. Most tables have one row.

    `kernel.buffers[i]` points to the row's `buffers[i]`. The sizes of the row are the Sym arguments of the
    kernel. The rows are concatenated and independent.
    """

    kernel: Kernel
    buffers: tuple[str, ...]
    sizes: tuple[Expr, ...] = ()
    open: OpenKernel | None = None  # makes the kernel for short sizes
    origin: Origin = UNKNOWN

    @property
    def rows(self) -> int:
        return len(self.buffers) // len(self.kernel.buffers) if self.kernel.buffers else 1

    def row(self, number: int) -> tuple[dict[str, str], dict[str, Expr]]:
        """The buffers and sizes of a row, by their names in the kernel."""
        names, sizes = [buffer.name for buffer in self.kernel.buffers], self.kernel.sizes
        buffers = self.buffers[number * len(names) : (number + 1) * len(names)]
        values = self.sizes[number * len(sizes) : (number + 1) * len(sizes)]
        return dict(zip(names, buffers, strict=True)), dict(zip(sizes, values, strict=True))

    def written(self) -> list[str]:
        """The buffers that the step writes to."""
        return [name for name, buffer in zip(self.buffers, cycle(self.kernel.buffers)) if buffer.writable]


@dataclass(slots=True)
class ExternStep:
    """Call an ATen operator (an OpOverload). mm, bmm, addmm and convolution have native launches.

    `args` may hold a Ref at any depth. `outputs` names a new buffer for each tensor result, and has None for
    results that are not tensors or not used. `mutates` names the buffers that the operator writes in place.
    """

    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[str | None, ...]
    mutates: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For reports. `draw(aten.bernoulli_.float)`: a function that is told which operator to call."""
        if isinstance(self.op, OpOverload):
            return str(self.op)
        told = [str(value) for value in self.args[:1] if isinstance(value, OpOverload)]
        return self.op.__name__ + "".join(f"({op})" for op in told)


@dataclass(slots=True)
class ViewStep:
    """`output` is a tensor on the memory of `base` with its own sizes and strides (it aliases, as in eager).

    `offset` counts elements from the first element of `base`, wherever that lies in its storage.
    """

    output: str
    base: str
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr


Step = KernelStep | ExternStep | ViewStep


def root_memory(name: str, memory: Mapping[str, str]) -> str:
    """The buffer that owns the memory of a view. `memory`: by the name of a view, its base."""
    while name in memory:
        name = memory[name]
    return name


@dataclass(slots=True)
class Program:
    """inputs: placeholder names in order (an int placeholder is a Sym of that name).

    outputs: for each output of the graph in order, the name of a buffer or input, None, or a constant.
    """

    buffers: dict[str, BufferInfo] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)

    @property
    def kernel_steps(self) -> list[KernelStep]:
        return [step for step in self.steps if isinstance(step, KernelStep)]

    @property
    def extern_steps(self) -> list[ExternStep]:
        return [step for step in self.steps if isinstance(step, ExternStep)]

    @property
    def view_steps(self) -> list[ViewStep]:
        return [step for step in self.steps if isinstance(step, ViewStep)]
