"""A counted loop as LLVM blocks.

In:  bounds, each a number or the text of an i64 value; what writes the body.
Out: the loop, behind a test where it may be empty; no loop around a single iteration.

    run_loop(emitter, 0, "%n", 16, body)     ->     br i1 (0 < %n), label %do, label %done; do: ...; loop:
                                                    phi; body; br; done:
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from codegen.llvm.function_text import Frame

if TYPE_CHECKING:
    from codegen.llvm.emit import KernelEmitter

Bound = int | str


def run_loop(
    emitter: KernelEmitter,
    start: Bound,
    stop: Bound,
    step: int,
    body: Callable[[str, int], None],
    *,
    nonempty: bool = False,
) -> None:
    """`body(text, offset)` is emitted for the index text + offset. Known bounds: no loop around one
    iteration, no test before more.
    `nonempty`: start < stop is known.
    """
    static = nonempty or (isinstance(start, int) and isinstance(stop, int))
    if isinstance(start, int) and isinstance(stop, int):
        if start >= stop:
            return
        if start + step >= stop:
            body("0", start)
            return
    function = emitter.function
    frame = Frame(nonempty=static)

    def blocks() -> None:
        # The frame's `pre` is complete only when the loop's lines are.
        outer = function.frames[-1].lines
        lines = function.loop(str(start), str(stop), step, frame, lambda index: body(index, 0))
        outer += frame.pre + lines

    if static:
        blocks()
        function.frames[-1].known.update(frame.pre_known)
    else:
        function.guarded(function.define_here(f"icmp slt i64 {start}, {stop}"), blocks)
