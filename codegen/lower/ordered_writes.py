"""Writes to parts of an input that the graph itself reads afterwards: steps in place, in an order.

In:  a functional graph; the tracer has marked what each input contains after each write
     (`codegen.trace.functionalise.mark_contents`).
Out: for each of these contents a *version* of the input's memory: a buffer name of its own for the memory of
     the input. A write stores to the version that it makes. A reader of the new contents reads that version;
     a reader of the old contents reads the version before.

    cache[:, p] = k; return q @ cache.t()
    traced:  index_put = index_put(cache, [None, p], k); mm(q, t(index_put)); copy_(cache, index_put)
    ->       for p: cache.1[:, p] = k[:, p];  mm(q, cache.1.t())            cache.1 is the memory of cache

All readers of a version run after its writer, and before the writer of the next one:
`codegen.passes.steps.versions` keeps this order. Some graphs have no such order: the old contents are needed
after the write, a result has to hold some version, or a step that may fail needs one. Then `Unordered` is
raised and the graph is lowered again: the input's new contents are then a separate tensor, which is copied
back at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.lower.nodes import is_known
from codegen.lower.promotion import as_operand
from codegen.lower.registry import LOWERINGS
from codegen.lower.tensor_expr import Map, Stored, TensorExpr, copy_of, topological

aten = torch.ops.aten
LARGE = 1 << 14  # a stored result of this many elements or more is written to one place only: that saves time
#: operators, besides views, that carry a write through a view to the input: they read nothing there
CARRIERS = frozenset((
    aten.select_scatter.default, aten.slice_scatter.default, aten.diagonal_scatter.default,
    aten.as_strided_scatter.default, aten.reshape.default, aten.alias.default,
))  # fmt: skip


class Unordered(Exception):
    """The writes to these inputs can't be steps in place."""

    def __init__(self, inputs: Iterable[str], reason: str) -> None:
        super().__init__(reason)
        self.inputs = frozenset(inputs)


