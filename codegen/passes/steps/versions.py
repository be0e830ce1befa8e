"""The order of steps in an input's memory: the reads and writes of each version.

In:  versions (`codegen.lower.ordered_writes`). Roots or steps, with the buffers that they read and write;
     versions have their own names.
Out: for each writer of a version, the items that must run before: all that read or write the previous
     version.

    x.1[3] = y;  s = sum(x.1);  x.2[3] = 0        x.1 before s, s before x.2

`check_order` walks through the finished order and checks that each step finds the version that it reads. At
the end the versions get the input's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch._ops import OpOverload

from codegen.kernel.program import ExternStep, Ref, Step, ViewStep, root_memory
from codegen.lower.graph import Lowering
from codegen.lower.ordered_writes import MemoryVersion, Unordered
from codegen.lower.tensor_expr import Scattered
from codegen.passes.graph.failures import may_fail
from codegen.passes.group.group import Group
from codegen.passes.group.roots import Root, own_definitions
from codegen.passes.steps.calls import step_reads

Item = Root | ExternStep | ViewStep
Versions = Mapping[str, MemoryVersion]


def inputs_of(versions: Versions) -> set[str]:
    return {version.input for version in versions.values()}


class MemoryOrder:
    """The order of roots, while fusion forms the groups."""

    def __init__(self, lowering: Lowering, roots: Sequence[Root]) -> None:
        self.versions = lowering.versions
        self.input_of = {name: version.input for name, version in self.versions.items()}
        self.input_of |= {name: name for name in inputs_of(self.versions)}
        self.users: dict[str, list[Item]] = {}  # by version or input: the items that read or write it
        self.late: set[int] = set()  # ids of the items that can only run after some write
        self.failing: set[Root] = set()
        if not self.versions:
            return
        for root in roots:
            for name in dict.fromkeys((*root.loads, *(target.buffer for target in root.targets))):
                if name in self.input_of:
                    self.users.setdefault(name, []).append(root)
        by_value = {root.value: root for root in roots}
        self.failing = {root for root in roots if any(map(may_fail, own_definitions(root, by_value)))}
        memory = memory_of_views(lowering.steps)
        for step in lowering.steps:
            for name in dict.fromkeys(root_memory(name, memory) for name in step_reads(step)):
                if name in self.input_of:
                    self.users.setdefault(name, []).append(step)

    def before(self, root: Root) -> Iterator[Item]:
        """The items that must run before the root can write its versions."""
        for target in root.targets if self.versions else ():
            version = self.versions.get(target.buffer)
            if version is not None:
                yield from (item for item in self.users.get(version.before, ()) if item is not root)

    def sorted(self, roots: list[Root], before: Callable[[Item], Iterable[Item]]) -> list[Root]:
        """The roots, each after those that it needs, with new numbers."""
        ordered: list[Root] = []
        done: set[int] = set()
        visiting: set[int] = set()
        for start in roots:
            stack: list[Item] = [start]
            while stack:
                item = stack[-1]
                if id(item) in done:
                    stack.pop()
                    continue
                needed = list(before(item))
                pending = [i for i in needed if id(i) not in done]
                if not pending:
                    stack.pop()
                    done.add(id(item))
                    if isinstance(item, Root):
                        ordered.append(item)
                    if self.versions and (self._writes(item) or any(id(i) in self.late for i in needed)):
                        self.late.add(id(item))
                    continue
                if id(item) in visiting:
                    raise self.circle()
                visiting.add(id(item))
                stack.extend(reversed(pending))
        for number, root in enumerate(ordered):  # in most graphs they are in order already
            root.number = number
        return ordered

    def circle(self) -> Exception:
        if not self.versions:
            return AssertionError("values need each other in a circle")
        return Unordered(inputs_of(self.versions), "a step needs the old contents after a write")

    def keeps_apart(self, group: Group, root: Root) -> bool:
        """Whether the root may not join the group because of the memory of inputs.

        The root and a member may not do different things in the memory of one input. (They may write parts of
        one version together.) A root that may fail may not join roots that run after a write: its failure
        must be known before anything is written.
        """
        if not self.versions:
            return False
        both = [*group.members, root]
        if any(other in self.failing for other in both) and any(id(other) in self.late for other in both):
            return True
        reads, writes = self._read(root), self._written(root)
        for member in group.members:
            others_read, others_write = self._read(member), self._written(member)
            for name in writes.keys() & others_write.keys():
                if writes[name] != others_write[name] or name in reads or name in others_read:
                    return True
            if not writes.keys().isdisjoint(others_read) or not others_write.keys().isdisjoint(reads):
                return True
        return False

    def _read(self, root: Root) -> set[str]:
        """The inputs whose memory it reads."""
        return {self.input_of[name] for name in self._loads(root) if name in self.input_of}

    def _written(self, root: Root) -> dict[str, str]:
        """By input: the version that it writes."""
        return {
            self.versions[target.buffer].input: target.buffer
            for target in root.targets
            if target.buffer in self.versions
        }

    def _writes(self, item: Item) -> bool:
        return isinstance(item, Root) and bool(self._written(item))

    def written_by(self, group: Group) -> set[str]:
        """The versions that the group writes."""
        if not self.versions:
            return set()
        return {name for root in group.members for name in self._written(root).values()}

    def needed_buffers(self, group: Group) -> set[str]:
        """The buffers that the kernel needs the contents of, without the values of other kernels."""
        needed = {name for root in group.members for name in self._loads(root)}
        if self.versions:
            outside = {dep for root in group.members for dep, _ in root.reads if dep not in group.members}
            needed |= {dep.targets[0].buffer for dep in outside if dep.targets} & self.versions.keys()
        return needed

    def _loads(self, root: Root) -> Iterable[str]:
        """The buffers that the root loads, without the version that it scatters into."""
        if not self.versions or not isinstance(root.value, Scattered):
            return root.loads
        own = self._written(root).values()
        return (name for name in root.loads if name not in own)


# --- steps ------------------------------------------------------------------------------------------------


def memory_of_views(steps: Sequence[Step]) -> dict[str, str]:
    """By buffer on the memory of another one: that other buffer.

    The result of an operator that may return a view of its argument counts too.
    """
    memory: dict[str, str] = {}
    for step in steps:
        if isinstance(step, ViewStep):
            memory[step.output] = step.base
        elif isinstance(step, ExternStep) and _may_alias(step.op):
            (base, *_) = step_reads(step) or [""]
            memory.update((name, base) for name in step.outputs if name is not None and base)
    return memory


def _may_alias(op: Any) -> bool:
    if not isinstance(op, OpOverload):
        return False
    return op in _MAYBE_VIEWS or any(
        result.alias_info is not None and not result.alias_info.is_write for result in op._schema.returns
    )


_aten = torch.ops.aten
_MAYBE_VIEWS = frozenset((_aten.reshape.default, _aten.contiguous.default))


def contents_kept(versions: Versions, writes: Sequence[set[str]]) -> dict[str, str]:
    """By version that no step writes, since the written part is empty: the contents that it still has."""
    written = {name for names in writes for name in names}
    kept: dict[str, str] = {}
    for name, version in versions.items():  # each after the version before it
        if name not in written:
            kept[name] = kept.get(version.before, version.before)
    return kept


def written_versions(versions: Versions, kept: Mapping[str, str]) -> Versions:
    """The versions without those of `kept`, whose contents are those of earlier ones."""
    return {
        name: replace(version, before=kept.get(version.before, version.before))
        for name, version in versions.items()
        if name not in kept
    }


def add_needs(
    versions: Versions,
    needs: list[set[int]],
    reads: Sequence[set[str]],
    writes: Sequence[set[str]],
    memory: Mapping[str, str],
) -> None:
    """Add the needs between the users of versions, as positions of steps."""
    users: dict[str, set[int]] = {}
    for number, (read, written) in enumerate(zip(reads, writes, strict=True)):
        for name in {root_memory(name, memory) for name in read} | written if versions else ():
            users.setdefault(name, set()).add(number)
    for number, written in enumerate(writes):
        for name in written & versions.keys():
            needs[number] |= users.get(versions[name].before, set()) - {number}


def check_order(
    versions: Versions,
    steps: Sequence[Sequence[int]],
    reads: Sequence[set[str]],
    writes: Sequence[set[str]],
    memory: Mapping[str, str],
) -> None:
    """Raise AssertionError if a step would find another version than it reads.

    `steps`: in order, the positions of the steps that run together.
    """
    left = {name: sum(name in written for written in writes) for name in versions}
    now = {name: name for name in inputs_of(versions)}
    input_of = {name: version.input for name, version in versions.items()} | now
    for together in steps if versions else ():
        written = {name for number in together for name in writes[number] & versions.keys()}
        for number in together:
            for name in {root_memory(name, memory) for name in reads[number]} & input_of.keys():
                found = now[input_of[name]]
                alone = all(
                    versions[other].input != input_of[name] or other in writes[number] for other in written
                )
                if found != name or left.get(name, 0) or not alone:
                    raise AssertionError(f"a step reads {name}, but the memory contains {found}")
        for name in sorted(written):
            version = versions[name]
            if now[version.input] not in (name, version.before) or left.get(version.before, 0):
                raise AssertionError(f"a step writes {name}, but the memory contains {now[version.input]}")
        for name in written:
            now[versions[name].input] = name
            left[name] -= sum(name in writes[number] for number in together)
    last = {version.before for version in versions.values()}
    for name, version in versions.items():
        if name not in last and now[version.input] != name:
            raise AssertionError(f"at the end the memory of {version.input} contains {now[version.input]}")


def name_inputs(lowering: Lowering) -> None:
    """Calls and views take the input in place of its versions."""
    versions = lowering.versions
    if not versions:
        return

    def renamed(value: Any) -> Any:
        if isinstance(value, Ref) and value.name in versions:
            return Ref(versions[value.name].input)
        if isinstance(value, (tuple, list)):
            return type(value)(map(renamed, value))
        return {key: renamed(item) for key, item in value.items()} if isinstance(value, dict) else value

    steps = lowering.program.steps
    for position, step in enumerate(steps):
        if isinstance(step, ExternStep):
            steps[position] = replace(step, args=renamed(step.args), kwargs=renamed(step.kwargs))
        elif isinstance(step, ViewStep) and step.base in versions:
            steps[position] = replace(step, base=versions[step.base].input)
    for name in versions:
        del lowering.program.buffers[name]
