"""From an ATen graph to definitions, requests to store them, and calls of operators without lowering.

In:  `torch.fx.Graph` of functional ATen overloads with `node.meta["val"]`.
Out: a `Lowering`: a Program with its extern and view steps, and `stores`: which definition goes to which
     buffer. The passes make kernels of the stores (`codegen.passes.pipeline`).

    relu(x @ w)
    ->  ExternStep(aten.mm.default, (x, w) -> mm);  store Map("max", (Stored("mm"), Fill(0.0))) to `relu`
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

from codegen.kernel import index_algebra as ix
from codegen.kernel.index_algebra import Index, Ranges
from codegen.kernel.index_notation import from_size, to_expr
from codegen.kernel.ir import DTYPES
from codegen.kernel.ops import IR_DTYPES, TORCH_DTYPES
from codegen.kernel.program import BufferInfo, ExternStep, Program, Ref, ViewStep, root_memory
from codegen.lower.alike_parts import NO_PARTS, alike_parts
from codegen.lower.attention import without_repeats
from codegen.lower.nodes import (
    all_known,
    as_expr,
    as_scalar,
    is_known,
    is_result_with_offset,
    is_view,
    is_view_of_input,
    outside,
    owner_of,
    parts_of,
    sizes_of,
    strides_of,
    unused_results,
)
from codegen.lower.ordered_writes import (
    NO_WISHES,
    MemoryVersion,
    OrderedWrites,
    OrderWanted,
    Wishes,
    refuse_output,
    write_in_order,
)
from codegen.lower.registry import LOWERINGS
from codegen.lower.sums_of_parts import SumsOfParts, lower_sum, sums_of_parts
from codegen.lower.tensor_expr import Assignment, Shape, Stored, TensorExpr, View

MAX_DEPTH = 150  # deeper definitions are stored: the passes recurse over definitions


class Lowering:
    """The state of the lowering of one graph; a lowering function gets it as `ctx`."""

    def __init__(self, ordered: OrderedWrites | None = None, wishes: Wishes = NO_WISHES) -> None:
        self.program = Program()
        self.ordered = ordered or OrderedWrites()
        self.wishes = wishes
        self.versions: dict[str, MemoryVersion] = {}
        self.latest: dict[str, Stored] = {}  # by input: its current contents
        self.steps: list[ExternStep | ViewStep] = []
        self.stores: list[Assignment] = []
        self.realized: dict[TensorExpr, Stored] = {}
        self.layouts: dict[TensorExpr, tuple[Index, ...]] = {}
        self.values: dict[fx.Node, Any] = {}
        # Results that have their own memory in eager, though they may be views here.
        self.fresh: set[TensorExpr] = set()
        self.outputs: dict[fx.Node, Any] = {}
        self.val: Any = None
        self.name = ""
        self.users: list[fx.Node] = []  # of the current node
        self.parts = SumsOfParts()
        self.alike = NO_PARTS

    # --- for lowering functions

    @property
    def shape(self) -> Shape:
        """The shape of the current node's result."""
        return sizes_of(self.val)

    def operand_sizes(self) -> torch.Size:
        """The sizes of the current node's first operand, as torch has them.

        A comparison of a symbolic size makes a condition.
        """
        shape: torch.Size = self.operands[0].meta["val"].shape
        return shape

    @property
    def dtype(self) -> str:
        """The element type of the current node's result."""
        return IR_DTYPES[self.val.dtype]

    def new_buffer(
        self, hint: str, kind: str, dtype: torch.dtype, shape: Shape, strides: tuple[Index, ...]
    ) -> Stored:
        """A new buffer of this layout, and the definition that reads it."""
        name = self.unique(hint)
        exprs = tuple(map(to_expr, shape)), tuple(map(to_expr, strides))
        self.program.buffers[name] = BufferInfo(name, kind, dtype, *exprs, to_expr(0))
        return Stored(shape, IR_DTYPES[dtype], name, strides)

    def constant(self, value: torch.Tensor, hint: str) -> Stored:
        """A tensor that the graph holds."""
        stored = self._opaque(hint, "constant", value)
        self.program.buffers[stored.buffer].value = value
        return stored

    def realize(self, value: TensorExpr, hint: str = "") -> Stored:
        """Stores `value`, in the layout that eager gives it."""
        if isinstance(value, Stored):
            return value
        found = self.realized.get(value)
        if found is None:
            strides = self.layouts.get(value) or ix.row_major(value.shape)
            found = self.new_buffer(
                hint or self.name, "temp", TORCH_DTYPES[value.dtype], value.shape, strides
            )
            self.realized[value] = found
            self.store(value, found)
        return found

    def store(self, value: TensorExpr, target: Stored) -> None:
        self.stores.append(Assignment(value, target))

    def want_order(self, name: str) -> None:
        """Lowers the graph again if that can help: then the writes to this input are steps in order."""
        if name in self.ordered.possible:
            raise OrderWanted(name)

    # --- the walk over the graph

    def run(self, graph: fx.Graph) -> None:
        self.parts = sums_of_parts(graph)
        if self.wishes.twins and not self.ordered.versions:
            self.alike = alike_parts(graph, self.parts)
        for node in graph.nodes:
            if node in self.parts.skipped or node in self.alike.skipped:
                continue
            self.name, self.val, self.users = node.name, node.meta.get("val"), list(node.users)
            self.operands = node.all_input_nodes
            _NODE_KINDS[node.op](self, node)

    def _placeholder(self, node: fx.Node) -> None:
        self.program.inputs.append(node.name)
        if not isinstance(self.val, torch.Tensor):
            self.values[node] = as_scalar(self.val)
        elif is_known(self.val):
            shape, strides = sizes_of(self.val), strides_of(self.val)
            stored = self.new_buffer(node.name, "input", self.val.dtype, shape, strides)
            self.values[node] = self.latest[node.name] = stored
        else:
            self.values[node] = self._opaque(node.name, "input", self.val)

    def _get_attr(self, node: fx.Node) -> None:
        value = node.graph.owning_module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"graph attribute {node.target!r} is a {type(value).__name__}, expected a tensor")
        self.values[node] = self.constant(value, node.name)

    def _call(self, node: fx.Node) -> None:
        if node.target is operator.getitem:
            base, index = node.args
            found = self.values[base][index]  # type: ignore[index]
            ordered = node in self.ordered.versions
            self.values[node] = write_in_order(self, node, found) if ordered else found
            return
        if not isinstance(self.val, (torch.Tensor, tuple, list)) and self.val is not None:
            self._scalar_call(node)
            return
        result = self._lowered(node)
        if node in self.ordered.versions:
            result = write_in_order(self, node, result)
        elif result is NotImplemented:
            result = self._extern(node)
        self.values[node] = self._remember(result, self.val)
        if not is_view(node.target):
            self.fresh.update(part for part in parts_of(self.values[node]) if isinstance(part, View))

    def _lowered(self, node: fx.Node) -> Any:
        if node in self.parts.sums:
            return lower_sum(self, self.parts.sums[node])
        function = LOWERINGS.get(node.target)
        if function is None or not all_known(node) or is_result_with_offset(node):
            return NotImplemented
        args, kwargs = fx.node.map_aggregate((node.args, node.kwargs), self.argument)
        return function(self, *args, **kwargs)

    def argument(self, value: Any) -> Any:
        """A node's value, or a size as an index; anything else as it is."""
        return self.values[value] if isinstance(value, fx.Node) else as_scalar(value)

    def _scalar_call(self, node: fx.Node) -> None:
        """Arithmetic of sizes comes out of the shapes; a number read from a tensor is an extern result."""
        if isinstance(self.val, (torch.SymInt, int)) and not isinstance(self.val, bool):
            self.values[node] = from_size(self.val)
        else:
            self.values[node] = self._extern(node)

    def _remember(self, result: Any, val: Any) -> Any:
        """Notes eager's strides; stores the result if it is nested too deep."""
        if isinstance(result, (tuple, list)):
            return tuple(self._remember(item, meta) for item, meta in zip(result, val, strict=True))
        if isinstance(result, TensorExpr) and isinstance(val, torch.Tensor):
            self.layouts.setdefault(result, strides_of(val))
            if result.depth > MAX_DEPTH and not isinstance(result, Stored):
                result = self.realize(result)
        return result

    # --- calls of operators

    def _opaque(self, hint: str, kind: str, val: torch.Tensor) -> Stored:
        """A buffer for a tensor that kernels may not be able to read (complex, sparse).

        If they are not, only extern steps use it.
        """
        strided = val.layout == torch.strided
        shape = sizes_of(val)
        name = self.unique(hint)
        strides = strides_of(val) if strided else ix.row_major(shape)
        exprs = tuple(map(to_expr, shape)), tuple(map(to_expr, strides))
        self.program.buffers[name] = BufferInfo(name, kind, val.dtype, *exprs, to_expr(0))
        return Stored(shape, IR_DTYPES.get(val.dtype, str(val.dtype)), name, strides)

    def _extern(self, node: fx.Node) -> Any:
        args = fx.node.map_aggregate(without_repeats(node), self._extern_argument)
        kwargs = fx.node.map_aggregate(node.kwargs, self._extern_argument)
        results = self.val if isinstance(self.val, (tuple, list)) else (self.val,)
        unused = unused_results(node, len(results))
        values = [
            None if i in unused else self._extern_result(node.name, val) for i, val in enumerate(results)
        ]
        names = tuple(value.buffer if isinstance(value, Stored) else None for value in values)
        mutates = self._mutated(node, args, kwargs)
        self.steps.append(ExternStep(node.target, tuple(args), dict(kwargs), names, mutates))
        return tuple(values) if isinstance(self.val, (tuple, list)) else values[0]

    def _extern_argument(self, argument: Any) -> Any:
        value = self.argument(argument)
        if isinstance(value, TensorExpr):
            return Ref(self.tensor_for(value, argument.meta.get("val"), argument.name))
        return outside(value)

    def _extern_result(self, hint: str, val: Any) -> Any:
        return self._opaque(hint, "temp", val) if isinstance(val, torch.Tensor) else None

    def _mutated(self, node: fx.Node, args: Any, kwargs: Any) -> tuple[str, ...]:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            return ()
        given = dict(zip((argument.name for argument in schema.arguments), args, strict=False)) | dict(kwargs)
        written = [
            given.get(a.name) for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write
        ]
        flat = [
            item for value in written for item in (value if isinstance(value, (list, tuple)) else [value])
        ]
        return tuple(item.name for item in flat if isinstance(item, Ref))

    # --- tensors for operators and outputs

    def tensor_for(self, value: TensorExpr, val: Any, hint: str, copies: bool = False) -> str:
        """The name of a buffer that holds `value` with the strides of `val`.

        It is a view of stored memory if there is one. `copies`: the caller will see the aliasing. A `value`
        that is a view here but a copy in eager is then stored.
        """
        base: TensorExpr = value
        while isinstance(base, View) and base not in self.realized and not (copies and base in self.fresh):
            base = base.base
        strides = strides_of(val) if isinstance(val, torch.Tensor) else ix.row_major(value.shape)
        if isinstance(base, Stored) or value is not base:
            place = self.as_strided(value, self._place_of(base), base)
            if place is not None and _same_layout(place, strides):
                place = self.as_strided(value, self.realize(base, hint), base)
                assert place is not None
                return self._view(place, strides, hint)
        if isinstance(value, Stored):
            raise AssertionError(
                f"{value.buffer} has strides {value.strides}, but {hint} is expected with {strides}"
            )
        self.layouts.setdefault(value, strides)
        return self.realize(value, hint).buffer

    def _place_of(self, base: TensorExpr) -> Stored:
        """Where `base` is stored, or would be."""
        layout = self.layouts.get(base) or ix.row_major(base.shape)
        return self.realized.get(base) or Stored(base.shape, base.dtype, "", layout)

    def as_strided(self, value: TensorExpr, place: Stored, base: TensorExpr) -> Stored | None:
        """`value` as strides and offset; None if it is not a strided tensor.

        `value` is a chain of views over `base`, which is stored at `place`.
        """
        if isinstance(base, Stored):
            place = base
        ranges = Ranges()
        start = tuple(ix.axis(f"d{dim}") for dim in range(len(value.shape)))
        ranges.extents = {f"d{dim}": size for dim, size in enumerate(value.shape)}
        indices: tuple[Index, ...] = start
        while value is not base:
            assert isinstance(value, View)
            indices = value.transform.apply(indices, ranges)
            value = value.base
        return strided_form(place, ranges.recombine(place.element(indices)), tuple(ranges.extents.values()))

    def _view(self, place: Stored, strides: tuple[Index, ...], hint: str) -> str:
        info = self.program.buffers[place.buffer]
        shape = tuple(map(to_expr, place.shape))
        if info.shape == shape and place.offset == 0 and info.strides == tuple(map(to_expr, strides)):
            return place.buffer
        view = self.new_buffer(hint, "temp", info.dtype, place.shape, strides)
        self.steps.append(
            ViewStep(view.buffer, place.buffer, shape, tuple(map(to_expr, strides)), to_expr(place.offset))
        )
        return view.buffer

    def _output(self, node: fx.Node) -> None:
        outputs: Any = node.args[0]
        nodes = dict.fromkeys(item for item in outputs if isinstance(item, fx.Node))
        for item in sorted(nodes, key=lambda item: owner_of(item) is not item):  # owners get their own memory
            value = self._output_value(item)
            if isinstance(value, str) and value in self.outputs.values():
                value = self._another_view(self.program.buffers[value], item.name)
            self.outputs[item] = value
        self.program.outputs = [
            self.outputs[item] if isinstance(item, fx.Node) else as_expr(item) for item in outputs
        ]

    def _output_value(self, item: fx.Node) -> Any:
        value = self.values[item]
        if not isinstance(value, TensorExpr):
            return outside(value)
        name = self._output_tensor(item, value)
        if self.versions:
            memory = {step.output: step.base for step in self.steps if isinstance(step, ViewStep)}
            refuse_output(self.versions, root_memory(name, memory))
        return name

    def _output_tensor(self, item: fx.Node, value: TensorExpr) -> str:
        owner = owner_of(item)
        if owner is not item and value.dtype in DTYPES and not self._is_shown(item, owner):
            return self._view_of(owner, item)
        name = self.tensor_for(value, item.meta.get("val"), item.name, copies=True)
        info = self.program.buffers[name]
        if info.kind == "input" and is_view_of_input(item):
            return self._another_view(info, item.name)
        if info.kind == "temp":
            info.kind = "output"
        return name

    def _is_shown(self, item: fx.Node, owner: fx.Node) -> bool:
        """Whether the index algebra shows what a view is in eager: its strides and offset in the owner.

        It does not show the owner of a view that is stored already, for an operator.
        """
        value, base = self.values[item], self.values[owner]
        found = value
        while isinstance(found, View) and found is not base and found not in self.realized:
            found = found.base
        place = self._place_of(base)
        seen = self.as_strided(value, place, base) if found is base else None
        if seen is None or not _same_layout(seen, strides_of(item.meta["val"])):
            return False
        return ix.minus(seen.offset, place.offset) == _distance(item, owner)

    def _view_of(self, owner: fx.Node, item: fx.Node) -> str:
        """A view, because eager has one here. The trace gives its layout: the definition may not show it."""
        val = item.meta["val"]
        base = self.tensor_for(self.values[owner], owner.meta["val"], owner.name, copies=True)
        view = self.new_buffer(item.name, "output", val.dtype, sizes_of(val), strides_of(val))
        info = self.program.buffers[view.buffer]
        offset = to_expr(_distance(item, owner))
        self.steps.append(ViewStep(view.buffer, base, info.shape, info.strides, offset))
        return view.buffer

    def _another_view(self, info: BufferInfo, hint: str) -> str:
        """Another tensor with the same layout on the memory of an input or result.

        The reason is that in eager a view is never the base itself.
        """
        name = self.unique(hint)
        self.program.buffers[name] = BufferInfo(
            name, "output", info.dtype, info.shape, info.strides, to_expr(0)
        )
        self.steps.append(ViewStep(name, info.name, info.shape, info.strides, to_expr(0)))
        return name

    def unique(self, hint: str) -> str:
        name, number = hint, 1
        while name in self.program.buffers:
            name, number = f"{hint}_{number}", number + 1
        return name


