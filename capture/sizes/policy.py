"""Which sizes and ints become symbols.

In:  the `dynamic` setting, marks on tensors, and what earlier captures of the same code saw.
Out: `SizePolicy`: the dims of a tensor that are symbols, and whether an int is one.

    dynamic=None:  f(x[3, 4]) captured, x[5, 4] comes   ->   dim 0 of x changed: a symbol from now on

A size or int that two captures of a code object found at the same place with different values counts as
changing. Values are remembered for each converter (one way to capture) and code object; `forget_all` belongs
to `capture.reset()`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType

import torch

from capture.bytecode.resume import STACK_ITEM
from capture.policy import marks
from guards.sources import ConstantSource, FreeCellSource, FunctionFieldSource, LocalSource, Source

DYNAMIC = -1  # in place of a remembered size that changed
VALUES_OF_FLAGS = 3
INT64 = range(-(2**63), 2**63)
FIXED_FIELDS = (
    "__defaults__",
    "__kwdefaults__",
    "__globals__",
)  # of functions: what the program writes down once


@dataclass
class Seen:
    """What the captures of one code object saw, by the source's text. An int, float or position of an
    iterator that changed is None, and so are the sizes of a tensor whose number of dims changed. `written`:
    attributes and globals that the code sets; `counters`: the values of ints among them.
    """

    sizes: dict[str, list[int] | None] = field(default_factory=dict)
    ints: dict[str, int | None] = field(default_factory=dict)
    floats: dict[str, float | None] = field(default_factory=dict)
    positions: dict[str, int | None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    counters: dict[str, set[int]] = field(default_factory=dict)


class SizeHistory:
    """What the captures of one converter saw. Code objects compare by value, so they are known by identity
    here.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[weakref.ref[CodeType], Seen]] = {}
        _histories.add(self)

    def of(self, code: CodeType) -> Seen:
        held = self._seen.get(id(code))
        if held is not None and held[0]() is code:
            return held[1]
        seen = Seen()
        key = id(code)
        self._seen[key] = weakref.ref(code, lambda _: self._seen.pop(key, None)), seen
        return seen

    def clear(self) -> None:
        self._seen.clear()


_histories: weakref.WeakSet[SizeHistory] = weakref.WeakSet()


def forget_all() -> None:
    """Every size is static again."""
    for history in list(_histories):
        history.clear()


class SizePolicy:
    """Decides for one capture. `dynamic` as in `enable(dynamic=...)`. `numbers`: nothing is symbolic,
    whatever is marked.
    """

    def __init__(self, dynamic: bool | None, seen: Seen, numbers: bool = False) -> None:
        self.dynamic = dynamic
        self.seen = seen
        self.numbers = numbers

    def dynamic_dims(
        self, tensor: torch.Tensor, source: Source, of_module: Callable[[Source], bool]
    ) -> dict[int, marks.DimRange | None]:
        """The dims that are symbols. A module's own tensors are not, nor is a tensor that the guards know by
        identity.

        None: nothing is known of the dim, and with sizes equal to its own it shares a symbol. One that is
        marked or changed has its own.
        """
        if self.numbers or isinstance(source.root, ConstantSource):
            return {}
        static = marks.static_dims(tensor)
        marked = {dim: bounds for dim, bounds in marks.dynamic_dims(tensor).items() if dim not in static}
        if self.dynamic is False or isinstance(tensor, torch.nn.Parameter) or of_module(source):
            return {**marked}
        alone = {**dict.fromkeys(self._changed_dims(tensor, source.text), _UNBOUNDED), **marked}
        dims = range(tensor.dim()) if self.dynamic else ()
        return {dim: alone.get(dim) for dim in {*dims, *alone} if dim not in static}

    def as_numbers(self) -> SizePolicy:
        """The policy under which nothing is symbolic."""
        return SizePolicy(False, self.seen, numbers=True)

    def _changed_dims(self, tensor: torch.Tensor, name: str) -> list[int]:
        sizes = list(tensor.shape)
        known = self.seen.sizes.setdefault(name, sizes)
        if known is None or len(known) != len(sizes):
            self.seen.sizes[name] = None
            return list(range(len(sizes)))
        for dim, size in enumerate(sizes):
            if known[dim] != size:
                known[dim] = DYNAMIC
        return [dim for dim, size in enumerate(known) if size == DYNAMIC]

    def is_dynamic_int(self, value: int, source: Source, of_module: Callable[[Source], bool]) -> bool:
        """Ints that a caller passes or a closure holds, in containers and plain objects too; not those of
        modules, globals and defaults, but for counters, which the code itself goes on with.
        """
        if self.dynamic is False or value not in INT64:
            return False
        if not _is_variable(source, of_module):
            return self._is_counter(value, source)
        known = self.seen.ints.setdefault(source.text, value)
        if known is not None and known != value:
            self.seen.ints[source.text] = known = None
        return bool(self.dynamic) or known is None

    def _is_counter(self, value: int, source: Source) -> bool:
        """A flag has few values: each is a constant of a capture of its own."""
        if source.text not in self.seen.written:
            self.seen.counters[source.text] = {value}
            return False
        values = self.seen.counters.setdefault(source.text, set())
        values.add(value)
        return len(values) > VALUES_OF_FLAGS

    def is_dynamic_float(self, value: float, source: Source, of_module: Callable[[Source], bool]) -> bool:
        """Floats at the places of `is_dynamic_int`; anywhere else once they had two values (a learning rate,
        the slope of a module).
        """
        if self.dynamic is False:
            return False
        known = self.seen.floats.setdefault(source.text, value)
        if known is not None and known != value:
            self.seen.floats[source.text] = known = None
        return known is None or (bool(self.dynamic) and _is_variable(source, of_module))

    def is_moving_iterator(self, position: int, source: Source) -> bool:
        """Whether an iterator that the frame is given was met at two positions, or is that of a loop that the
        graph broke in.
        """
        if isinstance(source.root, LocalSource) and source.root.name.startswith(STACK_ITEM):
            return True
        known = self.seen.positions.setdefault(source.text, position)
        if known != position:
            self.seen.positions[source.text] = known = None
        return known is None


def _is_variable(source: Source, of_module: Callable[[Source], bool]) -> bool:
    """Whether a number found there is one that programs change."""
    if not isinstance(source.root, (LocalSource, FreeCellSource)) or of_module(source):
        return False
    return not any(
        isinstance(step, FunctionFieldSource) and step.field in FIXED_FIELDS for step in source.chain()
    )


_UNBOUNDED = marks.DimRange(None, None)
