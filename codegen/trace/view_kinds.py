"""What the outputs of a graph are in eager: bases, or views of which base.

In:  the tracked tensor of each output, None for an output that is no tensor.
Out: a byte for each output: one of the kinds below. Then two bytes for each: the position of the output that
     is its base, NO_BASE where the graph does not return the base. `native/graph/view_outputs.c` reads them.

    y = x * 2; return y, y[0]   ->   OWN, VIEW; NO_BASE, 0

For autograd a detached tensor is a base: on the same memory, but not in the same family of views.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from codegen.trace.functionalise import Tracked

NO_VIEW, VIEW, OWN, ONE_OF_SEVERAL, WITHOUT_GRAD = range(5)
NO_BASE = 0xFFFF


def view_kinds(outputs: Sequence[Tracked | None]) -> bytes | None:
    """None where no output is a view, or shares its memory with another one."""
    places = {id(tracked): place for place, tracked in reversed(list(enumerate(outputs))) if tracked}
    families: dict[int, set[int]] = {}  # memory -> the bases of the outputs on it
    members: dict[int, set[int]] = {}  # memory -> the different outputs on it
    for found in filter(None, outputs):
        families.setdefault(id(found.memory), set()).add(id(found.base))
        members.setdefault(id(found.memory), set()).add(id(found))
    kinds, bases = [], []
    for tracked in outputs:
        kind, base = NO_VIEW, NO_BASE
        if tracked and tracked.base is tracked:
            shared = len(members[id(tracked.memory)]) > 1 or tracked.parent is not None
            kind = OWN if shared and not on_input(tracked) else NO_VIEW
        elif tracked:
            base = places.get(id(tracked.base), NO_BASE)
            alone = len(families[id(tracked.memory)]) == 1 and tracked.memory.placeholder is None
            known = base != NO_BASE or alone or tracked.base.parent is None
            kind = kind_of(tracked) if known else OWN  # there is no base that other outputs could share
        kinds.append(kind)
        bases.append(NO_BASE if tracked and on_input(tracked) else base)
    return bytes(kinds) + struct.pack(f"<{len(bases)}H", *bases) if any(kinds) else None


def on_input(tracked: Tracked) -> bool:
    """Whether autograd takes it for an input of the graph, or for a view of one."""
    return tracked.base.parent is None and tracked.memory.placeholder is not None


def kind_of(tracked: Tracked) -> int:
    """How a view was made: by its first step from the base, and by any step that made several views."""
    last, several = tracked, False
    while tracked is not tracked.base and tracked.parent is not None and tracked.view is not None:
        last, several = tracked, several or tracked.view.index is not None
        tracked = tracked.parent
    if not last.with_grad:
        return WITHOUT_GRAD
    return ONE_OF_SEVERAL if several else VIEW