def strided_form(place: Stored, element: Index, shape: Shape) -> Stored | None:
    """`element`, over axes d0, d1, ..., as strides and offset; None if it is not linear in the axes."""
    strides: list[Index] = [0] * len(shape)
    offset: Index = 0
    for atoms, coef in ix.terms_of(element).items():
        axes = [atom for atom in atoms if not ix.is_of_sizes(atom)]
        if any(isinstance(atom, ix.Division) for atom in axes) or len(axes) > 1:
            return None
        rest = tuple(atom for atom in atoms if ix.is_of_sizes(atom))
        term: Index = ix.Poly({rest: coef}) if rest else coef
        if axes:
            dim = int(axes[0][1:])
            strides[dim] = ix.plus(strides[dim], term)
        else:
            offset = ix.plus(offset, term)
    return Stored(shape, place.dtype, place.buffer, tuple(strides), offset)


def _distance(item: fx.Node, owner: fx.Node) -> Index:
    """The elements between the starts of a view and of its owner in eager."""
    starts = [from_size(node.meta["val"].storage_offset()) for node in (item, owner)]
    return ix.minus(*starts)


def _same_layout(place: Stored, strides: tuple[Index, ...]) -> bool:
    """Equal strides. Dimensions of size 1 do not matter, and no stride matters in an empty tensor."""
    if 0 in place.shape:
        return True
    return all(
        size == 1 or have == want
        for size, have, want in zip(place.shape, place.strides, strides, strict=True)
    )


_NODE_KINDS = {
    "placeholder": Lowering._placeholder,
    "get_attr": Lowering._get_attr,
    "call_function": Lowering._call,
    "output": Lowering._output,
}
