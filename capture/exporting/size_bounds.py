"""What the code of an exported function assumes of the sizes that the caller chooses.

In:  a captured graph with symbols for sizes; the conditions under which capture and lowering were right.
Out: `OpenGraph`: inputs with symbols for the trace; behind the lowering the `Size`s with their bounds.

    x: [s0, 4]; guards s0 < 100, s0 >= 3    ->   Size("batch", argument 0, dim 0, 3 to 99)

Every condition has to hold for all sizes within the bounds. A bound that the program asks for (`x[3:]`,
`if len(x) < 100`) is taken over; any other condition is an ExportError with its line.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
import torch.fx
from torch.utils._sympy.solve import try_solve
from torch.utils._sympy.value_ranges import ValueRanges

from capture.exporting.open_sizes import OpenDim
from capture.exporting.whole_graph import WholeGraph, place_of
from capture.report.errors import ExportError
from capture_records import dataclass
from codegen.dynamic.symbolic_graph import OpenInputs, assumptions, value_of
from codegen.export.interface import Size
from codegen.fake.fake import FakeMode
from codegen.fake.size_env import new_size_env
from codegen.kernel.errors import UnplannableError

#: sizes that are tried where intervals do not decide a condition
MOST_TRIED = 10_000


@dataclass(slots=True)
class Bounds:
    """From `least` to `most`, both inclusive; `dims`: where the size is read."""

    least: int
    most: int
    dims: list[OpenDim]


class OpenGraph:
    """The sizes of a graph. `fakes`: its inputs for the trace; `names`: symbol of the trace -> name."""

    def __init__(self, whole: WholeGraph, mode: FakeMode) -> None:
        self.function = whole.name
        opened = OpenInputs(whole.module, whole.inputs, mode)
        self.fakes, self.env = opened.fakes, opened.env
        self.bounds: dict[Any, Bounds] = {}  # by the symbol of the name
        self._conditions: list[tuple[Any, str]] = []  # condition, line
        self._by_symbol: dict[Any, Any] = {}  # symbol of the capture or of the trace -> that of its name
        for dim in whole.open_dims:
            raw, current = _symbols_at(whole, dim)
            named = sympy.Symbol(dim.name, integer=True, positive=True)
            self.bounds.setdefault(named, Bounds(dim.least, dim.most, [])).dims.append(dim)
            for symbol in (raw, current, opened.symbols[current]):
                if self._by_symbol.setdefault(symbol, named) is not named:
                    raise ExportError(
                        f"{whole.name} takes {dim.name} and {self._by_symbol[symbol]} as equal sizes: give "
                        "them one name"
                    )
        computed = opened.symbols.keys() - self._by_symbol.keys()
        if computed:
            line = _line_of_reader(whole, computed)
            raise ExportError(
                f"{whole.name} computes a number from its sizes{line}: exported code computes only sums, "
                "products and quotients. Pass it as a tensor, or leave the sizes fixed"
            )
        self.names = {str(new): str(self._by_symbol[old]) for old, new in opened.symbols.items()}
        self._symbols = list(opened.symbols.values())
        for guard in _guards(whole):
            self._conditions.append((guard.expr, _line(guard)))

    def close(self, graph: torch.fx.Graph) -> None:
        """Behind the lowering: takes what trace and lowering have assumed. Raises ExportError."""
        self._conditions += [(guard.expr, "") for guard in self.env.guards]
        self._conditions += [(condition, "") for condition in assumptions(graph, self._symbols)]
        conditions = [(found.xreplace(self._by_symbol), line) for found, line in self._conditions]
        for condition, _ in conditions:
            self._narrow(condition)
        for condition, line in conditions:
            if not self._holds(condition):
                raise ExportError(
                    f"{self.function} is right only for sizes with {condition}{line}: give bounds under "
                    'which that holds ({0: ("name", least, most)}), or leave the sizes fixed'
                )

    def sizes(self, arguments: Sequence[int]) -> list[Size]:
        """`arguments`: for each of the C function, its position among the program's."""
        return [
            Size(str(named), arguments.index(dim.argument), dim.dim, found.least, found.most)
            for named, found in self.bounds.items()
            for dim in found.dims[:1]
        ]

    def _holds(self, condition: Any) -> bool:
        """Whether the condition holds for all sizes within the bounds."""
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        if not condition.free_symbols <= self.bounds.keys():
            return False
        symbols = sorted(condition.free_symbols, key=str)
        ranges = tuple((one, ValueRanges(self.bounds[one].least, self.bounds[one].most)) for one in symbols)
        known = new_size_env()._maybe_evaluate_static(condition, axioms=(), var_to_range=ranges)
        if known is not None or len(symbols) > 1:
            return known is not None and bool(known)
        bounds = self.bounds[symbols[0]]
        tried = range(bounds.least, bounds.most + 1)
        return len(tried) <= MOST_TRIED and all(
            _holds_for(condition, str(symbols[0]), size) for size in tried
        )

    def _narrow(self, condition: Any) -> None:
        """Takes over a condition that is a bound of one size."""
        symbols = condition.free_symbols
        if len(symbols) != 1 or not symbols <= self.bounds.keys() or self._holds(condition):
            return
        (symbol,) = symbols
        solved = try_solve(condition, symbol)
        if solved is None or not solved[1].is_Rational:
            return
        bounds, number = self.bounds[symbol], solved[1]
        least, most = _bounds_of(type(solved[0]).__name__, number, bounds)
        bounds.least, bounds.most = max(bounds.least, least), min(bounds.most, most)
        if bounds.least > bounds.most:
            raise ExportError(f"{self.function}: no size {symbol} is within its bounds and has {condition}")


