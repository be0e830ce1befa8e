"""One compilation for many sizes.

In:  a graph some of whose placeholders are ints, whose tensors' sizes and strides are expressions of them (`meta["example_value"]`), and inputs.
Out: `SymbolicGraph`: kernels that take sizes at run time; `for_sizes(ints)` is a `CompiledGraph` for these ints, made without compiling anything.

    graph(s0, x[s0, 4]) -> x * 2     kernel k0(x, out; s0): for i in 4*s0     for_sizes([7]) -> the launch plan with s0 = 7

What tracing and lowering decided by the present sizes are conditions: where they do not hold, `for_sizes` gives None, and the graph has to be compiled
for those sizes. `NotSymbolic` says why a graph has no such form: gradients, floats that depend on sizes, operators without symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from codegen import compiled
from codegen.compiled import CompiledGraph
from codegen.fake import FakeMode, FakeTensor, fake_mode, to_fake
from codegen.joint_graph import concerns_autograd
from codegen.plan import PlanOptions, build_plan
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

    def for_sizes(self, ints: Sequence[int]) -> CompiledGraph | None:
        """The graph for these values of the int placeholders; None where a condition does not hold for them."""
        sizes = {symbol: value for symbol, value in zip(self.symbols, ints) if symbol is not None}
        if not all(map(_holds_for(sizes), self.conditions)):
            return None
        options = PlanOptions(False, self.silent, dict(zip(self.placeholders, ints)), sizes)
        addresses = {kernel.name: kernel.address for kernel in self.kernels}
        plan = build_plan(self.program, addresses, options)
        graph = compiled.planned(self.program, self.kernels, plan, self.fallback, *self.planned)
        self.planned = self.planned or (graph,)
        return graph


def _holds_for(sizes: Mapping[str, int]) -> Any:
    def holds(condition: Any) -> bool:
        values = {symbol: sizes[symbol.name] for symbol in condition.free_symbols}
        return bool(condition.subs(values)) if values else bool(condition)

    return holds


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
        graph = _finished(traced)
    program = compiled.lower(graph)
    steps = [step for step in program.steps if isinstance(step, KernelStep)]
    kernels: list[Any] = []
    if steps:
        from codegen.jit import compile_kernels

        kernels = compile_kernels([step.kernel for step in steps], store=store)
    ints = [i for i, value in enumerate(example_inputs) if type(value) is int]
    names = [own[i][1].name if i in own else None for i in ints]
    conditions = [guard.expr for guard in env.guards] + assumptions(graph, symbols.values())
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


def _finished(traced: Trace) -> fx.Graph:
    tensors = [value for value in traced.outputs if isinstance(value, torch.Tensor)]
    if traced.lifted or any(concerns_autograd(traced, value) for value in tensors):
        raise NotSymbolic("gradients, or tensors that the module holds")
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
