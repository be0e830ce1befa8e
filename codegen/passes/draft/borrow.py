"""Keep an expensive value in memory that the kernel fills later anyway.

In:  a group in which several phases need an expensive value: one phase sums exp(x - amax), the next divides
     it.
Out: the member `exp` first has the place of `out` as its target. The last phase loads it from there and
     overwrites it.

    phase: e = exp(x - m); sum += e             phase: e = exp(x - m); out = e; sum += e
    phase: out = exp(x - m) / sum         ->    phase: out = out / sum
"""

from __future__ import annotations

from codegen.lower.tensor_expr import Stored
from codegen.passes.group.group import Group, Member
from codegen.passes.group.roots import Root

DEAR = 8  # cycles for each element: above this, a store and a load are cheaper than a second computation


def borrow_outputs(group: Group, inputs: set[str]) -> None:
    """Give targets to expensive members without one, if a later member can lend its target.

    `inputs`: buffers that must keep their contents.
    """
    lent: set[str] = set()
    stages = group.stages()
    for member in list(group.members.values()):
        root = member.root
        if root.targets or root.cycles < DEAR or root.is_reduction or not member.inner:
            continue
        target = _place_to_borrow(group, member, stages, inputs | lent)
        if target is not None:
            root.targets.append(target)
            lent.add(target.buffer)


def _place_to_borrow(group: Group, member: Member, stages: dict[Root, int], taken: set[str]) -> Stored | None:
    """The target of the last reader of `member`.

    The last reader must be in a phase after all other readers, and read the same element that it writes.
    """
    readers = [
        other for other in group.members.values() if any(dep is member.root for dep, _ in other.root.reads)
    ]
    readers.sort(key=lambda other: stages[other.root])
    if len(readers) < 2 or stages[readers[-1].root] == stages[readers[-2].root]:
        return None
    lender = readers[-1]
    if lender.root.is_reduction or len(lender.root.targets) != 1 or lender.coordinates != member.coordinates:
        return None
    target = lender.root.targets[0]
    same_place = target.shape == member.root.value.shape and target.dtype == member.root.value.dtype
    untouched = not any(target.buffer in root.loads for root in group.members)
    usable = same_place and untouched and target.buffer not in taken
    return (
        target
        if usable and _reads_in_place(lender, member) and _is_last(lender, member, group, stages)
        else None
    )


def _reads_in_place(lender: Member, member: Member) -> bool:
    """Whether the lender reads only the element that it will overwrite."""
    return all(access == lender.root.axes for dep, access in lender.root.reads if dep is member.root)


def _is_last(lender: Member, member: Member, group: Group, stages: dict[Root, int]) -> bool:
    """Whether nobody needs `member` after the lender has overwritten an element of it.

    A later member may compute the lender or another reader again, at other elements. Then `member` is still
    needed.
    """
    readers = _all_readers(member.root, group)
    late = [root for root in readers if root is not lender.root and stages[root] >= stages[lender.root]]
    return all(
        dep is not member.root
        and access == root.axes
        and group.members[dep].coordinates == group.members[root].coordinates
        for root in late
        for dep, access in root.reads
        if dep is member.root or (dep in readers and not dep.is_reduction)
    )


def _all_readers(root: Root, group: Group) -> set[Root]:
    """The direct and indirect readers of the root among the members."""
    found: set[Root] = set()
    pending = [root]
    while pending:
        current = pending.pop()
        new = {
            other
            for other in group.members
            if other not in found and any(dep is current for dep, _ in other.reads)
        }
        found |= new
        pending.extend(new)
    return found
