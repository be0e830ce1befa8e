"""What each group needs, directly or through other roots and operator calls.

In:  `open(group, root)` and `join(group, root)`, in the order of fusion. A root comes after everything that
     it needs.
Out: `needs(item, group)`: whether `group` must run before `item`.

    k0: a; mm(a) -> b; k1: b     ->   needs(mm, k0), needs(k1's root, k0)

Each group and each call has one int. Bit n says that it needs group n. So a question looks at one bit. A walk
through all earlier items would take longer for longer programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from codegen.kernel.program import ExternStep, ViewStep
from codegen.passes.group.group import Group
from codegen.passes.group.roots import Root

Item = Root | ExternStep | ViewStep


class Reach:
    """`before(item)`: the items that an item needs directly."""

    def __init__(self, before: Callable[[Item], Iterable[Item]], group_of: dict[Root, Group]) -> None:
        self.before = before
        self.group_of = group_of
        self.groups: dict[int, int] = {}  # number of a group -> what it needs
        self.steps: dict[int, int] = {}  # id of an operator call -> what it needs

    def needs(self, item: Item, group: Group) -> bool:
        return bool(self.of(item) >> group.number & 1)

    def open(self, group: Group, root: Root) -> None:
        self.groups[group.number] = self._of_all(self.before(root))

    def join(self, group: Group, root: Root) -> None:
        """Everything that needs `group` now also needs what `root` needs."""
        mine = 1 << group.number
        new = self._of_all(self.before(root)) & ~(self.groups[group.number] | mine)
        if not new:
            return
        self.groups[group.number] |= new
        for masks in (self.groups, self.steps):
            for key, mask in masks.items():
                if mask & mine:
                    masks[key] = mask | new

    def of(self, item: Item) -> int:
        """The groups that must run before `item`, as bits. For a root they include its own group."""
        if isinstance(item, Root):
            number = self.group_of[item].number
            return self.groups[number] | 1 << number
        if id(item) not in self.steps:
            self._walk(item)
        return self.steps[id(item)]

    def _of_all(self, items: Iterable[Item]) -> int:
        mask = 0
        for item in items:
            mask |= self.of(item)
        return mask

    def _walk(self, step: ExternStep | ViewStep) -> None:
        """Fill `steps` for a call and for all earlier calls that it needs.

        It is a loop, because chains of calls may be too long for recursion.
        """
        pending = [step]
        while pending:
            top = pending[-1]
            needed = list(self.before(top))
            missing = [i for i in needed if not isinstance(i, Root) and id(i) not in self.steps]
            if missing:
                pending.extend(missing)
            else:
                self.steps[id(top)] = self._of_all(needed)
                pending.pop()
