"""One compilation for many sizes.

In:  a graph some of whose placeholders are ints, and inputs. Sizes and strides of its tensors are expressions
     of these ints (`meta["example_value"]`).
Out: `SymbolicGraph`: its kernels take sizes at run time. `plan(ints)` is a `_capture.PlanTemplate`; it makes
     a `CompiledGraph` for these ints, and for all others for which planning takes the same decisions.

    graph(s0, x[s0, 4]) -> x * 2     kernel k0(x, out; s0): for i in 4*s0
    plan([7]).graph(9)               the launch plan with s0 = 9

Decisions that tracing and lowering took by the present sizes become conditions. Where a condition does not
hold, `plan` returns None, and the graph has to be compiled for those sizes. `NotSymbolic` says why a graph
has no such form: floats that depend on sizes, operators without symbolic sizes. A graph with a backward
becomes two such graphs: `codegen.dynamic.symbolic_training`.
"""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import _capture
import torch
from torch import fx

from capture_records import dataclass
from codegen.convolutions.channels_last import lay_out_for_all_sizes
from codegen.fake.fake import FakeMode, FakeTensor
from codegen.fake.size_env import new_size_env
from codegen.fake.symbolic import use_sizes
from codegen.fake.twins import make_fake, to_fake
from codegen.kernel.errors import NotSymbolic, UnplannableError
from codegen.kernel.open_numbers import NumberRecorder
from codegen.kernel.program import Program
from codegen.kernel.size_functions import FUNCTIONS
from codegen.kernel.watching import unwatched
from codegen.launch import assembly
from codegen.launch.compiled import CompiledGraph
from codegen.launch.kernel_versions import KernelVersion, KernelVersions
from codegen.launch.plan import LaunchPlan, PlanOptions, build_plan
from codegen.trace.nodes import Symbolic

if TYPE_CHECKING:
    from codegen.fake.size_env import SizeEnv

log = logging.getLogger("capture.codegen")


@dataclass(slots=True)
class SymbolicGraph:
    """A graph compiled for all sizes.

    `symbols` are the names of the symbols that the int placeholders stand for, in order (None: by the guards,
    the int follows from others). `conditions` are sympy expressions over them.
    """

    versions: KernelVersions
    placeholders: list[str]
    symbols: list[str | None]
    conditions: list[Any]
    changes: Mapping[str, int] = field(default_factory=dict)
    fallback: Any = None
    conform: bool = False  # as in `plan.PlanOptions`
    views: bytes | None = None  # what the outputs are in eager
    logged: list[KernelVersion] = field(default_factory=list)  # versions whose code has been logged
    planned: tuple[CompiledGraph, ...] = ()  # the first plan; all plans share its workspace

    @property
    def kernels(self) -> list[Any]:
        """The kernels for all sizes."""
        return self.versions.general.kernels

    def graph_for(self, key: Sequence[int], add_template: Any) -> Any:
        """The graph for these ints; None where it has to be compiled for them.

        `add_template` gets the template, and native code fills new ints into it.
        """
        template = self.plan(key)
        if template is None:
            return None
        add_template(template)
        return template.graph(*key)

    @unwatched()
    def plan(self, ints: Sequence[int]) -> _capture.PlanTemplate | None:
        """The launch plan for these values of the int placeholders.

        None where a condition does not hold for them, or where planning needs a number that has no symbolic
        form.
        """
        try:
            return self._planned(NumberRecorder(ints))
        except UnplannableError as reason:
            log.info("the graph for all sizes has no plan for %s: %s", tuple(ints), reason)
            return None
        except Exception:
            if assembly.strict:
                raise
            log.warning("the graph has no kernels for %s: compiling them failed", tuple(ints), exc_info=True)
            return None

    def _planned(self, recorder: NumberRecorder) -> _capture.PlanTemplate | None:
        numbers = dict(zip(self.symbols, recorder.inputs))
        sizes = {name: number for name, number in numbers.items() if name is not None}
        broken = next((found for found in self.conditions if not value_of(found, sizes)), None)
        if broken is not None:
            log.info(
                "the graph for all sizes assumes %s, which does not hold for %s", broken, recorder.values
            )
            return None
        options = PlanOptions(
            self.conform, self.changes, dict(zip(self.placeholders, recorder.inputs)), sizes
        )
        version = self.versions.version(sizes)
        addresses = {kernel.name: kernel.address for kernel in version.kernels}
        plan = build_plan(version.program, addresses, options)
        graph = assembly.planned(version.program, version.kernels, plan, self.fallback, *self.planned)
        graph.views = self.views
        if version not in self.logged:
            self.logged.append(version)
            assembly.write_logs(graph)
        if not self.planned:
            self.planned = (graph,)
        return plan_template(graph, recorder, plan)


