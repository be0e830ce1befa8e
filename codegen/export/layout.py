"""Where each buffer of a Program is when the function runs.

In:  a Program whose steps are kernels, products and views.
Out: `Layout`: for each buffer an argument, a memory of the caller, a constant or a part of the workspace,
     and where it begins in there.

    t = relu(x); return t.sum(0)   ->   x: argument 0; t: workspace + 0; sum: memory 0

The workspace is laid out once: parts whose buffers do not live at the same time share bytes. Where sizes are
open, those of equal size do, and so do the workspaces of all steps.
"""

from __future__ import annotations

from dataclasses import field

from capture_records import dataclass
from codegen.export.interface import WORKSPACE_ALIGNMENT
from codegen.export.products import ProductStep
from codegen.kernel.ir import Binary, Const, Expr, add, floordiv, mul
from codegen.kernel.program import BufferInfo, KernelStep, Program, Step, ViewStep


@dataclass(slots=True)
class Layout:
    """`roots`: by view, (the buffer whose memory it is in, bytes from there to its first element).

    `memories`: the buffers whose memory the caller gives. `offsets`: of buffers in the workspace, in bytes.
    """

    program: Program
    roots: dict[str, tuple[str, Expr]] = field(default_factory=dict)
    memories: list[str] = field(default_factory=list)
    offsets: dict[str, Expr] = field(default_factory=dict)
    workspace: Expr = Const(0)

    def root(self, name: str) -> tuple[str, Expr]:
        return self.roots.get(name, (name, Const(0)))


def layout_of(program: Program) -> Layout:
    layout = Layout(program)
    for step in program.steps:
        if isinstance(step, ViewStep):
            root, start = layout.root(step.base)
            ahead = mul(step.offset, Const(program.buffers[step.base].dtype.itemsize))
            layout.roots[step.output] = root, add(start, ahead)
    for item in program.outputs:
        if isinstance(item, str):
            root, _ = layout.root(item)
            if program.buffers[root].kind != "input" and root not in layout.memories:
                layout.memories.append(root)
    _place_in_workspace(layout)
    return layout


def bytes_of(info: BufferInfo) -> Expr:
    """The bytes from the first element to behind the last one; 0 for an empty tensor."""
    if Const(0) in info.shape:
        return Const(0)
    last: Expr = Const(1)
    for size, stride in zip(info.shape, info.strides, strict=True):
        last = add(last, mul(add(size, Const(-1)), stride))
    return mul(last, Const(info.dtype.itemsize))


def _place_in_workspace(layout: Layout) -> None:
    lives = _lives(layout)
    needed = {name: _rounded_up(bytes_of(layout.program.buffers[name])) for name in lives}
    for position, step in enumerate(layout.program.steps):
        if isinstance(step, ProductStep) and step.workspace != Const(0):
            lives[scratch_of(position)] = position, position
            needed[scratch_of(position)] = _rounded_up(step.workspace)
    if all(isinstance(size, Const) for size in needed.values()):
        _share(layout, lives, {name: size.value for name, size in needed.items() if isinstance(size, Const)})
        return
    _share_equal(layout, lives, needed)


def _lives(layout: Layout) -> dict[str, tuple[int, int]]:
    """For each buffer of the workspace, the first and the last step that touch it."""
    lives: dict[str, tuple[int, int]] = {}
    for position, step in enumerate(layout.program.steps):
        for name in touched(step):
            root, _ = layout.root(name)
            if root not in layout.memories and layout.program.buffers[root].kind not in ("input", "constant"):
                lives[root] = (lives.get(root, (position, 0))[0], position)
    return lives


def scratch_of(position: int) -> str:
    """The name of the workspace that the step at this position has for itself."""
    return f"step {position}"


def touched(step: Step | ProductStep) -> tuple[str, ...]:
    if isinstance(step, (KernelStep, ProductStep)):
        return step.buffers
    return (step.base,) if isinstance(step, ViewStep) else ()


def _share(layout: Layout, lives: dict[str, tuple[int, int]], needed: dict[str, int]) -> None:
    """The largest buffer comes first. Each gets the lowest place that is free while it lives."""
    placed: list[tuple[int, int, int, int]] = []  # begin, end in bytes; birth, death in steps
    total = 0
    for name in sorted(needed, key=lambda name: -needed[name]):
        birth, death = lives[name]
        offset = 0
        for begin, end, other_birth, other_death in sorted(placed):
            if (
                other_birth <= death
                and birth <= other_death
                and offset < end
                and begin < offset + needed[name]
            ):
                offset = end
        placed.append((offset, offset + needed[name], birth, death))
        layout.offsets[name] = Const(offset)
        total = max(total, offset + needed[name])
    layout.workspace = Const(total)


def _share_equal(layout: Layout, lives: dict[str, tuple[int, int]], needed: dict[str, Expr]) -> None:
    """Each buffer gets the place of one of its size that has died, or one behind all others. The workspaces
    of steps are one place, since one step runs at a time.
    """
    free: dict[Expr, list[tuple[int, Expr]]] = {}  # by size: (death of the last buffer there, place)
    scratch: Expr = Const(0)
    steps = {scratch_of(position) for position in range(len(layout.program.steps))}
    for name in sorted(needed, key=lambda name: lives[name]):
        size, (birth, death) = needed[name], lives[name]
        if name in steps:
            scratch = most(scratch, size)
            continue
        places = free.setdefault(size, [])
        known = next((entry for entry in places if entry[0] < birth), None)
        if known is None:
            layout.offsets[name] = layout.workspace
            layout.workspace = add(layout.workspace, size)
        else:
            places.remove(known)
            layout.offsets[name] = known[1]
        places.append((death, layout.offsets[name]))
    for name in steps & needed.keys():
        layout.offsets[name] = layout.workspace
    layout.workspace = add(layout.workspace, scratch)


def most(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(max(left.value, right.value))
    return left if right in (left, Const(0)) else right if left == Const(0) else Binary("max", left, right)


def _rounded_up(size: Expr) -> Expr:
    above = floordiv(add(size, Const(WORKSPACE_ALIGNMENT - 1)), Const(WORKSPACE_ALIGNMENT))
    if isinstance(size, Const):
        return Const((size.value + WORKSPACE_ALIGNMENT - 1) // WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT)
    return mul(above, Const(WORKSPACE_ALIGNMENT))
