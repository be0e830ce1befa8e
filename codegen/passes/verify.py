"""Checks of the state between two passes. Tests run them after each pass.

In:  the state after a pass.
Out: nothing, or a `VerificationError` that names the pass, the item and the defect.

    after fuse: root 3 is in the groups 0 and 2

They check the promises of each stage: stores go to known buffers; operands of elementwise operations have one
shape; each root is in one group, and its members use only the axes of the group; groups do not need each
other in a circle; a draft computes values before it uses them; kernels are well formed; no step reads a
buffer that nothing has written; no kernel computes a value again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from codegen.kernel import ir
from codegen.kernel.arithmetic import cycles_of
from codegen.kernel.index_algebra import Index, atoms_of
from codegen.kernel.program import BufferInfo, KernelStep, Step, is_input_memory
from codegen.kernel.verifier import VerificationError, verify
from codegen.lower.tensor_expr import Map, PartSum, Scattered, topological
from codegen.passes.draft.draft import INDEXED, Draft, DraftLoad, DraftStore, Phase, Statement
from codegen.passes.group.group import Group
from codegen.passes.group.multiplied import is_multiplied, needed_cycles
from codegen.passes.state import State
from codegen.passes.steps.calls import step_reads, step_writes

NOT_TENSORS = (Scattered, PartSum)  # their targets have another shape than the value


def verify_state(state: State, name: str) -> None:
    """Raise a VerificationError if the state is not valid after the pass `name`."""
    problems = chain.from_iterable(check(state) for check in CHECKS)
    problem = next(problems, None)
    if problem is not None:
        raise VerificationError(f"after {name}: {problem}")
    for kernel in state.kernels:
        verify(kernel.kernel)


def stores_to_known_buffers(state: State) -> Iterator[str]:
    if state.roots:
        return  # later checks look at the targets of the roots
    for store in state.lowering.stores:
        value, target = store.value, store.target
        if target.buffer not in state.program.buffers:
            yield f"a store to {target.buffer}, which is no buffer"
        if value.dtype != target.dtype:
            yield f"a store of {value.dtype} to {target.buffer} of {target.dtype}"
        if value.shape != target.shape and not isinstance(value, NOT_TENSORS):
            yield f"a store of size {value.shape} to {target.buffer} of size {target.shape}"


def operands_have_one_shape(state: State) -> Iterator[str]:
    if state.roots:
        return
    for value in topological([store.value for store in state.lowering.stores]):
        if isinstance(value, Map) and any(arg.shape != value.shape for arg in value.args):
            yield f"{value.op} of operands of sizes {[arg.shape for arg in value.args]}"


def roots_are_in_one_group(state: State) -> Iterator[str]:
    found: dict[int, Group] = {}
    for group in state.groups:
        for root in group.members:
            other = found.setdefault(id(root), group)
            if other is not group:
                yield f"root {root.number} is in the groups {other.number} and {group.number}"
            for target in root.targets:
                if not state.kernels and target.buffer not in state.program.buffers:
                    yield f"root {root.number} is stored to {target.buffer}, which is no buffer"


def members_use_axes_of_their_group(state: State) -> Iterator[str]:
    if state.drafts:
        return  # drafts share the ranges of the group and change them
    for group in state.groups:
        extents = group.ranges.extents
        for root, member in group.members.items():
            axes = {*group.outer, *member.inner, *chain.from_iterable(map(axes_of, member.coordinates))}
            if not axes <= extents.keys():
                yield f"root {root.number} of group {group.number} uses {sorted(axes - extents.keys())}"


def axes_of(index: Index) -> Iterator[str]:
    return (atom for atom in atoms_of(index) if atom.isidentifier())


def groups_need_each_other_in_no_circle(state: State) -> Iterator[str]:
    if state.drafts:
        return
    for group in state.groups:
        outside = [
            item
            for root in group.members
            for item in state.dependencies.before(root)
            if not any(item is member for member in group.members)
        ]
        if state.dependencies.need_group(outside, group):
            yield f"group {group.number} needs itself"


def values_are_computed_before_use(state: State) -> Iterator[str]:
    if state.kernels:
        return  # the verifier of loop IR checks the kernels
    for draft in state.drafts:
        known: set[int] = set()
        for item in draft.body:
            if isinstance(item, Phase):
                yield from check_block(draft, item.body, set(known))
            else:
                yield from check_block(draft, [item], known)


def check_block(draft: Draft, statements: list[Statement], known: set[int]) -> Iterator[str]:
    for statement in statements:
        missing = [number for number in operands(statement) if number not in known]
        if missing:
            yield f"{draft.name}: {statement} uses {missing}, which are not computed here"
        if isinstance(statement, (DraftLoad, DraftStore)) and statement.buffer not in draft.buffers:
            yield f"{draft.name}: {statement} of an unknown buffer"
        number = getattr(statement, "number", None)
        if number is not None:
            known.add(number)


def operands(statement: Statement) -> Iterator[int]:
    for field in OPERANDS:
        number = getattr(statement, field, None)
        if number is not None and not isinstance(statement, ir.ConstOp) and type(number) is int:
            yield number
    if isinstance(statement, ir.Op):
        yield from statement.args
    if isinstance(statement, INDEXED):
        yield from (int(atom[1:]) for atom in atoms_of(statement.index) if atom.startswith("%"))


OPERANDS = ("value", "mask", "condition")


def steps_read_what_is_there(state: State) -> Iterator[str]:
    steps = state.program.steps
    there = {name for name, info in state.program.buffers.items() if is_there(info)}
    for position, step in enumerate(steps):
        reads, writes = touched(step)
        missing = [name for name in reads if name not in there and name not in writes]
        if missing:
            yield f"step {position} reads {missing}, which nothing has written"
        there.update(writes)


def is_there(info: BufferInfo) -> bool:
    """Whether the contents exist before the first step. `steps/versions.py` checks the order of versions.

    An empty tensor has none, and no kernel writes it.
    """
    return info.kind == "constant" or is_input_memory(info) or ir.Const(0) in info.shape


def touched(step: Step) -> tuple[list[str], set[str]]:
    """The buffers that the step reads, and those that it writes."""
    if isinstance(step, KernelStep):
        return list(step.buffers), set(step.written())
    return step_reads(step), set(step_writes(step))


def kernels_multiply_no_arithmetic(state: State) -> Iterator[str]:
    if not state.program.steps:
        return  # another attempt may follow
    for group, step in zip(state.groups, state.kernels):
        if is_multiplied(group, step.kernel, state.roots):
            needed, done = needed_cycles(group, state.roots), cycles_of(step.kernel)
            yield f"{step.kernel.name} takes {done} cycles, its definitions {needed}"


CHECKS: tuple[Callable[[State], Iterator[str]], ...] = (
    stores_to_known_buffers,
    operands_have_one_shape,
    roots_are_in_one_group,
    members_use_axes_of_their_group,
    groups_need_each_other_in_no_circle,
    values_are_computed_before_use,
    steps_read_what_is_there,
    kernels_multiply_no_arithmetic,
)
