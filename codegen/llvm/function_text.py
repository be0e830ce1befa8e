"""The text of one LLVM function while it is being written.

In:  instructions, each with the loop level at which its operands are known.
Out: lines in blocks; instructions that do not change in a loop stand before it.

Level 0 is the function's body, level k is the body of the k-th loop around the current statement. An
instruction with all operands known at level k is put before the loop of level k+1, inside that loop's guard,
so it runs only if the loop does:

    define(level=0, "fmul float %a, %b") in a loop     ->     %t1 = fmul ... ; br label %head ; head: ...

The `Frame`s of one vector loop (main part and masked rest) share the code before them.

`module_of(functions)` joins several functions into one module.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field

from capture_records import dataclass


@dataclass(slots=True)
class Frame:
    """The body of an open loop.

    `pre`: instructions before the loop; `known`: texts already computed in the body, by key; `pre_known`: the
    same for `pre`. `nonempty`: the loop runs at least once wherever it is reached. `may_leave`: the function
    may return from the body at a place before the current one.
    """

    lines: list[str] = field(default_factory=list)
    pre: list[str] = field(default_factory=list)
    known: dict[Hashable, str] = field(default_factory=dict)
    pre_known: dict[Hashable, str] = field(default_factory=dict)
    nonempty: bool = True
    may_leave: bool = False


class FunctionText:
    """Collects the lines of a function, the names it declares and its stack slots."""

    def __init__(self) -> None:
        self.entry: list[str] = []
        self.declarations: dict[str, str] = {}
        self.frames = [Frame()]
        self.label = "entry"
        self._count = 0

    @property
    def depth(self) -> int:
        return len(self.frames) - 1

    def temp(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def new_label(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def declare(self, name: str, signature: str) -> None:
        self.declarations[name] = f"declare {signature}"

    def stack_slot(self, type_text: str, align: int = 64) -> str:
        slot = self.temp()
        self.entry.append(f"  {slot} = alloca {type_text}, align {align}")
        return slot

    # --- instructions --------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Adds an instruction at the current place."""
        self.frames[-1].lines.append("  " + text)

    def define(self, level: int, instruction: str) -> str:
        """A new value, computed at `level`. Equal instructions at one place are computed once."""
        known, lines = self._place(level)
        name = known.get(instruction)
        if name is None:
            name = known[instruction] = self.temp()
            lines.append(f"  {name} = {instruction}")
        return name

    def define_here(self, instruction: str) -> str:
        """A new value that depends on memory or control flow: it is computed here and never shared."""
        name = self.temp()
        self.line(f"{name} = {instruction}")
        return name

    def _place(self, level: int) -> tuple[dict[Hashable, str], list[str]]:
        if level == self.depth:
            return self.frames[-1].known, self.frames[-1].lines
        inner = self.frames[level + 1]
        return inner.pre_known, inner.pre

    def reachable_level(self, level: int) -> int:
        """The outermost level, towards `level`, to which a conditional instruction may move.

        Such an instruction (a load) must run only if the current place runs.
        """
        reached = self.depth
        while reached > level and not self.frames[reached].may_leave:
            if reached < self.depth and not self.frames[reached + 1].nonempty:
                break
            reached -= 1
        return reached

    # --- control -------------------------------------------------------------------------------------------

    def start_block(self, label: str) -> None:
        self.frames[-1].lines.append(f"{label}:")
        self.label = label
        # A value that a block computes behind a branch is not known elsewhere. Callers therefore open only
        # blocks that join again at once.

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")

    def guarded(self, condition: str | None, emit: Callable[[], None]) -> None:
        """Runs what `emit` writes only where `condition` holds (None: always).

        `emit` must not define a value that is used after it.
        """
        if condition is None:
            emit()
            return
        inside, after = self.new_label("do"), self.new_label("done")
        self.branch(condition, inside, after)
        outer_known = dict(self.frames[-1].known)
        self.start_block(inside)
        emit()
        self.line(f"br label %{after}")
        self.start_block(after)
        self.frames[-1].known = outer_known

    def either(self, condition: str, first: Callable[[], None], second: Callable[[], None]) -> None:
        """Runs one of the two. Neither may define a value that is used after it."""
        yes, no, after = self.new_label("whole"), self.new_label("part"), self.new_label("done")
        self.branch(condition, yes, no)
        known = dict(self.frames[-1].known)
        for label, emit in ((yes, first), (no, second)):
            self.frames[-1].known = dict(known)
            self.start_block(label)
            emit()
            self.line(f"br label %{after}")
        self.frames[-1].known = known
        self.start_block(after)

    def loop(
        self, start: str, stop: str, step: int | str, frame: Frame, body: Callable[[str], None]
    ) -> list[str]:
        """The lines of `for i = start; i < stop; i += step` that runs at least once, without `frame.pre`.

        The caller emits `frame.pre` and then these lines. The label that is current at the call is the block
        that enters the loop.
        """
        before = self.label
        head, after, index = self.new_label("loop"), self.new_label("after"), self.temp()
        self.frames.append(frame)
        self.label = head
        body(index)
        following = self.temp()
        self.line(f"{following} = add nuw nsw i64 {index}, {step}")
        condition = self.define_here(f"icmp slt i64 {following}, {stop}")
        self.branch(condition, head, after)
        self.frames.pop()
        lines = [
            f"  br label %{head}",
            f"{head}:",
            f"  {index} = phi i64 [ {start}, %{before} ], [ {following}, %{self.label} ]",
        ]
        lines += frame.lines
        lines.append(f"{after}:")
        self.label = after
        return lines


def module_of(functions: list[tuple[dict[str, str], str]]) -> str:
    """One module of several functions; each external name is declared once."""
    declarations: dict[str, str] = {}
    for names, _ in functions:
        declarations.update(names)
    return (
        "\n".join([*(declarations[name] for name in sorted(declarations)), *(text for _, text in functions)])
        + "\n"
    )
