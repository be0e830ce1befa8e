"""A Program as code for a machine.

In:  a Program, the names of its inputs, a machine.
Out: `Native`: LLVM text before and after optimisation, assembly, the object file, the interface.

    native_code("mlp", program, arguments, machine_of("aarch64")).object   ->   b"\\x7fELF..."
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture_records import dataclass
from codegen.export.data import Data
from codegen.export.entry import EntryFunction
from codegen.export.interface import Interface, Result, Size, Tensor
from codegen.export.layout import Layout, layout_of
from codegen.export.machine import Machine
from codegen.export.products import ProductStep, native_product
from codegen.kernel.errors import EmitError
from codegen.kernel.ir import Const, floordiv
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep, Program
from codegen.launch import jit
from codegen.llvm.emit import emit_function
from codegen.llvm.function_text import module_of
from codegen.llvm.target import Target

_PLACEHOLDER = "kernel"


class NoNativeForm(EmitError):
    """A step calls an operator for which there is no code of our own. `step` is the step."""

    def __init__(self, step: ExternStep) -> None:
        super().__init__(f"{step.op} has no native form")
        self.step = step


@dataclass(frozen=True, slots=True)
class Native:
    """`object`: the bytes of the object file, with the constants. The texts are without them."""

    interface: Interface
    machine: Machine
    llvm: str
    optimised: str
    assembly: str
    object: bytes
    constant_bytes: int


def native_code(
    name: str,
    program: Program,
    arguments: Sequence[tuple[str, str, str]],
    machine: Machine,
    sizes: Sequence[Size] = (),
    cblas: bool = False,
) -> Native:
    """`arguments`: (buffer, name in C, path) for each input that is no size. `cblas`: products call it.

    Raises NoNativeForm, EmitError.
    """
    make_native(program, machine.target, cblas)
    layout = layout_of(program)
    interface = interface_of(name, program, layout, arguments, sizes)
    interface.cblas = cblas
    data = Data(name, program.buffers)
    code = Functions(name)
    kernels, products = code.of(program, machine)
    entry = EntryFunction(interface, layout, kernels)
    entry.products = products
    entry.inputs = {buffer: place for place, (buffer, _, _) in enumerate(arguments)}
    entry.constants = data.symbols
    definition = entry.text()
    text = "\n".join(
        [
            *data.declarations,
            *sorted(entry.declared),
            module_of(code.functions),
            definition,
            "",
        ]
    )
    made = jit.code_for(text, data.text, machine)
    return Native(interface, machine, made.llvm, made.optimised, made.assembly, made.object, data.size)


def make_native(program: Program, target: Target, cblas: bool = False) -> None:
    """Kernels in place of the calls of operators. Raises NoNativeForm."""
    taken = {step.kernel.name for step in program.steps if isinstance(step, KernelStep)}
    steps: list[Any] = []
    for step in program.steps:
        if isinstance(step, ExternStep):
            name = f"p{len(steps)}"
            while name in taken:
                name += "_"
            native = native_product(step, program.buffers, name, target, cblas)
            if native is None:
                raise NoNativeForm(step)
            steps.append(native)
        else:
            steps.append(step)
    program.steps = steps


class Functions:
    """The functions of a module. Those with one text are one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.functions: list[tuple[dict[str, str], str]] = []
        self._symbols: dict[str, str] = {}

    def of(self, program: Program, machine: Machine) -> tuple[dict[str, str], dict[int, str]]:
        """The symbols of kernels, by name, and of products, by position."""
        kernels: dict[str, str] = {}
        products: dict[int, str] = {}
        for position, step in enumerate(program.steps):
            if isinstance(step, KernelStep):
                declarations, text = emit_function(step.kernel, machine.target, _PLACEHOLDER)
                inner = text.replace("define i32", "define internal i32", 1)
                kernels[step.kernel.name] = self._add(declarations, inner)
            elif isinstance(step, ProductStep):
                products[position] = self._add(*step.emit(_PLACEHOLDER))
        return kernels, products

    def _add(self, declarations: dict[str, str], text: str) -> str:
        if text not in self._symbols:
            symbol = self._symbols[text] = f"{self.name}_k{len(self._symbols)}"
            self.functions.append((declarations, text.replace(f"@{_PLACEHOLDER}(", f"@{symbol}(", 1)))
        return self._symbols[text]


def interface_of(
    name: str,
    program: Program,
    layout: Layout,
    arguments: Sequence[tuple[str, str, str]],
    sizes: Sequence[Size],
) -> Interface:
    written = {
        layout.root(one)[0]
        for step in program.steps
        if isinstance(step, KernelStep)
        for one in step.written()
    }
    tensors = [
        _tensor(program.buffers[buffer], c_name, path, buffer in written)
        for buffer, c_name, path in arguments
    ]
    memories = [
        _tensor(program.buffers[buffer], f"out{place}", "", True)
        for place, buffer in enumerate(layout.memories)
    ]
    places = {buffer: place for place, (buffer, _, _) in enumerate(arguments)}
    results = [_result(program, layout, places, item) for item in program.outputs if isinstance(item, str)]
    checks = any(step.kernel.has_checks for step in program.kernel_steps)
    return Interface(name, tensors, list(sizes), memories, results, layout.workspace, checks)


def _tensor(info: BufferInfo, name: str, path: str, written: bool) -> Tensor:
    return Tensor(name, path, info.dtype, info.shape, info.strides, written)


def _result(program: Program, layout: Layout, places: dict[str, int], item: str) -> Result:
    root, start = layout.root(item)
    info = program.buffers[item]
    offset = floordiv(start, Const(info.dtype.itemsize))
    if root in places:
        return Result("argument", places[root], info.dtype, info.shape, info.strides, offset)
    memory = layout.memories.index(root)
    return Result("memory", memory, info.dtype, info.shape, info.strides, offset)


__all__: list[Any] = ["Native", "NoNativeForm", "native_code"]
