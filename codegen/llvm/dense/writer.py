"""Index arithmetic, loops and memory of the dense kernels, as LLVM text.

In:  numbers: a Python int, or the text of an i64 value that is known at run time only.
Out: numbers; instructions in a `FunctionText` where they are not known before.

    w.add(w.multiply(3, 4), "%i")   ->   %t1 = add i64 %i, 12

What is known is computed here, so one piece of code writes a kernel for fixed sizes and for open ones. With
numbers alone nothing is written: the same code says how much memory a kernel needs.
"""

from __future__ import annotations

from collections.abc import Callable

from codegen.llvm.function_text import Frame, FunctionText
from codegen.llvm.target import Target
from codegen.llvm.types import SIZES, memory_type, register_type
from codegen.llvm.values import Code, splat

Number = int | str


class Writer:
    """Writes at the current place of `function`. Every value is computed where it stands."""

    def __init__(self, function: FunctionText, target: Target) -> None:
        self.function = function
        self.target = target

    def code(self, lanes: int) -> Code:
        """Writes the instructions of values in that many lanes."""
        return Code(self.function, self.target, self.function.depth, lanes)

    def define(self, instruction: str) -> str:
        return self.function.define(self.function.depth, instruction)

    # --- numbers -------------------------------------------------------------------------------------------

    def add(self, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 or right == 0:
            return right if left == 0 else left
        return self.define(f"add nsw i64 {left}, {right}")

    def subtract(self, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        return left if right == 0 else self.define(f"sub nsw i64 {left}, {right}")

    def multiply(self, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if left == 0 or right == 0:
            return 0
        if left == 1 or right == 1:
            return right if left == 1 else left
        return self.define(f"mul nsw i64 {left}, {right}")

    def quotient(self, left: Number, right: Number) -> Number:
        """left // right, neither negative."""
        if isinstance(left, int) and isinstance(right, int):
            return left // right
        return left if right == 1 else self.define(f"udiv i64 {left}, {right}")

    def rounded_up(self, number: Number, step: int) -> Number:
        """The least multiple of `step` that is not below `number`."""
        return self.multiply(self.quotient(self.add(number, step - 1), step), step)

    def least(self, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        return self.choose(self.define(f"icmp slt i64 {left}, {right}"), left, right)

    def choose(self, condition: bool | str, yes: Number, no: Number) -> Number:
        if isinstance(condition, bool):
            return yes if condition else no
        return self.define(f"select i1 {condition}, i64 {yes}, i64 {no}")

    def choose_pointer(self, condition: bool | str, yes: str, no: str) -> str:
        if isinstance(condition, bool):
            return yes if condition else no
        return self.define(f"select i1 {condition}, ptr {yes}, ptr {no}")

    def both(self, left: bool | str, right: bool | str) -> bool | str:
        if isinstance(left, bool):
            return right if left else False
        if isinstance(right, bool):
            return left if right else False
        return self.define(f"and i1 {left}, {right}")

    def holds(self, comparison: str, left: Number, right: Number) -> bool | str:
        """left `comparison` right, for one of LLVM's names: "slt", "sge", "eq"."""
        if isinstance(left, int) and isinstance(right, int):
            return {"slt": left < right, "sge": left >= right, "eq": left == right}[comparison]
        return self.define(f"icmp {comparison} i64 {left}, {right}")

    def either(self, left: bool | str, right: bool | str) -> bool | str:
        if isinstance(left, bool):
            return True if left else right
        if isinstance(right, bool):
            return True if right else left
        return self.define(f"or i1 {left}, {right}")

    def negated(self, condition: bool | str) -> bool | str:
        return not condition if isinstance(condition, bool) else self.define(f"xor i1 {condition}, true")

    # --- control -------------------------------------------------------------------------------------------

    def loop(self, start: Number, stop: Number, step: Number, body: Callable[[Number], None]) -> None:
        """`body(index)` for start, start + step ... below `stop`, and for `start` in any case.

        The caller knows that the loop is not empty, or means the first turn to be there always.
        """
        once = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
        if once and start + step >= stop:  # type: ignore[operator]
            body(start)
            return
        frame = Frame()
        lines = self.function.loop(str(start), str(stop), step, frame, body)
        self.function.frames[-1].lines += frame.pre + lines

    def loop_if(self, start: Number, stop: Number, step: int, body: Callable[[Number], None]) -> None:
        """The same, and no turn where `stop` is not above `start`."""
        self.when(self.holds("slt", start, stop), lambda: self.loop(start, stop, step, body))

    def when(
        self, condition: bool | str, then: Callable[[], None], otherwise: Callable[[], None] | None = None
    ) -> None:
        """One of the two. Neither may define a value that is used behind it."""
        if isinstance(condition, bool):
            if condition:
                then()
            elif otherwise is not None:
                otherwise()
        elif otherwise is None:
            self.function.guarded(condition, then)
        else:
            self.function.either(condition, then, otherwise)

    # --- memory --------------------------------------------------------------------------------------------

    def at(self, pointer: str, dtype: str, index: Number) -> str:
        """The address of element `index`."""
        if index == 0:
            return pointer
        element = memory_type(dtype, 1)
        return self.define(f"getelementptr {element}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, dtype: str, lanes: int) -> str:
        """`lanes` elements that lie side by side."""
        return self.function.define_here(
            f"load {memory_type(dtype, lanes)}, ptr {pointer}, align {SIZES[dtype]}"
        )

    def store(self, pointer: str, dtype: str, lanes: int, value: str) -> None:
        self.function.line(f"store {memory_type(dtype, lanes)} {value}, ptr {pointer}, align {SIZES[dtype]}")

    def splat(self, dtype: str, value: str, lanes: int) -> str:
        return splat(self.function, register_type(dtype, 1), value, self.function.depth, lanes)

    def lane(self, dtype: str, value: str, lanes: int, lane: int) -> str:
        if lanes == 1:
            return value
        return self.define(f"extractelement {register_type(dtype, lanes)} {value}, i64 {lane}")

    # --- variables -----------------------------------------------------------------------------------------

    def variable(self, kind: str, value: str) -> str:
        """A stack slot of LLVM type `kind`; the passes turn it into registers."""
        slot = self.function.stack_slot(kind)
        self.function.line(f"store {kind} {value}, ptr {slot}")
        return slot

    def get(self, kind: str, slot: str) -> str:
        return self.function.define_here(f"load {kind}, ptr {slot}")

    def set(self, kind: str, slot: str, value: str) -> None:
        self.function.line(f"store {kind} {value}, ptr {slot}")
