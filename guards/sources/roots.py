"""Roots: the sources that a frame itself names.

In:  a name of the frame, or an object.
Out: sources without a base.

    the argument x, the global scale   ->   LocalSource("x"), GlobalSource("scale")
"""

from __future__ import annotations

import threading
from dataclasses import field
from types import CellType, ModuleType
from typing import Any, ClassVar

import torch

from capture_records import dataclass
from guards.lookup import Unresolved, dict_get, safe_repr
from guards.namespace import STACK_ITEM, FrameNamespace
from guards.sources.base import Source


@dataclass(frozen=True, eq=False)
class LocalSource(Source):
    """An argument of the frame, as bound at entry."""

    name: str

    @property
    def text(self) -> str:
        """An item of the stack has no name in the program. The text is like no name, so it stays unique."""
        place = self.name.removeprefix(STACK_ITEM)
        return self.name if place == self.name else f"stack item {place}"

    def resolve(self, frame: FrameNamespace) -> Any:
        if self.name not in frame.locals:
            raise Unresolved(f"local {self.name!r} is unbound")
        return frame.locals[self.name]


@dataclass(frozen=True, eq=False)
class FreeCellSource(Source):
    """The cell object of a free variable of the frame's function."""

    name: str

    @property
    def text(self) -> str:
        return f"cell({self.name})"

    def resolve(self, frame: FrameNamespace) -> Any:
        names = frame.function.__code__.co_freevars
        if self.name not in names:
            raise Unresolved(f"{frame.function.__name__} has no free variable {self.name!r}")
        return (frame.function.__closure__ or ())[names.index(self.name)]


@dataclass(frozen=True, eq=False)
class CellSource(Source):
    """The contents of a free variable of the frame's function."""

    name: str

    @property
    def base(self) -> Source:
        return FreeCellSource(self.name)

    @property
    def text(self) -> str:
        return self.name

    def resolve(self, frame: FrameNamespace) -> Any:
        return cell_contents(self.base.resolve(frame))


@dataclass(frozen=True, eq=False)
class GlobalSource(Source):
    """A global of the frame's own module. An inlined function of another module needs `ModuleAttrSource`."""

    name: str

    @property
    def text(self) -> str:
        return f"G[{self.name!r}]"

    def resolve(self, frame: FrameNamespace) -> Any:
        return dict_get(frame.globals, self.name)


@dataclass(frozen=True, eq=False)
class BuiltinSource(Source):
    """A name of the frame's builtins. `DictContainsGuard.builtin_not_hidden` says that no global hides it."""

    name: str

    @property
    def text(self) -> str:
        return self.name

    def resolve(self, frame: FrameNamespace) -> Any:
        return dict_get(frame.builtins, self.name)


@dataclass(frozen=True, eq=False)
class GlobalsSource(Source):
    """The frame's globals, the dict itself."""

    @property
    def text(self) -> str:
        return "globals()"

    def resolve(self, frame: FrameNamespace) -> Any:
        return frame.globals


@dataclass(frozen=True, eq=False)
class FunctionSource(Source):
    """The function that the frame runs."""

    @property
    def text(self) -> str:
        return "<this function>"

    def resolve(self, frame: FrameNamespace) -> Any:
        return frame.function


@dataclass(frozen=True, eq=False)
class ConstantSource(Source):
    """An object that the guard program keeps alive: a module, a class of a library, a function of torch."""

    value: Any
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_identity", (ConstantSource, id(self.value)))
        object.__setattr__(self, "_hash", hash((ConstantSource, id(self.value))))

    @property
    def text(self) -> str:
        if self.name is not None:
            return self.name
        named = type(self.value) is ModuleType and "__name__" in vars(self.value)  # a program may delete it
        return self.value.__name__ if named else safe_repr(self.value)

    def resolve(self, frame: FrameNamespace) -> Any:
        return self.value


@dataclass(frozen=True, eq=False)
class GlobalStateSource(Source):
    """State of the thread or the process that is no object, such as the grad mode. It can be guarded, not
    loaded.
    """

    name: str = "torch"

    @property
    def text(self) -> str:
        return f"global state of {self.name}"

    def resolve(self, frame: FrameNamespace) -> Any:
        raise Unresolved("global state is not an object: guard it with GlobalStateGuard")


@dataclass(frozen=True, eq=False)
class StateSource(Source):
    """What a built-in function says about the state of the process, such as `torch.get_num_threads()`. Only
    `ConstantGuard` takes it.

    The function runs no code of the user, changes nothing and is cheap.
    """

    function: Any
    args: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.function.__name__}({', '.join(map(safe_repr, self.args))})"

    def resolve(self, frame: FrameNamespace) -> Any:
        return self.function(*self.args)


@dataclass(frozen=True, eq=False)
class FunctionModeSource(Source):
    """A mode on this thread's stack of torch function modes. 0 is the outermost mode."""

    index: int
    reader: ClassVar[Any] = torch._C._get_function_stack_at

    @property
    def text(self) -> str:
        return f"torch function mode {self.index}"

    def resolve(self, frame: FrameNamespace) -> Any:
        if self.index >= torch._C._len_torch_function_stack():
            raise Unresolved(f"no torch function mode {self.index}")
        return self.reader(self.index)


@dataclass(frozen=True, eq=False)
class ThreadDictSource(Source):
    """`vars(x)` of a `threading.local()`, for the thread that asks."""

    value: threading.local
    reader: ClassVar[Any] = vars

    @property
    def text(self) -> str:
        return "vars(threading.local())"

    def resolve(self, frame: FrameNamespace) -> Any:
        return self.reader(self.value)


def cell_contents(cell: Any) -> Any:
    """The contents of a cell. Raises Unresolved for an empty cell."""
    if type(cell) is not CellType:
        raise Unresolved(f"not a cell: {safe_repr(cell)}")
    try:
        return cell.cell_contents
    except ValueError:
        raise Unresolved("the cell is empty") from None