def _holds_for(condition: Any, name: str, size: int) -> bool:
    try:
        return bool(value_of(condition, {name: size}))
    except UnplannableError:  # a form without a value
        return False


def _bounds_of(kind: str, number: Any, bounds: Bounds) -> tuple[int, int]:
    """The bounds of a size that has this relation to the number."""
    least, most = bounds.least, bounds.most
    if kind == "Unequality":  # a bound at the ends alone
        return least + int(number == least), most - int(number == most)
    lower = {"GreaterThan": number.ceiling(), "StrictGreaterThan": number.floor() + 1}
    upper = {"LessThan": number.floor(), "StrictLessThan": number.ceiling() - 1}
    return int(lower.get(kind, least)), int(upper.get(kind, most))


def _symbols_at(whole: WholeGraph, dim: OpenDim) -> tuple[Any, Any]:
    """The symbol of a dim in the captured graph: as it was made, and what the program took it for."""
    size = None
    for node, value in zip(_placeholders(whole), whole.inputs, strict=True):
        if value is whole.arguments[dim.argument][1]:
            size = node.meta["example_value"].shape[dim.dim]
    if size is None:
        raise ExportError(f"{whole.name} calls no operator with {dim.path}: its sizes can't be left open")
    if not isinstance(size, torch.SymInt) or not size.node.expr.is_Symbol:
        found = size if isinstance(size, int) else size.node.expr
        raise ExportError(f"{whole.name} fixes {dim}, which is to be {dim.name}: {found}{_why(whole, size)}")
    return size.node._expr, size.node.expr


def _why(whole: WholeGraph, size: Any) -> str:
    """The line that has fixed a size."""
    if not isinstance(size, torch.SymInt):
        return ""
    symbol = size.node._expr
    return next((_line(g) for g in _guards(whole) if symbol in g.expr.free_symbols), "")


def _placeholders(whole: WholeGraph) -> list[torch.fx.Node]:
    return [node for node in whole.module.graph.nodes if node.op == "placeholder"]


def _guards(whole: WholeGraph) -> list[Any]:
    """The conditions on sizes that the capture has found."""
    examples = [node.meta["example_value"] for node in _placeholders(whole)]
    symbol = next((example for example in examples if isinstance(example, torch.SymInt)), None)
    return [] if symbol is None else symbol.node.shape_env.guards


def _line_of_reader(whole: WholeGraph, symbols: Collection[Any]) -> str:
    """The line of the program that reads one of these numbers."""
    for node in _placeholders(whole):
        example = node.meta["example_value"]
        if isinstance(example, torch.SymInt) and example.node.expr in symbols and node.users:
            return place_of(next(iter(node.users)))
    return ""


def _line(guard: Any) -> str:
    """The line of the program that asked."""
    lines = guard.sloc.maybe_user_loc
    return f" ({lines[-1].filename}:{lines[-1].lineno})" if lines else ""