class OrderWanted(Exception):
    """Several writes to an input go to the same places."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """The contents of the memory of `input` after a write.

    `before`: the name of the contents before the write. It is another version or the input.
    """

    input: str
    before: str


NO_VERSIONS: Mapping[str, MemoryVersion] = {}


# --- which inputs -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Wishes:
    """What earlier attempts at the same graph found out.

    `refused`, `wanted`: inputs whose writes have no order, or need one. `stored`: definitions, by their place
    among all, that have to be in memory. `apart`: these have kernels of their own. `twins`:
    alike parts of the graph can be lowered once (`codegen.lower.alike_parts`).
    """

    refused: set[str] = field(default_factory=set)
    wanted: set[str] = field(default_factory=set)
    stored: frozenset[int] = frozenset()
    apart: bool = False
    twins: bool = True

    def store_nothing(self) -> None:
        """The definitions are others than before, so their places mean nothing."""
        self.stored, self.apart = frozenset(), False


NO_WISHES = Wishes()


@dataclass(frozen=True, slots=True)
class OrderedWrites:
    """The inputs whose writes are steps.

    `versions`: the nodes that are versions of inputs, and the input of each. `whole`: those whose values are
    used by more than operator calls. `possible`: inputs that could have versions too.
    """

    versions: dict[fx.Node, str] = field(default_factory=dict)
    whole: frozenset[fx.Node] = frozenset()
    possible: frozenset[str] = frozenset()


def writes_to_order(graph: fx.Graph, wishes: Wishes) -> OrderedWrites:
    """Which writes get an order.

    Inputs need no order if nobody reads what is written, and get none if kernels can't write to them. If an
    input is computed again as a whole, everything but operator calls can use the values; operator calls take
    tensors. The last contents are then a version.
    """
    contents: dict[str, list[fx.Node]] = {}
    final: dict[str, fx.Node] = {}
    for node in graph.nodes:
        if "contents_of" in node.meta:
            contents.setdefault(node.meta["contents_of"], []).append(node)
        if node.target is aten.copy_.default and _is_known_input(node.args[0]):
            final[node.args[0].name] = node.args[1]
    versions: dict[fx.Node, str] = {}
    whole: set[fx.Node] = set()
    possible: set[str] = set()
    for name, last in final.items():
        nodes = contents.get(name, [])
        if name in wishes.refused or not nodes or nodes[-1] is not last:
            continue
        own = set(nodes)
        if not any(map(_is_in_part, nodes)):
            if _is_large(last) and any(user.target not in LOWERINGS for user in _readers(last, own)):
                versions[last] = name
                whole.add(last)
        elif (
            name in wishes.wanted
            or aten.as_strided_scatter.default in [node.target for node in nodes]
            or any(True for node in nodes for _ in _readers(node, own))
        ):
            versions.update(dict.fromkeys(nodes, name))
        else:
            possible.add(name)
    return OrderedWrites(versions, frozenset(whole), frozenset(possible))


def _is_known_input(node: fx.Node) -> bool:
    return node.op == "placeholder" and is_known(node.meta["val"])


def _is_in_part(node: fx.Node) -> bool:
    """Whether the node takes the old contents and changes places of it."""
    return _is_carrier(node) or _is_scatter(node)


def _is_scatter(node: fx.Node) -> bool:
    return str(node.target).removeprefix("aten.").startswith(_SCATTERS)


_SCATTERS = ("index_put.", "index_copy.", "index_add.", "index_fill.", "index_reduce.", "scatter", "put.")


def _is_carrier(node: fx.Node) -> bool:
    return node.target in CARRIERS or _is_view(node)


def _is_view(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(
        result.alias_info is not None and not result.alias_info.is_write for result in schema.returns
    )


def _is_large(node: fx.Node) -> bool:
    return all(isinstance(size, int) for size in node.meta["val"].shape) and node.meta["val"].numel() >= LARGE


def _readers(node: fx.Node, versions: set[fx.Node]) -> Iterator[fx.Node]:
    """The nodes that read the contents, except for the next write. Follows views and carriers of a write."""
    pending, seen = list(node.users), {node}
    while pending:
        user = pending.pop()
        if user in seen or user in versions or user.target is aten.copy_.default:
            continue
        seen.add(user)
        if _is_carrier(user):
            pending.extend(user.users)
        elif user.op != "output":
            yield user


# --- their lowering ---------------------------------------------------------------------------------------


def write_in_order(ctx: Any, node: fx.Node, value: Any) -> TensorExpr:
    """Stores the changes to a new version of the input; returns the definition of the contents from now on.

    `value`: the definition of the contents, if there is one.
    """
    name = ctx.ordered.versions[node]
    info = ctx.program.buffers[name]
    before = ctx.latest[name]
    target: Stored = ctx.new_buffer(name, "version", info.dtype, before.shape, before.strides)
    ctx.versions[target.buffer] = MemoryVersion(name, before.buffer)
    if isinstance(value, TensorExpr):
        ctx.values[node] = value
    elif node in ctx.ordered.whole:
        raise Unordered([name], f"{node.target} has no lowering")
    memory = memory_of(ctx.versions, name)
    ctx.latest[name] = target
    if node in ctx.ordered.whole:
        return _written_whole(ctx, value, target, memory)
    from codegen.lower.part_writes import Contents, parts_of  # lazy: import time

    parts = parts_of(ctx, target, node, Contents(before, target))
    if not parts:
        raise Unordered([name], "the write changes nothing")
    for place, part in parts:
        if part is None:
            raise Unordered([name], f"{node.target} has no lowering")
        part = as_operand(part, place.dtype, place.shape)
        if not _keeps_places(ctx, part, place, memory):
            part = ctx.realize(part, "new")
        ctx.store(part if isinstance(part, Stored) else copy_of(part), place)
    return target


def _written_whole(ctx: Any, value: TensorExpr, target: Stored, memory: frozenset[str]) -> TensorExpr:
    """`value`, which operator calls find in the memory of the input."""
    plain = value.dtype == target.dtype and not isinstance(value, Stored) and value not in ctx.realized
    if not plain or not _keeps_places(ctx, value, target, memory):
        raise Unordered([ctx.versions[target.buffer].input], "the new contents are stored elsewhere already")
    ctx.store(value, target)
    ctx.realized[value] = target
    return value


def memory_of(versions: Mapping[str, MemoryVersion], name: str) -> frozenset[str]:
    """The names of all buffers in that input's memory."""
    return frozenset((name, *(other for other, version in versions.items() if version.input == name)))


def _keeps_places(ctx: Any, value: TensorExpr, place: Stored, memory: frozenset[str]) -> bool:
    """Whether it reads the memory only at the places that it writes, element by element."""
    from codegen.lower.part_writes import position, strided  # lazy: import time

    pending, seen = [value], {value}
    while pending:
        item = pending.pop()
        below = item.args if isinstance(item, Map) else ()
        if not isinstance(item, Map) and _reads(item, memory):
            found = strided(ctx, item)
            if found is None or found.shape != place.shape or position(found) != position(place):
                return False
        pending += [arg for arg in below if arg not in seen]
        seen.update(below)
    return True


def _reads(value: TensorExpr, memory: frozenset[str]) -> bool:
    return any(isinstance(item, Stored) and item.buffer in memory for item in topological([value]))


def refuse_output(versions: Mapping[str, MemoryVersion], name: str) -> None:
    """Raises if a version is a result: a result that is no view of an input has its own memory."""
    if name in versions:
        raise Unordered([versions[name].input], "a result is a version of an input's contents")
