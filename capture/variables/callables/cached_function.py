"""`functools.lru_cache` around a function, made by the frame.

Its cache is new in each call of the frame, so everything in it is known.

In:  the call of `lru_cache` or `cache`, and calls of the function that it returns.
Out: results, computed once for each key. A function that holds results can't be rebuilt. In that case the
     graph breaks before the function is made.

    @cache
    def f(n): return x * n          f(2) + f(2)   ->   mul = x * 2; mul + mul
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import FunctionVariable
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import NotConstant, Variable, realize
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.rules import rule
from capture.variables.core.shown_names import shown_name
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter

#: Attributes that it takes from the function.
FROM_THE_FUNCTION = ("__name__", "__qualname__", "__doc__", "__module__")


class NewCachedFunction(Variable):
    mutable = True

    def __init__(self, tx: Interpreter, function: Variable, maxsize: int | None, typed: bool) -> None:
        super().__init__(None)
        self.function = function
        self.maxsize = maxsize if maxsize is None else max(maxsize, 0)
        self.typed = typed
        self.results: OrderedDict[Any, Variable] = OrderedDict()
        self.hits = self.misses = 0
        self.born = tx.output.root_step

    def python_type(self) -> type:
        return functools._lru_cache_wrapper

    def describe(self) -> str:
        return f"function with a cache around {self.function.describe()}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "__wrapped__":
            return self.function
        if name in FROM_THE_FUNCTION:
            return self.function.get_attr(tx, name)
        if name in ("cache_info", "cache_clear"):
            return ValueMethod(self, name)
        return super().get_attr(tx, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "cache_info" and not args and not kwargs:
            counts = (self.hits, self.misses, self.maxsize, len(self.results))
            return tx.wrap_constant(functools._CacheInfo(*counts))
        if name == "cache_clear" and not args and not kwargs:
            self.results.clear()
            self.hits = self.misses = 0
            return ConstantVariable(None)
        return super().call_method(tx, name, args, kwargs)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        given = [_key_part(tx, value) for value in args]
        named = {name: _key_part(tx, value) for name, value in kwargs.items()}
        key = functools._make_key(tuple(given), named, self.typed)
        if key in self.results:
            self.hits += 1
            self.results.move_to_end(key)
            return self.results[key]
        self.misses += 1
        result = self.function.call(tx, args, kwargs)
        if self.maxsize != 0 and key not in self.results:  # the function may have called itself
            if self.maxsize is not None and len(self.results) >= self.maxsize:
                self.results.popitem(last=False)
            self.results[key] = result
        return result

    def reconstruct(self, code: PythonCode) -> None:
        if self.hits or self.misses:
            super().reconstruct(code)
        functions = {"maxsize": ConstantVariable(self.maxsize), "typed": ConstantVariable(self.typed)}
        code.call_object(_cached, [self.function], functions)

    def children(self) -> list[Variable]:
        return [self.function, *self.results.values()]


def _cached(function: Any, maxsize: int | None, typed: bool) -> Any:
    return functools.lru_cache(maxsize=maxsize, typed=typed)(function)


def _key_part(tx: Interpreter, value: Variable) -> Any:
    """The key of an argument: numbers and texts are equal by value, tensors by identity."""
    value = tx.output.objects.resolve(realize(value))
    if type(value) is TensorVariable:
        return value
    if lookup_type(value.python_type(), "__hash__") is None:
        raise raise_new(TypeError, f"unhashable type: '{shown_name(value.python_type())}'")
    try:
        key = value.as_constant()
        hash(key)
    except (NotConstant, TypeError):
        raise GraphBreak(
            "call_skipped", name="a function with a cache", why="it looks up its arguments"
        ) from None
    return key


# --- the decorator ----------------------------------------------------------------------------------------


class CacheDecorator(Variable):
    """`lru_cache(maxsize=..., typed=...)`"""

    def __init__(self, maxsize: int | None, typed: bool) -> None:
        super().__init__(None)
        self.maxsize = maxsize
        self.typed = typed

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if len(args) != 1 or kwargs or not isinstance(args[0], FunctionVariable):
            raise GraphBreak("call", value=self)
        return NewCachedFunction(tx, args[0], self.maxsize, self.typed)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(
            functools.lru_cache,
            [],
            {"maxsize": ConstantVariable(self.maxsize), "typed": ConstantVariable(self.typed)},
        )


@rule(functools.lru_cache)
def _lru_cache(
    tx: Interpreter,
    maxsize: Variable = ConstantVariable(128),
    typed: Variable = ConstantVariable(False),
) -> Variable:
    if isinstance(maxsize, FunctionVariable):
        return CacheDecorator(128, bool(typed.as_constant())).call(tx, [maxsize], {})
    size = maxsize.as_constant()
    if size is not None and type(size) is not int:
        raise GraphBreak("builtin", name="lru_cache", value=maxsize)
    return CacheDecorator(size, bool(typed.as_constant()))


@rule(functools.cache)
def _cache(tx: Interpreter, function: Variable) -> Variable:
    return CacheDecorator(None, False).call(tx, [function], {})
