"""Kernels for short sizes: a size that is known only at run time becomes a number.

In:  the draft of a kernel that takes sizes at run time.
Out: an `OpenDraft`. It knows which sizes matter if they are short, and makes the kernel for given numbers.

    for i in s0: for j in s1: x[i*s1 + j] + y[j]     s1 = 3
    ->   for j in 3: for i in s0 vector: x[i*3 + j] + y[j]

The best loops depend on sizes that count lanes. Rows of 3 waste most of a vector, and a reduction over 10
elements needs no loop. A size that is long enough makes no difference. A kernel with little work does not
justify another compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from capture_records import dataclass
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index, Poly, atoms_of, product
from codegen.kernel.index_notation import to_expr
from codegen.kernel.program import BufferInfo
from codegen.passes.draft.draft import Draft, DraftLoad, DraftStore, Phase
from codegen.passes.loops.axes import arrange_axes, stride_of
from codegen.passes.loops.schedule import schedule

SHORT = 256  # kernels for longer rows gain nothing from the number (measured)
#: The least iterations of a kernel. With so many, a call gains 5 to 30 us (rows of 2 to 4: up to 300), and
#: compiling it takes 30 to 50 ms.
WORTH = 1 << 15

Number = Callable[[ir.Expr], Any]


@dataclass(frozen=True, slots=True)
class OpenDraft:
    """A draft with open sizes.

    work:     the iterations of each nest
    extents:  the extents of axes that run in lanes or that are reduced, as expressions of sizes, each with
              the names of its sizes
    """

    draft: Draft
    work: tuple[ir.Expr, ...]
    extents: tuple[tuple[ir.Expr, frozenset[str]], ...]

    def short_sizes(self, number: Number) -> set[str]:
        """The sizes to fix.

        `number` gives the value of an expression. It may be an open number, which records the comparisons
        made here.
        """
        if not any(number(work) >= WORTH for work in self.work):
            return set()
        found: set[str] = set()
        for extent, names in self.extents:
            value = number(extent)
            if value <= SHORT and value > 1:
                found |= names
        return found

    def kernel_for(self, sizes: Mapping[str, int]) -> tuple[ir.Kernel, dict[str, BufferInfo]]:
        """The kernel for these values of some sizes, and its scratch buffers."""
        draft = copy_of(self.draft)
        numbers: dict[str, Index] = {f"${name}": size for name, size in sizes.items()}
        ranges = draft.ranges
        ranges.extents = {name: ranges.substitute(extent, numbers) for name, extent in ranges.extents.items()}
        draft.map_indices(lambda index: ranges.recombine(ranges.substitute(index, numbers)))
        if draft.part_length is not None:
            draft.part_length = _in_numbers(draft.part_length, sizes)
        return schedule(draft), draft.scratch_buffers()


def _in_numbers(expr: ir.Expr, sizes: Mapping[str, int]) -> ir.Expr:
    if isinstance(expr, ir.Sym) and expr.name in sizes:
        return ir.Const(sizes[expr.name])
    if isinstance(expr, ir.Binary):
        left, right = _in_numbers(expr.left, sizes), _in_numbers(expr.right, sizes)
        return BUILDERS[expr.op](left, right)
    return expr


BUILDERS: dict[str, Callable[[ir.Expr, ir.Expr], ir.Expr]] = {
    "add": ir.add,
    "mul": ir.mul,
    "floordiv": ir.floordiv,
    "mod": ir.mod,
    "min": lambda left, right: ir.Binary("min", left, right),
    "max": lambda left, right: ir.Binary("max", left, right),
}


def open_draft(draft: Draft) -> OpenDraft | None:
    """A copy of a draft before it is scheduled. None if none of its sizes may be short."""
    if not any(isinstance(draft.ranges.extents[name], Poly) for name in _axes(draft)):
        return None
    copy = copy_of(draft)
    arrange_axes(copy)
    names = [name for name in _axes(copy) if _counts(copy, name)]
    extents = [copy.ranges.extents[name] for name in names]
    found = {
        to_expr(extent): frozenset(atom[1:] for atom in atoms_of(extent) if atom.startswith("$"))
        for extent in extents
        if isinstance(extent, Poly)
    }
    return OpenDraft(copy, _work(copy), tuple(found.items())) if found else None


def _work(draft: Draft) -> tuple[ir.Expr, ...]:
    nests = dict.fromkeys((*draft.outer, *phase.axes) for phase in draft.phases()) or (draft.outer,)
    return tuple(to_expr(product(draft.ranges.extents[name] for name in nest)) for nest in nests)


def _axes(draft: Draft) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*draft.outer, *(name for phase in draft.phases() for name in phase.axes))))


def _counts(draft: Draft, axis: str) -> bool:
    """Whether the axis is reduced, or has stride 1 in memory."""
    if any(axis in phase.axes for phase in draft.phases()):
        return True
    accesses = [s for s in draft.statements() if isinstance(s, (DraftLoad, DraftStore))]
    return any(stride_of(access.index, axis) in (1, -1) for access in accesses)


def copy_of(draft: Draft) -> Draft:
    """A separate draft: it copies everything that passes change."""
    copy = Draft(draft.name, draft.outer, type(draft.ranges)(dict(draft.ranges.extents)))
    copy.body = [
        Phase(item.axes, list(item.body), item.block) if isinstance(item, Phase) else item
        for item in draft.body
    ]
    copy.dtypes, copy.buffers, copy.written = dict(draft.dtypes), dict(draft.buffers), set(draft.written)
    copy.part_rows, copy.part_length = draft.part_rows, draft.part_length
    copy.in_order, copy.scratch = draft.in_order, dict(draft.scratch)
    return copy
