"""Callables that the standard library makes: itemgetter and its kin, functions with a cache, the choice of singledispatch."""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.variables.base import Variable
from guards import guard as make_guard
from guards.source import ConstantSource, DictItemSource
from guards.values import constants_equal, is_constant

if TYPE_CHECKING:
    from types import FunctionType

    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from capture.variables.function import UserFunctionVariable
    from guards.source import Source


class LibraryCallable(Variable):
    """`operator.itemgetter(...)` and the like; a call inlines what they do, written in Python."""

    def __init__(
        self, cls: type, args: list[Variable], kwargs: dict[str, Variable], source: Source | None = None
    ) -> None:
        super().__init__(source)
        self.cls = cls
        self.args = args
        self.kwargs = kwargs

    def python_type(self) -> type:
        return self.cls

    def truth(self, tx: Translator) -> bool:
        return True

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        from capture.polyfills import MADE_CALLABLES

        if len(args) != 1 or kwargs:
            raise GraphBreak("call", value=self)
        return tx.wrap_function(MADE_CALLABLES[self.cls]).call(tx, [args[0], *self.args], self.kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.emit("PUSH_NULL")
        code.load_constant(self.cls)
        for value in (*self.args, *self.kwargs.values()):
            code.load(value)
        if self.kwargs:
            code.emit("KW_NAMES", tuple(self.kwargs))
        code.call(len(self.args) + len(self.kwargs))

    def children(self) -> list[Variable]:
        return [*self.args, *self.kwargs.values()]


class CachedFunctionVariable(Variable):
    """A function under `functools.lru_cache`. A call is inlined if it could as well have been answered from the cache."""

    def __init__(self, function: Any, source: Source) -> None:
        super().__init__(source)
        self.function = function

    def python_type(self) -> type:
        return functools._lru_cache_wrapper

    def describe(self) -> str:
        return f"function {self.function.__wrapped__.__qualname__} with a cache"

    def real_value(self) -> Any:
        return self.function

    def truth(self, tx: Translator) -> bool:
        return True

    def wrapped(self, tx: Translator) -> Variable:
        return tx.wrap(self.function.__wrapped__, ConstantSource(self.function.__wrapped__))

    def get_attr(self, tx: Translator, name: str) -> Variable:
        if name == "__wrapped__":
            return self.wrapped(tx)
        if name in ("__name__", "__qualname__", "__doc__", "__module__"):
            return tx.wrap_constant(getattr(self.function, name))
        return super().get_attr(tx, name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        before = len(tx.output.graph.nodes), tx.output.side_effects.change_count()
        result = self.wrapped(tx).call(tx, args, kwargs)
        after = len(tx.output.graph.nodes), tx.output.side_effects.change_count()
        if (
            before != after
            or not result.is_constant()
            or not all(a.is_constant() for a in [*args, *kwargs.values()])
        ):
            raise GraphBreak(
                "call_skipped", name=self.function.__wrapped__.__qualname__, why="its results are cached"
            )
        self._check_cached(args, kwargs, result)
        return result

    def _check_cached(self, args: list[Variable], kwargs: dict[str, Variable], result: Variable) -> None:
        """The cache may have an answer from before the world changed; asking fills it, as the program's call would."""
        try:
            held = self.function(
                *(a.as_constant() for a in args), **{k: v.as_constant() for k, v in kwargs.items()}
            )
        except Exception as error:
            raise GraphBreak("raised", error=repr(error)) from error
        if not (is_constant(held) and constants_equal(held, result.as_constant())):
            raise GraphBreak(
                "call_skipped",
                name=self.function.__wrapped__.__qualname__,
                why="its cache holds another result",
            )


def is_dispatch(function: FunctionType) -> bool:
    """The `dispatch` of a function made by functools.singledispatch."""
    return function.__qualname__ == "singledispatch.<locals>.dispatch" and function.__module__ == "functools"


def dispatch(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """Its choice is a constant as long as nothing is registered."""
    dispatcher: Any = function.function
    names = dispatcher.__code__.co_freevars
    registry = dispatcher.__closure__[names.index("registry")].cell_contents
    chosen = dispatcher(args[0].real_value())
    source = ConstantSource(registry)
    tx.output.guards.add(make_guard.length_match(source, registry))
    key = next(k for k, v in registry.items() if v is chosen)
    return tx.wrap(chosen, DictItemSource(source, key))


def is_recursive_repr(function: FunctionType) -> bool:
    """The `__repr__` of a dataclass, which keeps the ids of what it is at work on."""
    code = function.__code__
    return code.co_qualname == "_recursive_repr.<locals>.wrapper" and code.co_filename == dataclasses.__file__


def recursive_repr(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """What it wraps; an object that contains itself reaches the limit of nested calls."""
    wrapper: Any = function.function
    names = wrapper.__code__.co_freevars
    written = wrapper.__closure__[names.index("user_function")].cell_contents
    return tx.wrap(written, ConstantSource(written)).call(tx, args, kwargs)


MAKERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
