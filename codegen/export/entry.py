"""The C function of an exported Program, as LLVM text.

In:  a Program, its layout, its interface; the symbols of its kernels, products and constants.
Out: one function that calls the kernels in their order.

    k0: x -> t;  k1: t -> y     ->     define i32 @f(ptr %a0, ptr %m0, ptr %workspace) {
                                         ... call i32 @f_k0(ptr %buffers, ptr %sizes, i64 0, i64 0) ...

A kernel finds its buffers in an array of pointers. A step of several rows is a call for each row. The
function returns 0, or the code of the first check that failed.
"""

from __future__ import annotations

from collections.abc import Mapping

from codegen.export.interface import Interface
from codegen.export.layout import Layout, bytes_of, scratch_of
from codegen.export.products import ProductStep
from codegen.kernel.ir import Binary, Const, Expr, Sym, extent_of
from codegen.kernel.program import KernelStep, ViewStep

#: LLVM's instruction for arithmetic of sizes. None is negative.
ARITHMETIC = {"add": "add", "mul": "mul", "floordiv": "sdiv", "mod": "srem"}


class EntryFunction:
    """The text of the function while it is written."""

    def __init__(self, interface: Interface, layout: Layout, kernels: Mapping[str, str]) -> None:
        self.interface = interface
        self.layout = layout
        self.kernels = kernels  # by name of a kernel: its symbol
        self.products: dict[int, str] = {}  # by position of a step: its symbol
        self.inputs: dict[str, int] = {}  # by buffer: the position of the argument
        self.constants: dict[str, str] = {}
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._pointers: dict[str, str] = {}
        self._numbers: dict[Expr, str] = {}
        self._count = 0

    # --- pieces

    def temp(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def defined(self, text: str) -> str:
        name = self.temp()
        self.line(f"{name} = {text}")
        return name

    def number(self, expr: Expr) -> str:
        """The value of a size."""
        if isinstance(expr, Const):
            return str(expr.value)
        if isinstance(expr, Sym):
            return f"%size.{expr.name}"
        known = self._numbers.get(expr)
        if known is None:
            assert isinstance(expr, Binary), "sizes have no axes"
            left, right = self.number(expr.left), self.number(expr.right)
            known = self._numbers[expr] = self._arithmetic(expr.op, left, right)
        return known

    def _arithmetic(self, op: str, left: str, right: str) -> str:
        if op in ARITHMETIC:
            return self.defined(f"{ARITHMETIC[op]} i64 {left}, {right}")
        self.declared.add(f"declare i64 @llvm.s{op}.i64(i64, i64)")
        return self.defined(f"call i64 @llvm.s{op}.i64(i64 {left}, i64 {right})")

    def pointer(self, name: str) -> str:
        """The address of the first element of a buffer."""
        known = self._pointers.get(name)
        if known is None:
            root, start = self.layout.root(name)
            known = self._pointers[name] = self._ahead(self._base(root), start)
        return known

    def _ahead(self, pointer: str, distance: Expr) -> str:
        if distance == Const(0):
            return pointer
        return self.defined(f"getelementptr i8, ptr {pointer}, i64 {self.number(distance)}")

    def _base(self, root: str) -> str:
        if root in self.inputs:
            return f"%a{self.inputs[root]}"
        if root in self.constants:
            return f"@{self.constants[root]}"
        if root in self.layout.memories:
            return f"%m{self.layout.memories.index(root)}"
        return self._ahead("%workspace", self.layout.offsets[root])

    # --- steps

    def write_steps(self) -> None:
        for position, step in enumerate(self.layout.program.steps):
            if isinstance(step, KernelStep):
                for row in range(step.rows):
                    self._call(step, row)
            elif isinstance(step, ProductStep):
                self._multiply(step, position)
            else:
                assert isinstance(step, ViewStep), f"{step} is no native step"
        for memory in self.layout.memories:
            if memory in self.constants:
                self._copy_constant(memory)

    def _call(self, step: KernelStep, row: int) -> None:
        buffers, sizes = step.row(row)
        for position, buffer in enumerate(step.kernel.buffers):
            self._fill("buffers", "ptr", position, self.pointer(buffers[buffer.name]))
        for position, name in enumerate(step.kernel.sizes):
            self._fill("sizes", "i64", position, self.number(sizes[name]))
        end = "0"
        if step.kernel.split is not None:
            end = self.number(_with_sizes(extent_of(step.kernel.body, step.kernel.split), sizes))
        symbol = self.kernels[step.kernel.name]
        status = self.defined(f"call i32 @{symbol}(ptr %buffers, ptr %sizes, i64 0, i64 {end})")
        if self.interface.may_fail:
            self._leave_if_failed(status)

    def _multiply(self, step: ProductStep, position: int) -> None:
        scratch = self.layout.offsets.get(scratch_of(position))
        pointers = [
            self.pointer(step.output),
            self.pointer(step.left),
            self.pointer(step.right),
            "null" if step.bias is None else self.pointer(step.bias),
            "null" if scratch is None else self._ahead("%workspace", scratch),
        ]
        numbers = [f"i64 {self.number(number)}" for number in step.numbers]
        given = ", ".join([*(f"ptr {pointer}" for pointer in pointers), *numbers])
        self.line(f"call void @{self.products[position]}({given})")

    def _fill(self, array: str, kind: str, position: int, value: str) -> None:
        place = self.defined(f"getelementptr {kind}, ptr %{array}, i64 {position}")
        self.line(f"store {kind} {value}, ptr {place}")

    def _leave_if_failed(self, status: str) -> None:
        failed = self.defined(f"icmp ne i32 {status}, 0")
        name = failed.removeprefix("%")
        self.line(f"br i1 {failed}, label %leave_{name}, label %go_on_{name}")
        self.lines += [f"leave_{name}:", f"  ret i32 {status}", f"go_on_{name}:"]

    def _copy_constant(self, memory: str) -> None:
        size = self.number(bytes_of(self.layout.program.buffers[memory]))
        place = self.layout.memories.index(memory)
        self.declared.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        source = f"@{self.constants[memory]}"
        self.line(f"call void @llvm.memcpy.p0.p0.i64(ptr %m{place}, ptr {source}, i64 {size}, i1 false)")

    # --- the whole

    def text(self) -> str:
        """The definition. The function is visible outside of its library; all else is not."""
        self.write_steps()
        parameters = [
            *(f"ptr %a{i}" for i in range(len(self.interface.arguments))),
            *(f"i64 %size.{size.name}" for size in self.interface.sizes),
            *(f"ptr %m{i}" for i in range(len(self.interface.memories))),
            "ptr %workspace",
        ]
        steps = [step for step in self.layout.program.steps if isinstance(step, KernelStep)]
        most_buffers = max((len(step.kernel.buffers) for step in steps), default=0)
        most_sizes = max((len(step.kernel.sizes) for step in steps), default=0)
        return "\n".join(
            [
                f"define i32 @{self.interface.name}({', '.join(parameters)}) nounwind {{",
                "entry:",
                f"  %buffers = alloca [{max(most_buffers, 1)} x ptr], align 16",
                f"  %sizes = alloca [{max(most_sizes, 1)} x i64], align 16",
                *self.lines,
                "  ret i32 0",
                "}",
            ]
        )


def _with_sizes(expr: Expr, sizes: Mapping[str, Expr]) -> Expr:
    if isinstance(expr, Sym):
        return sizes[expr.name]
    if isinstance(expr, Binary):
        return Binary(expr.op, _with_sizes(expr.left, sizes), _with_sizes(expr.right, sizes))
    return expr
