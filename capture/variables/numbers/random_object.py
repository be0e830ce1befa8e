"""Generators of the class `random.Random`, each with one stream.

In:  an existing generator, or `random.Random(seed)` in the frame.
Out: the numbers themselves, if the frame seeds or makes the generator. Its state is then known, and a real
     generator in that state follows the program. For another generator, numbers that are drawn when the
     frame's code starts, like the draws of the module (`random_draws`).

    r = random.Random(3); return x * r.random()   ->   x * 0.23796462709189137
    return x * self.rng.random()                  ->   draw_0 = self.rng.random()
                                                       return graph_0(x, draw_0)[0]
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import UserFunctionVariable
from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import NONE, ConstantVariable, fold
from capture.variables.core.rules import rule
from capture.variables.core.wrap import guard_type, wraps
from capture.variables.numbers.random_draws import BOUNDS_OF_METHODS, constants_of, may_run_python
from capture.variables.objects.wrap import wrap_object
from guards.sources import ConstantSource, Source

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output


class RandomVariable(Variable):
    """`held` is a generator in the same state as the program's. It is None if that state is not known."""

    mutable = True

    def __init__(self, value: Any, source: Source | None, held: random.Random | None = None) -> None:
        super().__init__(source)
        self.value = value
        self.held = held

    def python_type(self) -> type:
        return random.Random

    def real_value(self) -> Any:
        if self.value is None:
            raise NotConstant(self)
        return self.value

    def describe(self) -> str:
        return f"Random object {self.source.text}" if self.source else "Random object"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "gauss_next" and self.held is not None:
            return ConstantVariable(self.held.gauss_next)  # type: ignore[attr-defined]
        return method_of_value(tx, self, name)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        if name != "gauss_next" or self.held is None:
            raise GraphBreak("set_attr", value=self, name=name)
        tx.output.side_effects.will_mutate(self)
        self.held.gauss_next = value.as_constant()  # type: ignore[attr-defined]

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if self.source is not None:
            tx.output.guarding.no_attribute(self, name)
        if name in ("seed", "setstate"):
            return self._set_state(tx, name, args, kwargs)
        if self.held is None:
            return self._draw(tx, name, args, kwargs)
        if name in ("random", "getrandbits", "getstate"):
            tx.output.side_effects.will_mutate(self)
            return fold(getattr(self.held, name), args, kwargs)
        written = getattr(random.Random, name, None)
        if not hasattr(written, "__code__"):
            raise missing_method(self, name)
        function = UserFunctionVariable(written, ConstantSource(written))  # type: ignore[arg-type]
        return tx.inline(function, [self, *args], kwargs)

    def _set_state(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        held = random.Random() if self.held is None else self.held
        of_system = name == "seed" and all(value.is_exactly(None) for value in (*args, *kwargs.values()))
        if of_system or self.value is random.getstate.__self__:  # type: ignore[attr-defined]
            raise GraphBreak("method", name=name, value=self)
        fold(getattr(held, name), args, kwargs)
        tx.output.side_effects.will_mutate(self)
        self.held = held
        return NONE

    def _draw(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        bounds_for = BOUNDS_OF_METHODS.get(name)
        values = constants_of(getattr(random, name), args, kwargs) if bounds_for is not None else None
        bounds = bounds_for(*values) if bounds_for is not None and values is not None else None
        if values is None or bounds is None or self.source is None or may_run_python(tx.output):
            raise GraphBreak("method", name=name, value=self)
        return tx.output.inputs.add_draw(name, values, bounds, self.source)

    def reconstruct(self, code: PythonCode) -> None:
        assert self.held is not None
        code.call_object(generator_in_state, [ConstantVariable(self.held.getstate())])

    def replay_change(self, code: PythonCode, before: Any) -> None:
        if self.held is not None:
            code.call_object(random.Random.setstate, [self, ConstantVariable(self.held.getstate())])
            code.pop()


def generator_in_state(state: Any) -> random.Random:
    generator = random.Random()
    generator.setstate(state)
    return generator


@wraps(random.Random)
def wrap_random(output: Output, value: random.Random, source: Source | None) -> Variable:
    if vars(value).keys() - {"gauss_next"}:
        return wrap_object(output, value, source)
    guard_type(output, value, source)
    return RandomVariable(value, source)


@rule(random.Random)
def _random(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    seed = [*args, *kwargs.values()]
    if not seed or seed[0].is_exactly(None):
        raise GraphBreak("call", value="class Random without a seed")
    result = RandomVariable(None, None, random.Random())
    result._set_state(tx, "seed", seed, {})
    return result
