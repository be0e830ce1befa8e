"""A counted loop as LLVM blocks.

In:  bounds, each a number or the text of an i64 value; a function that writes the body.
Out: the loop, behind a test where it may be empty; a single iteration gets no loop.

    run_loop(emitter, 0, "%n", 16, body)
    ->  br i1 (0 < %n), label %do, label %done; do: ...; loop: phi; body; br; done:
"""

from __future__ import annotations

from collections.abc import Callable

from codegen.llvm.emitter import Emitter
from codegen.llvm.function_text import Frame

Bound = int | str


def run_loop(
    emitter: Emitter,
    start: Bound,
    stop: Bound,
    step: int,
    body: Callable[[str, int], None],
    *,
    nonempty: bool = False,
) -> None:
    """Calls `body(text, offset)` to emit the body for the index text + offset.

    Known bounds: one iteration gets no loop, more iterations get no test before the loop. `nonempty`: start <
    stop is known.
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
        # The frame's `pre` is complete only when the loop's lines are complete.
        outer = function.frames[-1].lines
        lines = function.loop(str(start), str(stop), step, frame, lambda index: body(index, 0))
        outer += frame.pre + lines

    if static:
        blocks()
        function.frames[-1].known.update(frame.pre_known)
    else:
        function.guarded(function.define_here(f"icmp slt i64 {start}, {stop}"), blocks)
