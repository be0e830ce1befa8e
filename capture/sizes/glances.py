"""Which arguments of a function change, seen before its capture.

In:  frames that Python runs while their function is not worth a capture yet (`capture/policy/patience.py`).
Out: the sizes and numbers of their arguments, and the lengths of lists, in the `Seen` with which the first
     capture starts. Lists count where a variable of the frame or of its closure holds them, or an attribute
     of what it holds: `memory`, `self.rewards`.

    generate(tokens[2, 7]), generate(tokens[2, 8]), then the capture   ->   dim 1 is a symbol from the start

Without this the first capture takes every size for a constant, and the second call is captured again. Numbers
count where they are arguments, or items of arguments; tensors also where objects among them hold them: the
cache of a decoder. For lengths, the closure counts, too. Functions are shared
by modules, and an entry is for one grad mode: a capture learns from the frames of its own module in its own
mode. So the sizes of an evaluation between the steps of a training are no changes of the training.

Of frames that look alike one is shown: native/frame/digest.c looks where `_arguments`, `_tensors` and
`_reached` do.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from capture.sizes.policy import DYNAMIC, OWNERS, Seen, SizeHistory, SizePolicy, owner_of
from codegen.fake.supported import is_supported
from guards.lookup import instance_dict
from guards.sources import (
    HEAP_TYPE,
    AttrSource,
    DictItemSource,
    ItemSource,
    LocalSource,
    NumpyIntSource,
    Source,
)
from guards.values import is_constant, numpy_int_kind

if TYPE_CHECKING:
    from types import CodeType, FunctionType

MOST_ITEMS = 16  # of a container that are looked at, as in digest.c
MOST_ATTRIBUTES = 64  # of an object; a module has its own behind some twenty of torch
CONTAINERS = (tuple, list, dict)
MOST_HOLDERS = 256  # and tensors in them that are looked at for one frame; digest.c looks at fewer
_OF_THEIR_OWN = (*OWNERS, torch.Tensor, type)
_FLAGS = vars(type)["__flags__"].__get__

#: What the first capture with symbols costs beside: it imports sympy.
SYMBOLS_NS = 250_000_000


def note(history: SizeHistory, frame: Any, dynamic: bool | None) -> None:
    """Note the sizes, numbers and lengths of the frame's arguments. No argument is kept, and no code of the
    program runs.
    """
    of_code = history.glances.get(frame.code)
    if of_code is None:
        of_code = history.glances[frame.code] = {}
    policy = SizePolicy(dynamic, of_code.setdefault(_entries_of(frame), Seen()))
    for value, source in _tensors(frame):
        if is_supported(value):
            policy.dynamic_dims(value, source, _is_no_module)
            policy.changed_strides(value, source, _is_no_module)
    for value, source in _arguments(frame):
        if type(value) is list and isinstance(source, LocalSource):
            policy.length_varies(source.text, len(value))
        elif type(value) is int:
            policy.is_dynamic_int(value, source, _is_no_module)
        elif type(value) is float:
            policy.is_dynamic_float(value, source, _is_no_module)
        elif (kind := numpy_int_kind(value)) is not None:
            policy.is_dynamic_int(int(value), NumpyIntSource(source, kind), _is_no_module)
    for value in _reached(frame):
        policy.note_length_of(value)


def tell(history: SizeHistory, frame: Any) -> None:
    """Let the capture of the frame know what was seen."""
    found = (history.glances.get(frame.code) or {}).pop(_entries_of(frame), None)
    if found is None:
        return
    seen = history.of(frame)
    seen.learn(found.as_data())
    for number, lengths in found.objects.items():
        seen.objects.setdefault(number, set()).update(lengths)
    for known, others in ((seen.sizes, found.sizes), (seen.strides, found.strides)):
        known |= {place: _changing(known[place], values) for place, values in others.items()}


def _changing(known: list[int] | None, others: list[int] | None) -> list[int] | None:
    """What is `known` of a tensor, and which of its sizes change for others."""
    if known is None or others is None or len(known) != len(others):
        return known and others
    return [DYNAMIC if other == DYNAMIC else size for size, other in zip(known, others)]


def surcharge(history: SizeHistory, code: CodeType, dynamic: bool | None) -> int:
    """What a capture of the code costs beside, in nanoseconds."""
    if dynamic is False or "sympy" in sys.modules:
        return 0
    of_code, mode = history.glances.get(code) or {}, torch.is_grad_enabled()
    seen = (seen for (_, of_mode), seen in of_code.items() if of_mode == mode)
    return SYMBOLS_NS if dynamic or any(map(Seen.has_symbols, seen)) else 0


def _entries_of(frame: Any) -> tuple[int, bool]:
    """The module or optimizer whose method runs, and the grad mode. A later module at the same address makes
    a guess worse.
    """
    owner = owner_of(frame, frame.code)
    return 0 if owner is None else id(owner), torch.is_grad_enabled()


def _arguments(frame: Any) -> Iterator[tuple[Any, Source]]:
    """The arguments, their items, and the settings of optimizers among them: schedules change these."""
    code: CodeType = frame.code
    for name, value in zip(code.co_varnames, frame.locals):
        source = LocalSource(name)
        for item, place in ((value, source), *_items(value, source)):
            yield item, place
            if issubclass(type(item), torch.optim.Optimizer):
                yield from _settings(item, place)


def _tensors(frame: Any) -> Iterator[tuple[torch.Tensor, Source]]:
    """Those among the arguments, and in containers and objects among them; the nearest first. The attributes
    of the first argument are its own: another object has others. So are those of modules and optimizers.
    """
    queue: list[tuple[Any, Source]] = []
    known: set[int] = set()

    def add(value: Any, source: Source) -> None:
        if len(queue) < MOST_HOLDERS and id(value) not in known:
            known.add(id(value))
            queue.append((value, source))

    for name, value in zip(frame.code.co_varnames, frame.locals):
        if _holds_tensors(value):
            add(value, LocalSource(name))
    owner = frame.locals[0] if frame.locals else None
    for value, source in queue:  # it grows
        if type(value) is torch.Tensor:
            yield value, source
        elif type(value) in CONTAINERS or value is not owner:
            for item, place in _held(value, source):
                add(item, place)


def _holds_tensors(value: Any) -> bool:
    """Whether it is a tensor, or may hold some: a container, or an object of a class of Python."""
    kind = type(value)
    if kind is torch.Tensor or kind in CONTAINERS:
        return True
    return bool(_FLAGS(kind) & HEAP_TYPE) and not issubclass(kind, _OF_THEIR_OWN)


def _held(value: Any, source: Source) -> Iterator[tuple[Any, Source]]:
    """Those of the items of a container, or the attributes of an object, that hold tensors."""
    if type(value) in (tuple, list):
        for index, item in enumerate(itertools.islice(value, MOST_HOLDERS)):
            if _holds_tensors(item):
                yield item, ItemSource(source, index)
    elif type(value) is dict:
        for key, item in list(itertools.islice(value.items(), MOST_HOLDERS)):
            if _holds_tensors(item) and is_constant(key):
                yield item, DictItemSource(source, key)
    else:
        attributes = instance_dict(value) or {}
        for name, item in list(itertools.islice(attributes.items(), MOST_ATTRIBUTES)):
            if _holds_tensors(item) and type(name) is str:
                yield item, AttrSource(source, name)


def _reached(frame: Any) -> Iterator[Any]:
    """The lists and deques of the closure, and of what the arguments and the closure hold as attributes."""
    closed_over = _closure(frame.function)
    yield from filter(_has_length, closed_over)
    for holder in (*frame.locals, *closed_over):
        attributes = instance_dict(holder) or {}
        first = list(itertools.islice(attributes.values(), MOST_ATTRIBUTES))  # other threads may add some
        yield from filter(_has_length, first)


def _closure(function: FunctionType | None) -> list[Any]:
    """What the cells of the closure hold. Some are empty still."""
    held = []
    for cell in () if function is None else function.__closure__ or ():
        with contextlib.suppress(ValueError):
            held.append(cell.cell_contents)
    return held


def _has_length(value: Any) -> bool:
    return type(value) in (list, collections.deque)


def _settings(optimizer: torch.optim.Optimizer, source: Source) -> Iterator[tuple[Any, Source]]:
    groups = AttrSource(source, "param_groups")
    for group, place in _items(vars(optimizer).get("param_groups"), groups):
        yield from _items(group, place)


def _items(value: Any, source: Source) -> Iterator[tuple[Any, Source]]:
    if type(value) in (tuple, list):
        for index, item in enumerate(itertools.islice(value, MOST_ITEMS)):
            yield item, ItemSource(source, index)
    elif type(value) is dict:
        for key, item in itertools.islice(value.items(), MOST_ITEMS):
            if type(key) is str:
                yield item, DictItemSource(source, key)


def _is_no_module(source: Source) -> bool:
    return False
