"""The twin of the extension `_capture`: entries and marks of code objects, for the settrace hook.

In:  the calls of `_capture` in `capture`, `guards` and `cache`, if the extension is not built.
Out: the same effects, by dictionaries. The twin has no evaluator hook, no native guard program and no
     compiled graph. Code that uses one of these tests first: `hasattr(_capture, "GuardProgram")`.

    add_entry(f.__code__, entry)   ->   entries(f.__code__) == [entry]
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import inspect
import itertools
import os
import struct
import types
import weakref
from collections.abc import Callable
from typing import Any


class NullType:
    """Type of `NULL`, which stands for an unbound local variable."""

    def __repr__(self) -> str:
        return "_capture.NULL"

    def __reduce__(self) -> str:
        return "NULL"


NULL = NullType()


class Continuation:
    """The return value of a broken frame's code: the hook goes on with fn(*args)."""

    __slots__ = ("args", "fn")

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fn = fn
        self.args = args


class Entry:
    """The same as `_capture.Entry`. `guards` is None, or has the method `check` of a guard program."""

    def __init__(
        self,
        guards: Any,
        key: Any,
        *,
        code: Any = None,
        graph: Any = None,
        result: Any = None,
        inputs: int | None = None,
        unhooked: bool = False,
        sampled: bool = False,
    ) -> None:
        if (graph is None) != (result is None) or (code is not None and graph is not None):
            raise ValueError("Entry: give code, or graph and result")
        self.guards = guards
        self.key = key
        self.code = code
        self.graph = graph
        self.result = result
        self.inputs = inputs if inputs is not None else guards.nslots if guards is not None else 0
        self.unhooked = unhooked
        self.sampled = sampled  # only a hint
        self.on_failure: Any = None
        self.hits = 0


class _CodeState:
    """The entries and marks of one code object. `_states` has it by address while the code object lives."""

    def __init__(self, code: types.CodeType) -> None:
        number = id(code)
        # a default: at the end of the process the module loses its names first
        self.code = weakref.ref(code, lambda _, states=_states: states.pop(number, None))  # type: ignore[misc]
        self.entries: list[Any] = []
        self.added = 0
        self.skipped = False
        self.resume = False


_states: dict[int, _CodeState] = {}


def _state_of(code: types.CodeType) -> _CodeState:
    if not isinstance(code, types.CodeType):
        raise TypeError(f"expected a code object, not {type(code).__name__}")
    return _states.get(id(code)) or _states.setdefault(id(code), _CodeState(code))


def add_entry(code: types.CodeType, entry: Any) -> None:
    """Add `entry` before the other entries of `code`."""
    state = _state_of(code)
    state.entries = [entry, *state.entries]
    state.added += 1


def remove_entry(code: types.CodeType, entry: Any) -> bool:
    """Remove `entry`. False if `code` did not have it."""
    state = _state_of(code)
    kept = [other for other in state.entries if other is not entry]
    removed = len(kept) < len(state.entries)
    state.entries = kept
    return removed


def entries(code: types.CodeType) -> list[Any]:
    """The entries of `code`; the newest is first."""
    return list(_state_of(code).entries)


def added_entries(code: types.CodeType) -> int:
    """How many entries were added to `code` since they were last cleared."""
    return _state_of(code).added


def clear_entries(code: types.CodeType) -> None:
    """Remove all entries; marks stay."""
    state = _state_of(code)
    state.entries = []
    state.added = 0


def all_codes() -> list[types.CodeType]:
    """The code objects that hold entries or a skip mark."""
    held = [state.code() for state in list(_states.values()) if state.entries or state.skipped]
    return [code for code in held if code is not None]


def skip_code(code: types.CodeType) -> None:
    """Never call the converter for frames of this code."""
    _state_of(code).skipped = True


def unskip_code(code: types.CodeType) -> None:
    """Undo `skip_code`."""
    _state_of(code).skipped = False


def is_skipped(code: types.CodeType) -> bool:
    """Whether `skip_code` has marked the code."""
    state = _states.get(id(code))
    return state is not None and state.skipped


def hold_signals_in(code: types.CodeType) -> None:
    """Nothing holds signals."""


def mark_resume(code: types.CodeType) -> None:
    """Mark `code` as the code of a resume function."""
    _state_of(code).resume = True


def is_resume(code: types.CodeType) -> bool:
    """Whether `mark_resume` has marked the code."""
    state = _states.get(id(code))
    return state is not None and state.resume


class FakeDispatch:
    """The same as `_capture.FakeDispatch`: answers `prim.device`; `otherwise` runs all other operators."""

    def __init__(
        self, device_operator: Any, meta: Any, otherwise: Callable[..., Any], owner: str | None = None
    ) -> None:
        self.device_operator = device_operator
        self.meta = meta
        self.otherwise = otherwise
        self.owner = owner

    def __get__(self, mode: Any, _: Any = None) -> Any:
        return self if mode is None else types.MethodType(self, mode)

    def __call__(self, mode: Any, operator: Any, classes: Any, args: Any = (), kwargs: Any = None) -> Any:
        if operator is not self.device_operator:
            return self.otherwise(mode, operator, classes, args, kwargs)
        fake_mode = mode if self.owner is None else getattr(mode, self.owner)
        return self.meta if fake_mode.in_kernel_invocation else args[0]._fake_device


def set_file_owners(owners: tuple[tuple[str, bool], ...]) -> None:
    """The settrace hook defers signals itself, during a capture."""


class Signals:
    """Nothing holds them."""

    seen = handled = held = None


SIGNALS = Signals()


def raise_later(exception: BaseException) -> bool:
    """False: it has to be raised now."""
    return False


def raised_by_handler(exception: BaseException) -> bool:
    """Whether the handler of a signal has raised it. The interpreter passes it the number of the signal, and
    the frame that it interrupts, which is the one that calls it.
    """
    entry = exception.__traceback__
    while entry is not None:
        if _is_of_handler(entry.tb_frame):
            return True
        entry = entry.tb_next
    return False


def _is_of_handler(frame: types.FrameType) -> bool:
    code, caller = frame.f_code, frame.f_back
    count = code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)
    held = dict(frame.f_locals) if caller is not None and count else {}
    arguments = [held.get(name) for name in code.co_varnames[: count + code.co_kwonlyargcount]]
    number = arguments[0] if arguments and isinstance(arguments[0], int) else -1
    handler = _signal.getsignal(number) if number in _signal.valid_signals() else None
    return getattr(handler, "__code__", None) is code or any(
        value is caller or (type(value) is tuple and any(item is caller for item in value))
        for value in arguments
    )


def settle_young(mark: object) -> int:
    """Without the extension, young objects stay young."""
    return 0


def file_stamps(folder: str, names: bytes) -> bytes:
    """Other bytes when somebody touches one of the files. Each name has a zero byte at its end."""
    os.stat(folder)
    return b"".join(_stamp(os.path.join(os.fsencode(folder), name)) for name in names.split(b"\0")[:-1])


def _stamp(path: bytes) -> bytes:
    try:
        status = os.stat(path)
    except OSError:
        return bytes(48)
    times = (divmod(time, 10**9) for time in (status.st_mtime_ns, status.st_ctime_ns))
    return struct.pack("6q", status.st_ino, status.st_size, *itertools.chain(*times))
