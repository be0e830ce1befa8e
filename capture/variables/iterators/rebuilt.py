"""Real iterators at the place that the generator of a polyfill has reached.

In:  the generator of a polyfill, at a yield, and its locals.
Out: a call that makes the iterator of `itertools` which Python would have there.

    it = itertools.accumulate(xs); next(it); <break>; list(it)
    ->  behind the break `it` is accumulate(<the rest of xs>), which goes on from the first item
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from capture.variables.callables.polyfills import results_until
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.iterators import polyfills

if TYPE_CHECKING:
    from types import CodeType

    from capture.output.python_code import PythonCode


class Rebuilt(NamedTuple):
    kind: type | None  # the class of the iterator; None: the call of the polyfill says it
    make: Callable[..., Any]  # (whether items were read, *locals) -> the iterator
    names: tuple[str, ...]  # the locals that it takes; None for those that are not bound yet


def accumulate(started: bool, items: Any, function: Any, total: Any, initial: Any) -> Any:
    if not started:
        return itertools.accumulate(items, function, initial=initial)
    made: Any = itertools.accumulate(items, function)
    made.__setstate__(total)
    return made


def chain(started: bool, iterables: Any, walk: Any) -> Any:
    made: Any = itertools.chain()
    made.__setstate__((iterables, walk) if started else (iterables,))
    return made


def islice(started: bool, items: Any, start: Any, stop: Any, step: Any, index: Any, wanted: Any) -> Any:
    if not started:
        return itertools.islice(items, start, stop, step)
    read = index + 1
    skipped = wanted + step - read
    if stop is None:
        return itertools.islice(items, skipped, None, step)
    left = max(stop - read, 0)
    return itertools.islice(items, min(skipped, left), left, step)


def cycle(started: bool, items: Any, saved: Any, walk: Any) -> Any:
    made: Any = itertools.cycle(items if walk is None else walk)
    if started:
        made.__setstate__((saved, walk is not None))
    return made


def pairwise(started: bool, items: Any, right: Any) -> Any:
    return itertools.pairwise(itertools.chain((right,), items) if started else items)


def dropwhile(started: bool, predicate: Any, items: Any) -> Any:
    made: Any = itertools.dropwhile(predicate, items)
    made.__setstate__(started)
    return made


def zip_longest(started: bool, iterators: Any, fillvalue: Any) -> Any:
    ended: Iterator[Any] = iter(())
    return itertools.zip_longest(*[ended if i is None else i for i in iterators], fillvalue=fillvalue)


def each(started: bool, made_by: Any, pools: Any, read: Any) -> Any:
    """The iterators over combinations. They hold all their items from the first, and run no code."""
    made = made_by(*pools)
    for _ in range(read if started else 0):
        next(made)
    return made


def _same_call(cls: Any) -> Callable[..., Any]:
    return lambda started, *args: cls(*args)


def _code_of(function: Any) -> CodeType:
    code: CodeType = function.__code__
    return code


_ROWS: list[tuple[Any, type | None, Callable[..., Any], str]] = [
    (polyfills._accumulate, itertools.accumulate, accumulate, "items function total initial"),
    (polyfills._flattened, itertools.chain, chain, "iterables walk"),
    (polyfills._islice, itertools.islice, islice, "items start stop step index wanted"),
    (polyfills._cycle, itertools.cycle, cycle, "items saved walk"),
    (polyfills._pairwise, itertools.pairwise, pairwise, "items right"),
    (polyfills._starmap, itertools.starmap, _same_call(itertools.starmap), "function rows"),
    (polyfills._takewhile, itertools.takewhile, _same_call(itertools.takewhile), "predicate items"),
    (polyfills._dropwhile, itertools.dropwhile, dropwhile, "predicate items"),
    (polyfills._zip_longest, itertools.zip_longest, zip_longest, "iterators fillvalue"),
    (polyfills._compress, itertools.compress, _same_call(itertools.compress), "items selectors"),
    (polyfills._filterfalse, itertools.filterfalse, _same_call(itertools.filterfalse), "function items"),
    (polyfills._each, None, each, "made_by pools read"),
    (results_until, type(iter(int, 0)), _same_call(iter), "function sentinel"),
]
REBUILT: dict[CodeType, Rebuilt] = {
    _code_of(function): Rebuilt(kind, make, tuple(names.split())) for function, kind, make, names in _ROWS
}


def ended(kind: Any) -> Any:
    """An iterator of this class that has no items left."""
    return ENDED[kind]() if kind in ENDED else kind(())


ENDED: dict[type, Callable[[], Any]] = {
    itertools.islice: lambda: itertools.islice((), 0),
    itertools.compress: lambda: itertools.compress((), ()),
    itertools.combinations: lambda: itertools.combinations((), 1),
    itertools.combinations_with_replacement: lambda: itertools.combinations_with_replacement((), 1),
    itertools.permutations: lambda: itertools.permutations((), 1),
    **{
        cls: lambda cls=cls: cls(None, ())  # type: ignore[misc]
        for cls in (itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.filterfalse)
    },
    type(iter(int, 0)): lambda: _read_out(iter(int, 0)),
}


def _read_out(iterator: Iterator[Any]) -> Iterator[Any]:
    for _ in iterator:
        pass
    return iterator


def locals_of(frame_locals: dict[str, Variable], rebuilt: Rebuilt) -> list[Variable]:
    return [frame_locals.get(name, ConstantVariable(None)) for name in rebuilt.names]


def load(code: PythonCode, rebuilt: Rebuilt, frame_locals: dict[str, Variable], started: bool) -> None:
    code.call_object(rebuilt.make, [ConstantVariable(started), *locals_of(frame_locals, rebuilt)])
