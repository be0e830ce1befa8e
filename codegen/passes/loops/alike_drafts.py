"""Schedules one of several drafts that differ in the names of their buffers.

In:  drafts, one by one.
Out: `Scheduler`: the kernel of each. A draft that is equal to an earlier one, except for its buffers, gets
     the kernel of the earlier one, with its own buffers.

    k1: p0[i] = p0[i] - g0[i]     ->     scheduled
    k3: p1[i] = p1[i] - g1[i]     ->     k1 with p1 for p0 and g1 for g0

Layers of one model and the parameters of an optimizer give many such drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from codegen.kernel import ir
from codegen.passes.draft.draft import Draft, DraftIndex, DraftLoad, DraftStore, Phase
from codegen.passes.loops.schedule import schedule

Places = Mapping[str, int]


class Scheduler:
    """`schedule` for the drafts of one program."""

    def __init__(self) -> None:
        self._made: dict[Any, tuple[tuple[str, ...], ir.Kernel]] = {}  # the names of its buffers, the kernel

    def kernel(self, draft: Draft) -> ir.Kernel:
        """The kernel. The draft cannot be used again."""
        form, names = form_of(draft), tuple(draft.buffers)
        made = self._made.get(form)
        if made is not None:
            return with_buffers(made[1], draft.name, dict(zip(made[0], names, strict=True)))
        kernel = schedule(draft)
        if not draft.scratch:  # its own buffers have names of its own
            self._made[form] = names, kernel
        return kernel


# --- what a draft does, without the names of its buffers --------------------------------------------------


def form_of(draft: Draft) -> Any:
    places = {name: place for place, name in enumerate(draft.buffers)}
    return (
        draft.outer,
        tuple(draft.ranges.extents.items()),
        tuple(draft.dtypes.items()),
        tuple((dtype, name in draft.written) for name, dtype in draft.buffers.items()),
        (draft.part_rows, draft.part_length, draft.in_order),
        tuple(_KEYS[type(item)](item, places) for item in draft.body),
    )


def _phase(phase: Phase, places: Places) -> Any:
    return phase.axes, phase.block, tuple(_KEYS[type(item)](item, places) for item in phase.body)


def _load(s: DraftLoad, places: Places) -> Any:
    return s.number, places[s.buffer], s.index, s.dtype, s.mask, repr(s.other)


_KEYS: dict[type, Callable[[Any, Places], Any]] = {
    Phase: _phase,
    DraftLoad: _load,
    DraftStore: lambda s, places: (places[s.buffer], s.index, s.value, s.combine),
    DraftIndex: lambda s, places: ("index", s.number, s.index),
    ir.Op: lambda s, places: (s.number, s.name, s.args, s.dtype),
    # 0.0 and -0.0 are two constants, and so are 1 and True
    ir.ConstOp: lambda s, places: ("constant", s.number, repr(s.value), s.dtype),
    ir.Accumulator: lambda s, places: ("accumulator", s.name, s.combine, s.dtype, repr(s.init)),
    ir.Check: lambda s, places: s,
    ir.Update: lambda s, places: s,
    ir.ScanStep: lambda s, places: s,
    ir.ReadAccumulator: lambda s, places: s,
}


# --- the same kernel on other buffers ---------------------------------------------------------------------


def with_buffers(kernel: ir.Kernel, name: str, names: Mapping[str, str]) -> ir.Kernel:
    """A copy of the kernel. `names`: its buffers by those of `kernel`."""
    buffers = tuple(
        ir.Buffer(names[b.name], b.dtype, b.writable, b.alignment, names.get(b.alias_of or ""))
        for b in kernel.buffers
    )
    return ir.Kernel(name, buffers, kernel.sizes, _block(kernel.body, names), kernel.split)


def _block(body: list[ir.Stmt], names: Mapping[str, str]) -> list[ir.Stmt]:
    return [_statement(statement, names) for statement in body]


def _statement(s: ir.Stmt, names: Mapping[str, str]) -> ir.Stmt:
    if isinstance(s, ir.Loop):
        return replace(s, body=_block(s.body, names))
    if isinstance(s, ir.Load):
        return ir.Load(s.number, names[s.buffer], s.index, s.dtype, s.mask, s.other)
    if isinstance(s, ir.Store):
        return ir.Store(names[s.buffer], s.index, s.value, s.mask, s.combine)
    return s
