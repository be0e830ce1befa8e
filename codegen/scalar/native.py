"""An fx graph over scalars, compiled.

In:  `torch.fx.GraphModule` whose inputs and results are numbers; an element type.
Out: `NativeScalar`: callable, with its LLVM text before and after optimisation, assembly and C pointer.

    compile_scalar(symbolic_trace(lambda x: x * x + 1), torch.float64)(3.0)   ->   10.0
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.fx

from codegen.kernel.errors import EmitError
from codegen.kernel.ops import IR_DTYPES
from codegen.launch import jit
from codegen.llvm.target import Target
from codegen.scalar.elsewhere import assembly
from codegen.scalar.emit import Scalar, ScalarFunction
from codegen.scalar.operators import OPERATORS, method

C_TYPES: dict[torch.dtype, Any] = {
    torch.float64: ctypes.c_double,
    torch.float32: ctypes.c_float,
    torch.int64: ctypes.c_int64,
    torch.int32: ctypes.c_int32,
}


class NativeScalar:
    """A native function of numbers. It takes positional and keyword arguments, as the traced function does.

    name: of the native function: "fused_" and the operations in their order.
    ir, optimized_ir: LLVM text, as emitted and after LLVM's passes.
    cfunc: a ctypes function pointer, valid as long as this object lives.
    """

    def __init__(self, name: str, text: str, signature: inspect.Signature, dtype: torch.dtype) -> None:
        self.name = name
        self.ir = text
        self.dtype = dtype
        self.signature = signature
        target = Target.host()
        self.optimized_ir = jit.optimised_text(text, target)
        self._code = jit.compile_text(self.optimized_ir, [name], target)
        kind = C_TYPES[dtype]
        self.cfunc = ctypes.CFUNCTYPE(kind, *[kind] * len(signature.parameters))(self._code.address(name))

    def __call__(self, *args: float, **kwargs: float) -> Any:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return self.cfunc(*map(self._converted, bound.arguments.items()))

    def _converted(self, item: tuple[str, Any]) -> float | int:
        name, value = item
        try:
            return float(value) if self.dtype.is_floating_point else _integer(value, self.dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self.name}: {name} must be a number of {self.dtype}: {error}") from None

    @property
    def asm(self) -> str:
        return self._code.asm

    def asm_for(self, triple: str) -> str:
        """The assembly for another machine: "aarch64-linux-gnu". ValueError: LLVM does not know it."""
        return assembly(self.optimized_ir, triple)

    def __repr__(self) -> str:
        return f"<native {self.name}{self.signature} of {self.dtype}>"


def _integer(value: Any, dtype: torch.dtype) -> int:
    found = value.__index__()
    limits = torch.iinfo(dtype)
    if not limits.min <= found <= limits.max:
        raise ValueError(f"{found} is out of range")
    return int(found)


def compile_scalar(module: torch.fx.GraphModule, dtype: torch.dtype) -> NativeScalar:
    """Compile `module`. Raises EmitError, which names the node and its line."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    names = [f"p{number}_{node.name}" for number, node in enumerate(inputs)]
    writer = _Writer(module, ScalarFunction(names, IR_DTYPES[dtype], Target.host()))
    result = writer.run(dict(zip(inputs, writer.function.parameters.values())))
    name = "_".join(["fused", *(writer.operations or ["identity"])])
    return NativeScalar(name, writer.function.text(name, result), _signature(inputs), dtype)


def _signature(inputs: list[torch.fx.Node]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(str(node.target), kind, default=node.args[0] if node.args else inspect._empty)
            for node in inputs
        ]
    )


class _Writer:
    """The walk over a graph. `operations` are the names of those that the result needs."""

    def __init__(self, module: torch.fx.GraphModule, function: ScalarFunction) -> None:
        self.module = module
        self.function = function
        self.operations: list[str] = []
        self.values: dict[torch.fx.Node, Scalar] = {}

    def run(self, inputs: Mapping[torch.fx.Node, Scalar]) -> Scalar:
        self.values.update(inputs)
        needed = _needed(self.module.graph)
        for node in self.module.graph.nodes:
            if node.op == "output":
                return self._result(node)
            if node.op != "placeholder":
                self.values[node] = _STEPS[node.op](self, node)
                if node in needed and node.op.startswith("call"):
                    self.operations.append(_short_name(node))
        raise EmitError("the graph has no output")

    def _result(self, node: torch.fx.Node) -> Scalar:
        (result,) = node.args
        if isinstance(result, tuple | list) and len(result) == 1:
            result = result[0]
        if isinstance(result, tuple | list | dict) or result is None:
            raise EmitError(f"a scalar function returns one number, not {result!r}")
        return self._operand(node, result)

    def _operand(self, node: torch.fx.Node, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return self.values[value]
        if isinstance(value, int | float):
            return self.function.number(value)
        if value is None or isinstance(value, str):
            return value
        raise EmitError(f"{value!r} is no number{_place(node)}")

    def _call(self, node: torch.fx.Node) -> Scalar:
        rule = OPERATORS.get(node.target) if node.op == "call_function" else method(str(node.target))
        if rule is None:
            raise EmitError(f"{_full_name(node)} has no native form on scalars{_place(node)}")
        args = [self._operand(node, value) for value in node.args]
        kwargs = {name: self._operand(node, value) for name, value in node.kwargs.items()}
        try:
            return rule(self.function, *args, **kwargs)
        except (EmitError, TypeError) as error:
            raise EmitError(f"{_full_name(node)}: {error}{_place(node)}") from None

    def _attribute(self, node: torch.fx.Node) -> Scalar:
        value: Any = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        return self._operand(node, value)

    def _module(self, node: torch.fx.Node) -> Scalar:
        kind = type(self.module.get_submodule(str(node.target))).__name__
        raise EmitError(f"the module {node.target} ({kind}) is no function of scalars{_place(node)}")


_STEPS: dict[str, Callable[[_Writer, torch.fx.Node], Scalar]] = {
    "call_function": _Writer._call,
    "call_method": _Writer._call,
    "call_module": _Writer._module,
    "get_attr": _Writer._attribute,
}


def _needed(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The nodes that the output depends on."""
    found: set[torch.fx.Node] = set()
    waiting = [node for node in graph.nodes if node.op == "output"]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(node.all_input_nodes)
    return found


def _short_name(node: torch.fx.Node) -> str:
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "call")
    return str(name).strip("_")


def _full_name(node: torch.fx.Node) -> str:
    if isinstance(node.target, str):
        return f"the method {node.target}"
    module = getattr(node.target, "__module__", None)
    return f"{module}.{_short_name(node)}" if module else _short_name(node)


def _place(node: torch.fx.Node) -> str:
    """Where the program makes the call, if the trace has kept it."""
    line = node.meta.get("line")
    return f" (node {node.name}, {line})" if line else f" (node {node.name})"
