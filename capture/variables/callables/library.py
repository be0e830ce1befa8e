"""Callables that the standard library makes.

In:  calls of `operator.itemgetter(...)` and similar objects, of functions with a cache, of the `dispatch` of
     `functools.singledispatch`, of the `__repr__` of a dataclass.
Out: the result. Python code that does the same is inlined, or the cache is read under a guard.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import types
from typing import TYPE_CHECKING, Any

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import decode
from capture.report.break_reasons import GraphBreak
from capture.variables.callables import cache_entries
from capture.variables.callables.constant_result import constant_result, is_assumed_constant
from capture.variables.callables.polyfills import MADE_CALLABLES
from capture.variables.core.base import ObservedException, Variable, realize
from capture.variables.objects.user_object import ObjectVariable
from guards.kinds.containers import LengthGuard
from guards.kinds.identity import IdentityGuard
from guards.sources import ConstantSource, DictItemSource
from guards.values import constants_equal, is_constant

if TYPE_CHECKING:
    from types import FunctionType

    from capture.output.python_code import PythonCode
    from capture.variables.callables.function import UserFunctionVariable
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class LibraryCallable(Variable):
    """`operator.itemgetter(...)` and similar objects. A call inlines Python code that does the same."""

    def __init__(
        self, cls: type, args: list[Variable], kwargs: dict[str, Variable], source: Source | None = None
    ) -> None:
        super().__init__(source)
        self.cls = cls
        self.args = args
        self.kwargs = kwargs

    def python_type(self) -> type:
        return self.cls

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if len(args) != 1 or kwargs:
            raise GraphBreak("call", value=self)
        return tx.wrap_function(MADE_CALLABLES[self.cls]).call(tx, [args[0], *self.args], self.kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_callable(self.cls)
        for value in (*self.args, *self.kwargs.values()):
            code.load(value)
        code.call(len(self.args) + len(self.kwargs), tuple(self.kwargs))

    def children(self) -> list[Variable]:
        return [*self.args, *self.kwargs.values()]


class CachedFunctionVariable(Variable):
    """A function under `functools.lru_cache`. A call returns the object in its cache.

    A call that only writes texts (`logger.warning_once(...)`) runs behind the graph.
    """

    def __init__(self, function: Any, source: Source) -> None:
        super().__init__(source)
        self.function = function

    def python_type(self) -> type:
        return functools._lru_cache_wrapper

    def describe(self) -> str:
        return f"function {self.function.__wrapped__.__qualname__} with a cache"

    def real_value(self) -> Any:
        return self.function

    def truth(self, tx: Interpreter) -> bool:
        return True

    def wrapped(self, tx: Interpreter) -> Variable:
        return tx.wrap(self.function.__wrapped__, ConstantSource(self.function.__wrapped__))

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "__wrapped__":
            return self.wrapped(tx)
        if name in ("__name__", "__qualname__", "__doc__", "__module__"):
            return tx.wrap_constant(getattr(self.function, name))
        return super().get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        wrapped = self.function.__wrapped__
        if type(wrapped) is types.FunctionType and is_assumed_constant(wrapped):
            return constant_result(tx, self.function, args, kwargs)
        given = tuple(_key_value(tx, value) for value in args)
        named = {name: _key_value(tx, value) for name, value in kwargs.items()}
        known = _UNKNOWN not in (*given, *named.values())
        if known and (held := self._held(tx, given, named)) is not None:
            return held
        effects = tx.output.side_effects
        before, texts = (len(tx.output.graph.nodes), effects.change_count()), len(effects.deferred)
        try:
            result = self.wrapped(tx).call(tx, args, kwargs)
        except ObservedException:
            if known:  # an error is not in the cache
                raise
            raise self._call_skipped() from None
        written = len(effects.deferred) - texts
        after = len(tx.output.graph.nodes), effects.change_count() - written
        if before == after and (written or not known) and self._may_run_later(tx, result, args, kwargs):
            effects.deferred.replace(texts, tx, self.function, args, kwargs)
            return result
        if before == after and known and not written:
            if not cache_entries.is_full(self.function):
                self._ask(given, named)
                if (held := self._held(tx, given, named)) is not None:
                    return held
            elif result.is_constant() and not self._is_guarded(tx):
                self._check_cached(given, named, result)
                return result
        raise self._call_skipped()

    def _call_skipped(self) -> GraphBreak:
        name = self.function.__wrapped__.__qualname__
        return GraphBreak("call_skipped", name=name, why="its results are cached")

    def _may_run_later(
        self, tx: Interpreter, result: Variable, args: list[Variable], kwargs: dict[str, Variable]
    ) -> bool:
        """Whether the call gives None behind the graph too, whatever the cache has, and evicts no entry."""
        if not result.is_exactly(None) or not gives_only_none(self.function.__wrapped__):
            return False
        given = [tx.output.objects.resolve(realize(value)) for value in (*args, *kwargs.values())]
        kept = all(value.is_constant() or _is_unchanged_object(tx, value) for value in given)
        return kept and self.function.cache_info().maxsize is None

    def _ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Fills the cache as the program's call would. The call has no other effect."""
        try:
            return self.function(*args, **kwargs)
        except Exception as error:
            raise GraphBreak("raised", error=repr(error)) from error

    def _is_guarded(self, tx: Interpreter) -> bool:
        """Whether a guard holds an entry of the cache. A new call might evict that entry."""
        cache = ConstantSource(cache_entries.cache_of(self.function))
        sources = [source for guard in tx.output.guards for source in guard.sources]
        return any(isinstance(source, DictItemSource) and source.parent == cache for source in sources)

    def _check_cached(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Variable) -> None:
        """Breaks if the cache holds an old result that the function would not compute now."""
        held = self._ask(args, kwargs)
        if not (is_constant(held) and constants_equal(held, result.as_constant())):
            raise GraphBreak(
                "call_skipped",
                name=self.function.__wrapped__.__qualname__,
                why="its cache holds another result",
            )

    def _held(self, tx: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variable | None:
        """The object in the cache for the call. A guard checks that the cache still has it."""
        entry = cache_entries.entry_for(self.function, args, kwargs)
        if entry is None:
            return None
        source = DictItemSource(ConstantSource(entry.cache), entry.key)
        tx.output.guards.add(IdentityGuard.of(source, entry.found))
        result = self.function(*args, **kwargs)
        return tx.wrap(result, ConstantSource(result))


_UNKNOWN = object()


def _key_value(tx: Interpreter, value: Variable) -> Any:
    """The real argument, if it is known and its hash runs no code of the program.

    It is a constant, or an object that another cache holds.
    """
    value = tx.output.objects.resolve(realize(value))
    if value.is_constant():
        return value.as_constant()
    if not isinstance(value, ObjectVariable) or not isinstance(value.source, ConstantSource):
        return _UNKNOWN
    real = value.real_value()
    return real if cache_entries.is_plain_key(real) else _UNKNOWN


def gives_only_none(function: Any) -> bool:
    """Whether each `return` of the function is one of None: then so is each entry of its cache."""
    if not isinstance(function, types.FunctionType):
        return False
    instructions = decode(function.__code__).instructions
    targets = {instruction.target for instruction in instructions}
    return all(
        before.name in dialect.LOADS_CONSTANT and before.value is None and after.index not in targets
        for before, after in itertools.pairwise(instructions)
        if after.name in dialect.RETURNS
    )


def _is_unchanged_object(tx: Interpreter, value: Variable) -> bool:
    """Whether it is an existing object whose hash runs no code of the program."""
    if not isinstance(value, ObjectVariable) or value.source is None:
        return False
    return not tx.output.side_effects.is_mutated(value) and cache_entries.is_plain_key(value.real_value())


def is_dispatch(function: FunctionType) -> bool:
    """Whether it is the `dispatch` of a function made by functools.singledispatch."""
    return function.__qualname__ == "singledispatch.<locals>.dispatch" and function.__module__ == "functools"


def dispatch(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """The function that it chooses. The choice is a constant until another function is registered."""
    dispatcher: Any = function.function
    names = dispatcher.__code__.co_freevars
    registry = dispatcher.__closure__[names.index("registry")].cell_contents
    chosen = dispatcher(args[0].real_value())
    source = ConstantSource(registry)
    tx.output.guards.add(LengthGuard.of(source, registry))
    key = next(k for k, v in registry.items() if v is chosen)
    return tx.wrap(chosen, DictItemSource(source, key))


def is_recursive_repr(function: FunctionType) -> bool:
    """Whether it is the `__repr__` of a dataclass, which keeps the ids of the objects that it prints."""
    code = function.__code__
    return code.co_qualname == "_recursive_repr.<locals>.wrapper" and code.co_filename == dataclasses.__file__


def recursive_repr(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """Calls the wrapped function. An object that contains itself reaches the limit of nested calls."""
    wrapper: Any = function.function
    names = wrapper.__code__.co_freevars
    written = wrapper.__closure__[names.index("user_function")].cell_contents
    return tx.wrap(written, ConstantSource(written)).call(tx, args, kwargs)


MAKERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
