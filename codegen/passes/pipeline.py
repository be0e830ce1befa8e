"""The passes in order: from the stores of a lowering to the steps of a Program.

In:  a functional ATen graph.
Out: its Program: kernels, operator calls and views. The order makes sure that every step finds what it reads.

    relu(x @ w) + 1
      ->   store y = relu(mm) + 1   ->   root y   ->   group {y}   ->   draft: load mm, relu, add, store y
      ->   kernel k0: for i ... vector   ->   steps: mm(x, w) -> mm; k0(mm, y)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from torch import fx

from codegen.kernel import ir
from codegen.kernel.program import KernelStep, Program
from codegen.lower.alike_parts import NotAlike
from codegen.lower.graph import Lowering
from codegen.lower.ordered_writes import OrderWanted, Unordered, Wishes, writes_to_order
from codegen.lower.tensor_expr import TensorExpr
from codegen.passes.draft.borrow import borrow_outputs
from codegen.passes.draft.column_sums import sum_columns_beside_rows
from codegen.passes.draft.joined_rows import join_rows
from codegen.passes.draft.safe_writes import make_writes_safe
from codegen.passes.draft.statements import draft_group
from codegen.passes.graph.failures import hoist_checks
from codegen.passes.graph.scatter_in_place import scatter_in_place
from codegen.passes.graph.split_joins import split_joins
from codegen.passes.graph.split_pads import split_pads
from codegen.passes.group.buffers import give_buffers, temporary
from codegen.passes.group.fuse import fuse
from codegen.passes.group.multiplied import Multiplied, is_multiplied, to_store
from codegen.passes.group.roots import definitions, find_roots
from codegen.passes.group.twins import note_parts
from codegen.passes.loops.alike_drafts import Scheduler
from codegen.passes.loops.short_sizes import open_draft
from codegen.passes.state import State
from codegen.passes.steps.origins import Origins
from codegen.passes.steps.placed_kernels import ordered_steps
from codegen.passes.steps.size_arguments import with_size_arguments
from codegen.passes.steps.versions import name_inputs

VERIFY = False  # tests set it: then `build_kernels` checks the state after each pass

codegen_log = logging.getLogger("capture.codegen")
passes_log = logging.getLogger("capture.passes")


def lower_graph(graph: fx.Graph) -> Program:
    """The program of a functional ATen graph whose nodes have `meta["val"]`.

    It never fails because an operator has no lowering.
    """
    wishes = Wishes()
    while True:
        lowering = Lowering(writes_to_order(graph, wishes), wishes)
        try:
            lowering.run(graph)
            return build_kernels(lowering)
        except Multiplied as found:
            wishes.apart = bool(wishes.stored)
            wishes.stored |= places_of(lowering, found.definitions)
        except Unordered as found:
            codegen_log.debug("can't order the writes to %s: %s", ", ".join(sorted(found.inputs)), found)
            wishes.refused |= found.inputs
            wishes.store_nothing()
        except NotAlike as found:
            codegen_log.debug("alike parts of the graph are lowered one by one: %s", found)
            wishes.twins = False
            wishes.store_nothing()
        except OrderWanted as found:
            wishes.wanted.add(found.name)
            wishes.store_nothing()


def places_of(lowering: Lowering, values: list[TensorExpr]) -> frozenset[int]:
    wanted = set(values)
    return frozenset(i for i, value in enumerate(definitions(lowering.stores)) if value in wanted)


def build_kernels(lowering: Lowering) -> Program:
    """Fused and scheduled kernels for all stores of `lowering`, together with its other steps."""
    state = State(lowering)
    is_logged = passes_log.isEnabledFor(logging.DEBUG)
    for name, run in PASSES:
        start = time.perf_counter()
        run(state)
        if is_logged:
            passes_log.debug("%s: %s (%.2f ms)", name, state, (time.perf_counter() - start) * 1e3)
        if VERIFY:
            from codegen.passes.verify import verify_state  # lazy: import time

            verify_state(state, name)
    return lowering.program


# --- passes over all groups, drafts or kernels ------------------------------------------------------------


def _find_roots(state: State) -> None:
    wanted = state.lowering.wishes.stored
    state.roots = find_roots(state.lowering.stores, wanted)
    note_parts(state.lowering, state.roots.values())
    stored = definitions(state.lowering.stores) if wanted else []
    for root in [state.roots[stored[place]] for place in sorted(wanted)]:
        root.apart = state.lowering.wishes.apart
        if not root.targets:
            root.targets.append(temporary(state.lowering, root.value, f"t{root.number}"))


def _fuse(state: State) -> None:
    state.groups, state.dependencies = fuse(state.lowering, list(state.roots.values()))


def _borrow_outputs(state: State) -> None:
    kept = {*state.program.inputs, *state.lowering.versions}
    for group in state.groups:
        borrow_outputs(group, kept)


def _make_writes_safe(state: State) -> None:
    copies, state.early_drafts = make_writes_safe(
        state.lowering, state.groups, state.roots, state.dependencies
    )
    state.groups = [group for group in [*state.groups, *copies] if group.rows != 0]


def _draft(state: State) -> None:
    versions = state.lowering.versions
    for number, group in enumerate(state.groups):
        draft = state.early_drafts.get(group.number) or draft_group(group, state.roots, versions)
        draft.name = f"k{number}"
        state.drafts.append(draft)


def _keep_for_short_sizes(state: State) -> None:
    state.open = list(map(open_draft, state.drafts))


def _schedule(state: State) -> None:
    state.origins, scheduler = Origins(state.lowering.values, state.roots), Scheduler()
    for group, draft, opened in zip(state.groups, state.drafts, state.open, strict=True):
        kernel = scheduler.kernel(draft)
        state.program.buffers |= draft.scratch_buffers()
        names, sizes = tuple(buffer.name for buffer in kernel.buffers), tuple(map(ir.Sym, kernel.sizes))
        state.kernels.append(KernelStep(kernel, names, sizes, opened, state.origins.of(group)))


def _check_arithmetic(state: State) -> None:
    """Ask for another attempt if a kernel computes the same again and again."""
    if state.lowering.wishes.apart:
        return
    found = [
        value
        for group, step in zip(state.groups, state.kernels, strict=True)
        if is_multiplied(group, step.kernel, state.roots)
        for value in to_store(group, state.roots)
    ]
    if found:
        raise Multiplied(found)


def _order_steps(state: State) -> None:
    state.program.steps = ordered_steps(
        state.lowering,
        state.roots,
        state.dependencies,
        state.groups,
        state.kernels,
        state.origins.of,
    )


def _name_sizes(state: State) -> None:
    state.program.steps = [
        with_size_arguments(step) if isinstance(step, KernelStep) else step for step in state.program.steps
    ]


Pass = tuple[str, Callable[[State], None]]
PASSES: tuple[Pass, ...] = (
    # definitions: which values are stored, and how they are computed
    ("hoist checks", lambda state: hoist_checks(state.lowering)),
    ("scatter in place", lambda state: scatter_in_place(state.lowering)),
    ("split joins", lambda state: split_joins(state.lowering)),
    ("split pads", lambda state: split_pads(state.lowering)),
    # groups: which roots become one kernel
    ("find roots", _find_roots),
    ("fuse", _fuse),
    ("sum columns", lambda s: sum_columns_beside_rows(s.lowering, s.groups, s.dependencies)),
    ("join rows", lambda s: join_rows(s.lowering, s.groups, s.dependencies)),
    ("give buffers", lambda s: give_buffers(s.lowering, s.groups, s.dependencies)),
    ("borrow outputs", _borrow_outputs),
    ("make writes safe", _make_writes_safe),
    # drafts: statements, before the loops are arranged
    ("draft", _draft),
    ("keep for short sizes", _keep_for_short_sizes),
    # kernels in loop IR, and the steps of the program
    ("schedule", _schedule),
    ("check arithmetic", _check_arithmetic),
    ("order steps", _order_steps),
    ("name sizes", _name_sizes),
    ("name inputs", lambda state: name_inputs(state.lowering)),
)
