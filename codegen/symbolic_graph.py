"""One compilation for many sizes.

In:  a graph some of whose placeholders are ints, whose tensors' sizes and strides are expressions of them (`meta["example_value"]`), and inputs.
Out: `SymbolicGraph`: kernels that take sizes at run time; `plan(ints)` is a `_capture.PlanTemplate`, which gives a `CompiledGraph` for these ints, and for
     all others by which planning would go the same way.

    graph(s0, x[s0, 4]) -> x * 2     kernel k0(x, out; s0): for i in 4*s0     plan([7]).graph(9) -> the launch plan with s0 = 9

What tracing and lowering decided by the present sizes are conditions: where they do not hold, `plan` gives None, and the graph has to be compiled
for those sizes. `NotSymbolic` says why a graph has no such form: gradients, floats that depend on sizes, operators without symbolic sizes.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import _capture
import torch
from torch import fx

from codegen import compiled
from codegen.compiled import CompiledGraph
from codegen.fake import FakeMode, FakeTensor, fake_mode, to_fake
from codegen.joint_graph import check_outputs, check_sharing, concerns_autograd
from codegen.open_numbers import Recorder
from codegen.plan import LaunchPlan, PlanOptions, UnplannableError, build_plan
from codegen.program import KernelStep, Program
from codegen.trace import Symbolic, Trace, trace

if TYPE_CHECKING:
    from codegen.size_env import SizeEnv


class NotSymbolic(Exception):
    """The graph has to be compiled for each combination of its ints."""


@dataclass(slots=True)
class SymbolicGraph:
    """`symbols` are the names of the symbols that the int placeholders stand for, in order (None: one that follows from others, by the guards);
    `conditions` are sympy expressions over them."""

    program: Program
    kernels: list[Any]
    placeholders: list[str]
    symbols: list[str | None]
    conditions: list[Any]
    silent: frozenset[str]
    fallback: Any
    planned: tuple[CompiledGraph, ...] = ()  # the first plan: all share its workspace

    def plan(self, ints: Sequence[int]) -> _capture.PlanTemplate | None:
        """The launch plan for these values of the int placeholders; None where a condition does not hold for them."""
        recorder = Recorder(ints)
        numbers = dict(zip(self.symbols, recorder.inputs))
        sizes = {name: number for name, number in numbers.items() if name is not None}
        if not all(value_of(condition, sizes) for condition in self.conditions):
            return None
        options = PlanOptions(False, self.silent, dict(zip(self.placeholders, recorder.inputs)), sizes)
        addresses = {kernel.name: kernel.address for kernel in self.kernels}
        plan = build_plan(self.program, addresses, options)
        graph = compiled.planned(self.program, self.kernels, plan, self.fallback, *self.planned)
        self.planned = self.planned or (graph,)
        return plan_template(graph, recorder, plan)


def plan_template(graph: CompiledGraph, recorder: Recorder, plan: LaunchPlan) -> _capture.PlanTemplate:
    opened = plan.open_words, plan.open_objects
    rows, places = recorder.needed(number for found in opened for _, number in found)
    conditions = [
        (comparison, places[left], places[right]) for comparison, left, right in recorder.conditions
    ]
    words, objects = (
        packed([(place, places[number.position]) for place, number in found]) for found in opened
    )
    ninputs = len(recorder.inputs)
    return _capture.PlanTemplate(graph, ninputs, packed(rows), packed(conditions), words, objects)


def packed(rows: Iterable[tuple[int, ...]]) -> bytes:
    words = [word for row in rows for word in row]
    return struct.pack(f"{len(words)}q", *words)


#: by the name of a sympy class: what it says of the values of its arguments
SYMPY: dict[str, Any] = {
    "Add": lambda *terms: sum(terms), "Mul": lambda *factors: math.prod(factors), "FloorDiv": operator.floordiv, "CleanDiv": operator.floordiv,
    "Mod": operator.mod, "PythonMod": operator.mod, "Max": lambda *values: max(values), "Min": lambda *values: min(values),
    "StrictLessThan": operator.lt, "LessThan": operator.le, "StrictGreaterThan": operator.gt, "GreaterThan": operator.ge,
    "Equality": operator.eq, "Unequality": operator.ne, "Not": operator.not_, "And": lambda *parts: all(parts), "Or": lambda *parts: any(parts),
}  # fmt: skip


def value_of(expression: Any, sizes: Mapping[str, Any]) -> Any:
    """The value of a sympy expression over symbols with these values, which may be open numbers. Raises UnplannableError."""
    if expression.is_Symbol:
        return sizes[expression.name]
    if expression.is_Integer:
        return int(expression)
    if expression.is_Boolean and not expression.args:
        return bool(expression)
    if expression.is_Pow and expression.args[1].is_Integer and int(expression.args[1]) > 0:
        return math.prod([value_of(expression.args[0], sizes)] * int(expression.args[1]))
    function = SYMPY.get(type(expression).__name__)
    if function is None:
        raise UnplannableError(f"a condition over sizes without a form: {expression}")
    return function(*(value_of(argument, sizes) for argument in expression.args))


# --- compiling ----------------------------------------------------------------------------------------------------------------


def compile_symbolic(
    gm: fx.GraphModule, example_inputs: Sequence[Any], *, store: Any, fallback: Any
) -> SymbolicGraph:
    """Raises NotSymbolic, and what tracing raises."""
    nodes = [node for node in gm.graph.nodes if node.op == "placeholder"]
    examples = [node.meta.get("example_value") for node in nodes]
    mode, env = _symbolic_mode()
    own = _new_symbols(env, examples, example_inputs)
    symbols = dict(own.values())
    fakes = [
        _fake_input(mode, env, symbols, value, example) for value, example in zip(example_inputs, examples)
    ]
    with torch._C._EnablePythonDispatcher():
        traced = trace(gm, fakes, mode)
        graph = _finished(traced, example_inputs)
    program = compiled.lower(graph)
    steps = [step for step in program.steps if isinstance(step, KernelStep)]
    kernels: list[Any] = []
    if steps:
        from codegen.jit import compile_kernels

        kernels = compile_kernels([step.kernel for step in steps], store=store)
    ints = [i for i, value in enumerate(example_inputs) if type(value) is int]
    names = [own[i][1].name if i in own else None for i in ints]
    conditions = [guard.expr for guard in env.guards] + assumptions(graph, symbols.values())
    present = {name: example_inputs[i] for i, name in zip(ints, names) if name is not None}
    if not all(value_of(condition, present) for condition in conditions):
        raise NotSymbolic("the present sizes")
    placeholders = [nodes[i].name for i in ints]
    return SymbolicGraph(program, kernels, placeholders, names, conditions, traced.silent_inputs, fallback)


def _symbolic_mode() -> tuple[FakeMode, SizeEnv]:
    from codegen.size_env import new_size_env

    mode, env = fake_mode(), new_size_env()
    mode.shape_env = env
    mode.static_shapes = False
    return mode, env


def _new_symbols(env: SizeEnv, examples: Sequence[Any], values: Sequence[Any]) -> dict[int, tuple[Any, Any]]:
    """By the position of an int placeholder: its symbol, and the one of `env` in its place. Not of one that is an expression of others."""
    symbols: dict[int, tuple[Any, Any]] = {}
    for position, (example, value) in enumerate(zip(examples, values)):
        expression = example.node.expr if isinstance(example, torch.SymInt) else None
        if (
            expression is None
            or not expression.is_Symbol
            or any(expression is old for old, _ in symbols.values())
        ):
            continue
        if expression.is_positive:
            made = env.new_size(value, str(expression), duck=False)
        else:
            made = env.new_int(value, str(expression))
        if not isinstance(made, torch.SymInt):
            raise NotSymbolic(f"a size that is {made}")
        symbols[position] = expression, env.symbol_of(made)
    return symbols


def _fake_input(mode: FakeMode, env: SizeEnv, symbols: Mapping[Any, Any], value: Any, example: Any) -> Any:
    def translated(number: Any, hint: int) -> Any:
        if not isinstance(number, torch.SymInt):
            return number
        expression = number.node.expr.xreplace(symbols)
        if not expression.free_symbols <= set(symbols.values()):
            raise NotSymbolic(f"a size {number} that no placeholder gives")
        return env.wrap(expression, hint) if expression.free_symbols else int(expression)

    if not isinstance(value, torch.Tensor):
        return translated(example, value)
    if not isinstance(example, FakeTensor):
        raise NotSymbolic("a tensor placeholder without an example")
    if not example._has_symbolic_sizes_strides:
        return to_fake(mode, value)
    sizes = [translated(size, hint) for size, hint in zip(example.shape, value.shape)]
    strides = [translated(stride, hint) for stride, hint in zip(example.stride(), value.stride())]
    return to_fake(mode, value, (sizes, strides))


def _finished(traced: Trace, example_inputs: Sequence[Any]) -> fx.Graph:
    tensors = [value for value in traced.outputs if isinstance(value, torch.Tensor)]
    if traced.lifted or any(concerns_autograd(traced, value) for value in tensors):
        raise NotSymbolic("gradients, or tensors that the module holds")
    if traced.seen_writes:
        raise NotSymbolic("a write that autograd sees")
    check_outputs(traced)
    check_sharing(traced, example_inputs)
    with traced.recorder.mode:
        traced.copy_back()
        return traced.finish([traced.output_node(value) for value in traced.outputs])


# --- what lowering takes for granted -----------------------------------------------------------------------------------------------


def assumptions(graph: fx.Graph, symbols: Iterable[Any]) -> list[Any]:
    """Conditions under which index algebra is right: no symbol, dividend or position is negative, no divisor is zero, no stride is that of an empty dim."""
    import sympy  # type: ignore[import-untyped]

    expressions = {number.node.expr for node in graph.nodes for number in _numbers_of(node)}
    found: list[Any] = [symbol >= 0 for symbol in symbols]
    for expression in sorted(expressions, key=str):
        for part in sympy.preorder_traversal(expression):
            kind = type(part).__name__
            if kind in DIVISIONS:
                found += [part.args[0] >= 0, part.args[1] > 0]
            elif kind == "Max":
                found += [argument >= 1 for argument in part.args if not argument.is_Integer]
    positions = {
        n.node.expr
        for node in graph.nodes
        if not _is_pointwise(node.target)
        for n in _symbolic_in((node.args, node.kwargs))
    }
    found += [position >= 0 for position in sorted(positions, key=str)]
    return [condition for condition in dict.fromkeys(found) if condition != sympy.true]


DIVISIONS = ("FloorDiv", "CleanDiv", "Mod", "PythonMod")


def _is_pointwise(target: Any) -> bool:
    return torch.Tag.pointwise in getattr(target, "tags", ())


def _numbers_of(node: fx.Node) -> list[Any]:
    """The symbolic sizes, strides and arguments of a node."""
    values = node.meta.get("val")
    found = _symbolic_in((node.args, node.kwargs))
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, torch.Tensor):
            found += _symbolic_in((*value.shape, *value.stride()))
    return found


def _symbolic_in(value: Any) -> list[Any]:
    if isinstance(value, Symbolic):
        return _symbolic_in(value.value)
    if isinstance(value, torch.SymInt):
        return [value]
    if isinstance(value, Mapping):
        return _symbolic_in(tuple(value.values()))
    return [n for item in value for n in _symbolic_in(item)] if isinstance(value, (list, tuple)) else []
