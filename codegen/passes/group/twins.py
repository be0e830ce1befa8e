"""Which roots belong to a part of the graph that has twins.

In:  roots in topological order; the parts of the lowering.
Out: `root.part`. Roots of a part are fused with each other alone, so that their kernels can be repeated.

    a0 = g0 * g0 + s0; lr2 = lr * 2     ->    a0: part 0; lr2: none
"""

from __future__ import annotations

from collections.abc import Iterable

from codegen.lower.alike_parts import NotAlike, Part
from codegen.lower.graph import Lowering
from codegen.passes.group.roots import Root


def inputs_of_part(part: Part) -> list[str]:
    return [node.name for node in part.nodes if node.op == "placeholder"]


def note_parts(lowering: Lowering, roots: Iterable[Root]) -> None:
    """A root is of the part whose inputs it uses, and so are the roots that read it."""
    if not lowering.alike.parts:
        return
    owners = {
        name: number for number, part in enumerate(lowering.alike.parts) for name in inputs_of_part(part)
    }
    for root in roots:
        used = (*root.loads, *(target.buffer for target in root.targets))
        found = {owners[name] for name in used if name in owners}
        found |= {dep.part for dep, _ in root.reads if dep.part is not None}
        if len(found) > 1:
            raise NotAlike(f"root {root.number} uses several parts")
        root.part = next(iter(found), None)