def plan_template(graph: CompiledGraph, recorder: NumberRecorder, plan: LaunchPlan) -> _capture.PlanTemplate:
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


def value_of(expression: Any, sizes: Mapping[str, Any]) -> Any:
    """The value of a sympy expression over symbols with these values, which may be open numbers.

    Raises UnplannableError.
    """
    if expression.is_Symbol:
        return sizes[expression.name]
    if expression.is_Integer:
        return int(expression)
    if expression.is_Boolean and not expression.args:
        return bool(expression)
    if expression.is_Pow and expression.args[1].is_Integer and int(expression.args[1]) > 0:
        return math.prod([value_of(expression.args[0], sizes)] * int(expression.args[1]))
    function = FUNCTIONS.get(type(expression).__name__)
    if function is None:
        raise UnplannableError(f"a condition over sizes that has no form: {expression}")
    return function(*(value_of(argument, sizes) for argument in expression.args))


# --- compiling --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Closed:
    """A graph to be compiled; `placeholders` are the names of its ints."""

    graph: fx.Graph
    placeholders: list[str]
    conform: bool = False


class OpenInputs:
    """The placeholders as fake tensors of `mode` and symbols of its environment, for these values.

    `names`: the name of the symbol of each int (None: the int follows from others).
    """

    def __init__(self, gm: fx.GraphModule, values: Sequence[Any], mode: FakeMode) -> None:
        nodes = [node for node in gm.graph.nodes if node.op == "placeholder"]
        examples = [node.meta.get("example_value") for node in nodes]
        self.mode, self.env = mode, new_size_env()
        use_sizes(mode, self.env)
        own = _new_symbols(self.env, examples, values)
        self.symbols: dict[Any, Any] = dict(own.values())
        self.hints = {old.name: values[i] for i, (old, _) in own.items()}
        ints = [i for i, value in enumerate(values) if type(value) is int]
        self.placeholders = [nodes[i].name for i in ints]
        self.names = [own[i][1].name if i in own else None for i in ints]
        self.present = {name: values[i] for i, name in zip(ints, self.names) if name is not None}
        self.fakes = [self._fake(value, example) for value, example in zip(values, examples)]

    def _fake(self, value: Any, example: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return self._translated(example)
        if not isinstance(example, FakeTensor):
            raise NotSymbolic("a tensor placeholder without an example")
        known = isinstance(value, FakeTensor)  # of another mode: only its layout is needed
        if not example._has_symbolic_sizes_strides:
            return make_fake(self.mode, value) if known else to_fake(self.mode, value)
        layout = tuple(map(self._translated, example.shape)), tuple(map(self._translated, example.stride()))
        return make_fake(self.mode, value, layout) if known else to_fake(self.mode, value, layout)

    def _translated(self, number: Any) -> Any:
        if not isinstance(number, torch.SymInt):
            return number
        expression = number.node.expr.xreplace(self.symbols)
        if not expression.free_symbols <= set(self.symbols.values()):
            raise NotSymbolic(f"a size {number} that follows from no placeholder")
        if not expression.free_symbols:
            return int(expression)
        return self.env.wrap(expression, value_of(number.node.expr, self.hints))

    def graphs(self, closed: Sequence[Closed], store: Any) -> list[SymbolicGraph]:
        """Compiles graphs that were traced on these inputs.

        All have the conditions of all, because they run one after the other.
        """
        with self.mode:
            lay_out_for_all_sizes([item.graph for item in closed])
        programs = [assembly.lower(item.graph) for item in closed]
        conditions = [guard.expr for guard in self.env.guards]
        for item in closed:
            conditions += assumptions(item.graph, self.symbols.values())
        if not all(value_of(condition, self.present) for condition in conditions):
            raise NotSymbolic("a condition that the present sizes break")
        return [
            SymbolicGraph(
                self._versions(program, store),
                item.placeholders,
                self.names,
                conditions,
                conform=item.conform,
            )
            for item, program in zip(closed, programs)
        ]

    def _versions(self, program: Program, store: Any) -> KernelVersions:
        """Compiles the kernels for the present sizes, too: the compiler may refuse them."""
        versions = KernelVersions(program, store)
        versions.version(self.present)
        return versions


def _new_symbols(env: SizeEnv, examples: Sequence[Any], values: Sequence[Any]) -> dict[int, tuple[Any, Any]]:
    """Position of an int placeholder -> its symbol, and the symbol of `env` in its place.

    Placeholders that are expressions of others have none.
    """
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


# --- what lowering assumes --------------------------------------------------------------------------------


def assumptions(graph: fx.Graph, symbols: Iterable[Any]) -> list[Any]:
    """The conditions under which index algebra is right.

    No size, dividend or position is negative; no divisor is zero; no stride belongs to an empty dim.
    """
    import sympy  # type: ignore[import-untyped]  # lazy: imports sympy

    places = _expressions(graph, _places_of)
    expressions = places | _expressions(graph, _numbers_of)
    within = set().union(*(place.free_symbols for place in places))
    found: list[Any] = [symbol >= 0 for symbol in symbols if symbol in within]
    for expression in sorted(expressions, key=str):
        for part in sympy.preorder_traversal(expression):
            kind = type(part).__name__
            if kind in DIVISIONS:
                found += [part.args[0] >= 0, part.args[1] > 0]
            elif kind == "Max":
                found += [argument >= 1 for argument in part.args if not argument.is_Integer]
    positions = _expressions(graph, _positions_of)
    found += [position >= 0 for position in sorted(positions, key=str)]
    return [condition for condition in dict.fromkeys(found) if condition != sympy.true]


DIVISIONS = ("FloorDiv", "CleanDiv", "Mod", "PythonMod")
aten = torch.ops.aten
#: operators some of whose numbers are no positions -> the arguments that may be some
PLACES_AMONG: dict[Any, Callable[..., Any]] = {
    aten.full.default: lambda size, *_: size,
    aten.tril.default: lambda *_: (),
    aten.triu.default: lambda *_: (),
    aten.arange.start: lambda *_: (),
    aten.arange.start_step: lambda *_: (),
    aten.roll.default: lambda *_: (),
    aten.constant_pad_nd.default: lambda _, pads, *value: pads[::2],  # the ends are in the size of the result
}


def _expressions(graph: fx.Graph, numbers_of: Callable[[fx.Node], list[Any]]) -> set[Any]:
    return {number.node.expr for node in graph.nodes for number in numbers_of(node)}


def _positions_of(node: fx.Node) -> list[Any]:
    """The symbolic arguments that may be positions."""
    if torch.Tag.pointwise in getattr(node.target, "tags", ()):
        return []
    among = PLACES_AMONG.get(node.target)
    return _symbolic_in((node.args if among is None else among(*node.args), node.kwargs))


def _places_of(node: fx.Node) -> list[Any]:
    """The symbolic sizes and strides of a node, and its positions."""
    found = _positions_of(node)
    values = node.meta.get("val")
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, torch.Tensor):
            found += _symbolic_in((*value.shape, *value.stride()))
    return found


def _numbers_of(node: fx.Node) -> list[Any]:
    """The symbolic arguments of a node."""
    return _symbolic_in((node.args, node.kwargs))


def _symbolic_in(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [n for item in value for n in _symbolic_in(item)]
    if isinstance(value, torch.SymInt):
        return [value]
    if isinstance(value, Symbolic):
        return _symbolic_in(value.value)
    return _symbolic_in(tuple(value.values())) if isinstance(value, dict) else []
