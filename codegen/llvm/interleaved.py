"""Interleaved accesses: loads or stores that together cover contiguous memory.

In:  the statements of a block.
Out: which accesses belong together, and the vectors that are written or read for all of them at once.

    for i in 1000 vector: store y[2*i], %1; store y[2*i + 1], %2
    ->  one store of two vectors: the lanes of %1 and %2 in turns

A vector loop over every second (third, fourth) element would else need a scatter or gather. These take a
cycle or more for each lane, and there is none for half precision.
"""

from __future__ import annotations

from codegen.kernel.ir import AxisVar, Binary, Const, Expr, Indirect, Load, Loop, Stmt, Store
from codegen.llvm.emitter import Emitter
from codegen.llvm.index import terms_of
from codegen.llvm.memory import to_memory, to_register
from codegen.llvm.types import SIZES, memory_element, memory_type, vector
from codegen.llvm.values import Code, Value

MOST = 4


def interleaved_stores(statements: list[Stmt], axis: str, written: set[str]) -> dict[int, tuple[Store, ...]]:
    """Groups of stores, by id of the last store of the group, each in the order of the elements in memory.

    The other stores of a group wait for the last one. `axis`: the axis of the vector loop. `written`: buffers
    that stores change; a load of one of them ends all waiting.
    """
    found: dict[int, tuple[Store, ...]] = {}
    open_stores: dict[tuple[str, object], dict[int, Store]] = {}
    for statement in statements:
        if isinstance(statement, Loop) or (isinstance(statement, Load) and statement.buffer in written):
            open_stores.clear()
        elif isinstance(statement, Store) and statement.mask is None and statement.combine is None:
            stride, start, rest = _place(statement.index, axis)
            if not 2 <= stride <= MOST:
                continue
            row = open_stores.setdefault((statement.buffer, (stride, rest)), {})
            row[start] = statement
            first = next((f for f in row if all(f + k in row for k in range(stride))), None)
            if first is not None and first <= start < first + stride:
                found[id(statement)] = tuple(row.pop(first + k) for k in range(stride))
    return found


def interleaved_loads(statements: list[Stmt], axis: str, written: set[str]) -> dict[int, tuple[Load, ...]]:
    """Groups of loads, by id of the first load of the group, each in the order of the elements in memory.

    The first load reads the elements of the later ones too.
    """
    found: dict[int, tuple[Load, ...]] = {}
    rows: dict[tuple[str, object], dict[int, Load]] = {}
    for load in statements:
        if isinstance(load, Load) and load.mask is None and load.buffer not in written:
            stride, start, rest = _place(load.index, axis)
            known = all(not isinstance(term.atom, Indirect | Binary) for term in terms_of(load.index))
            if 3 <= stride <= MOST and known:  # every second element is read from two vectors anyway
                rows.setdefault((load.buffer, (stride, rest)), {}).setdefault(start, load)
    for (_, (stride, _)), row in rows.items():  # type: ignore[misc]
        for first in sorted(row):
            if all(first + k in row for k in range(stride)):
                group = tuple(row.pop(first + k) for k in range(stride))
                earliest = min(group, key=statements.index)
                found[id(earliest)] = group
    return found


def _place(index: Expr, axis: str) -> tuple[int, int, object]:
    """Elements from one iteration to the next (0: not a number), the start, and the rest of the index."""
    stride = start = 0
    rest: list[tuple[Expr, Expr]] = []
    for term in terms_of(index):
        if term.atom == AxisVar(axis):
            if not isinstance(term.factor, Const):
                return 0, 0, ()
            stride += term.factor.value
        elif term.atom is None and isinstance(term.factor, Const):
            start += term.factor.value
        else:
            rest.append((term.factor, term.atom or Const(1)))
    return stride, start, frozenset(rest)


def emit_interleaved(emitter: Emitter, stores: tuple[Store, ...]) -> None:
    """Emits all stores of a group; each iteration of the vector loop is wanted."""
    function, lanes = emitter.function, emitter.lanes
    dtype = emitter.buffer(stores[0].buffer).dtype
    code = Code(function, emitter.target, function.depth, lanes)
    address = emitter.index.address(
        emitter.pointers[stores[0].buffer], memory_element(dtype), stores[0].index
    )
    parts = [to_memory(code, dtype, code.operand(emitter.value(store.value))) for store in stores]
    text = _in_turns(code, memory_element(dtype), parts)
    kind = memory_type(dtype, lanes * len(parts))
    function.line(f"store {kind} {text}, ptr {address.pointer}, align {SIZES[dtype]}")


def emit_interleaved_loads(emitter: Emitter, loads: tuple[Load, ...]) -> None:
    """Emits all loads of a group; each iteration of the vector loop is wanted."""
    function, lanes, count = emitter.function, emitter.lanes, len(loads)
    dtype, element = loads[0].dtype, memory_element(loads[0].dtype)
    code = Code(function, emitter.target, function.depth, lanes)
    address = emitter.index.address(emitter.pointers[loads[0].buffer], element, loads[0].index)
    kind = memory_type(dtype, lanes * count)
    row = function.define_here(f"load {kind}, ptr {address.pointer}, align {SIZES[dtype]}")
    for position, load in enumerate(loads):
        order = range(position, lanes * count, count)
        text = to_register(code, dtype, _shuffle(code, element, lanes * count, row, "poison", list(order)))
        emitter.define(load.number, Value(text, dtype, lanes, function.depth))


def _in_turns(code: Code, element: str, parts: list[str]) -> str:
    """One vector with lane 0 of each part, then lane 1 of each, and so on."""
    count, lanes = len(parts), code.lanes
    total = 1 << (count - 1).bit_length()
    parts = parts + ["poison"] * (total - count)
    width = lanes
    while len(parts) > 1:
        order = range(2 * width)
        parts = [
            _shuffle(code, element, width, left, right, list(order))
            for left, right in zip(parts[::2], parts[1::2], strict=True)
        ]
        width *= 2
    in_turns = [part * lanes + lane for lane in range(lanes) for part in range(count)]
    return _shuffle(code, element, width, parts[0], "poison", in_turns)


def _shuffle(code: Code, element: str, width: int, left: str, right: str, order: list[int]) -> str:
    kind, chosen = vector(element, width), ", ".join(f"i32 {lane}" for lane in order)
    return code.function.define_here(
        f"shufflevector {kind} {left}, {kind} {right}, <{len(order)} x i32> <{chosen}>"
    )
