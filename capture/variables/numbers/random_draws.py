"""Draws from Python's random streams.

These are `random.random()`, `uniform`, `randint` and `randrange` of the module, and of generators
(`random_object`).

In:  a call of one of them in the frame, with constants.
Out: a number that is unknown at capture. The real function draws it when the frame's code starts, in the
     order of the program. Arithmetic on the number and its use with tensors are captured. A decision on it
     breaks the graph. No guard reads it.

    y = x * 2; return y * random.random()   ->   draw_0 = random.random(); return graph_0(x, draw_0)[0]

So a draw moves before the graph. The program can't see that. Any other draw, and any read or write of the
stream's state, breaks the graph, so no draw moves over it. A draw breaks the graph if an operation before it
may run code of the program. If the graph raises, Python runs the frame; in that case the stream is put back
first. Capture itself draws nothing.
"""

from __future__ import annotations

import inspect
import random
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from capture.graph.inputs import SubclassInput
from capture.graph.number_operations import (
    float_of,
    float_operation,
    larger_of,
    method_with_floats,
    smaller_of,
)
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.graph_float import GraphFloatVariable
from capture_records import dataclass
from guards.lookup import Unresolved
from guards.sources import Source

if TYPE_CHECKING:
    import torch.fx

    from capture.bytecode.dialects import Assembler
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.namespace import FrameNamespace


@dataclass(frozen=True, eq=False)
class DrawSource(Source):
    """A local of the frame's new code, which holds the drawn number."""

    index: int

    @property
    def text(self) -> str:
        return f"draw_{self.index}"

    @property
    def local(self) -> str:
        return f"___draw_{self.index}"

    def resolve(self, frame: FrameNamespace) -> Any:
        raise Unresolved("a number that is drawn when the frame's code starts; no guard reads it")


@dataclass(frozen=True)
class Draw:
    """`local = function(*args)`. For a generator: `local = owner.function(*args)`."""

    local: str
    function: Callable[..., Any] | str
    args: tuple[int | float, ...]
    owner: Source | None = None


# --- which functions draw ---------------------------------------------------------------------------------


MOST = 2**53  # a float holds each int up to here exactly
Bounds = tuple[int | float, int | float] | None  # the bounds of the number; None: the draw is not captured


def _of_unit(*args: Any) -> Bounds:
    return (0.0, 1.0) if not args else None


def _of_uniform(*args: Any) -> Bounds:
    fits = len(args) == 2 and all(abs(arg) <= MOST for arg in args)
    return (float(args[0]), float(args[1])) if fits else None


def _of_randint(*args: Any) -> Bounds:
    return _of_randrange(args[0], args[1] + 1) if len(args) == 2 and _are_ints(args) else None


def _of_randrange(*args: Any) -> Bounds:
    if not 1 <= len(args) <= 3 or not _are_ints(args) or args[2:] == (0,):
        return None
    values = range(*args)
    fits = all(abs(arg) <= MOST for arg in args) and len(values) > 0
    return (values[0], values[-1]) if fits else None


def _are_ints(args: Sequence[Any]) -> bool:
    return all(type(arg) is int for arg in args)


#: The functions of the module `random` as it was imported, each with a function for the bounds of its
#: numbers.
BOUNDS: list[tuple[Any, Callable[..., Bounds]]] = [
    (random.random, _of_unit),
    (random.uniform, _of_uniform),
    (random.randint, _of_randint),
    (random.randrange, _of_randrange),
]
BOUNDS_OF_METHODS = {function.__name__: bounds for function, bounds in BOUNDS}
READ_STATE, SET_STATE = random.getstate, random.setstate


def bounds_of(function: Any) -> Callable[..., Bounds] | None:
    """The function for the bounds of a draw. None for any other function.

    Each bound method of the module is one object, so a guard on its identity is enough.
    """
    return next((bounds for known, bounds in BOUNDS if known is function), None)


def constants_of(
    function: Callable[..., Any], args: list[Variable], kwargs: dict[str, Variable]
) -> tuple[int | float, ...] | None:
    """The arguments in the order of the parameters. None if they are no known numbers."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    given = [arg.realize() if isinstance(arg, LazyVariable) else arg for arg in bound.args]
    values = [arg.as_constant() for arg in given if type(arg) is ConstantVariable]  # no changing numbers
    known = len(values) == len(given) and all(type(value) in (int, float) for value in values)
    return tuple(values) if known and not bound.kwargs else None


class DrawFunction(Variable):
    """A function that draws."""

    def __init__(self, value: Any, source: Source | None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def real_value(self) -> Any:
        return self.value

    def describe(self) -> str:
        return f"random.{self.value.__name__}"

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.value)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        values = constants_of(self.value, args, kwargs)
        bounds_for = bounds_of(self.value)
        assert bounds_for is not None
        bounds = bounds_for(*values) if values is not None else None
        if values is None or bounds is None or may_run_python(tx.output):
            raise GraphBreak("call", value=self)
        return tx.output.inputs.add_draw(self.value, values, bounds)


# --- operations over which a draw must not move -----------------------------------------------------------


OWN_OPERATIONS = (float_of, float_operation, larger_of, method_with_floats, smaller_of)


def may_run_python(output: Output) -> bool:
    """Whether the captured part may run code of the program, which may draw too.

    Such code is in custom operators, in functions marked as nodes, and in modes.
    """
    return (
        bool(output.modes.function_modes)
        or any(isinstance(item, SubclassInput) for item in output.inputs.all)
        or not all(map(_is_plain, output.graph.nodes))
    )


def _is_plain(node: torch.fx.Node) -> bool:
    if node.op in ("placeholder", "call_method"):
        return node.target != "backward"  # it runs hooks
    if node.op != "call_function":
        return False
    target = node.target
    if isinstance(target, types.BuiltinFunctionType) or target in OWN_OPERATIONS:
        return True
    if not isinstance(target, types.FunctionType):
        return False
    module = target.__globals__.get("__name__", "")
    return module in PLAIN_MODULES


#: Modules of torch whose functions in a graph are operations on tensors.
PLAIN_MODULES = frozenset(
    [
        "torch",
        "torch.amp.autocast_mode",
        "torch.functional",
        "torch.nn.functional",
        "torch._tensor",
        "torch.autograd.grad_mode",
    ]
)


# --- drawn numbers ----------------------------------------------------------------------------------------


class DrawnVariable(GraphFloatVariable):
    """The number of a draw: an int or a float. The graph takes it as a 0-d float64 tensor."""

    def __init__(self, node: torch.fx.Node, draw: DrawSource, kind: type) -> None:
        super().__init__(node, drawn=True)
        self.draw = draw
        self.kind = kind

    def python_type(self) -> type:
        return self.kind

    def describe(self) -> str:
        return f"{self.kind.__name__} {self.draw.text}"

    def open_dims(self) -> frozenset[int] | None:
        return frozenset()

    def reconstruct(self, code: PythonCode) -> None:
        code.load_local(self.draw.local)


# --- the frame's code -------------------------------------------------------------------------------------


SAVED = "___random_state"
Load = Callable[[Source], None]  # pushes an existing object on the stack


def make_draws(code: Assembler, draws: Sequence[Draw], keep_state: bool, load: Load) -> None:
    """Emits the draws. With `keep_state`, the code also saves the streams, so that it can put them back."""
    for place, owner in enumerate(_streams(draws) if keep_state else ()):
        code.load_callable(_of_stream(READ_STATE, owner))
        if owner is not None:
            load(owner)
        code.call(int(owner is not None))
        code.store_local(f"{SAVED}_{place}")
    for draw in draws:
        if draw.owner is None:
            code.load_callable(draw.function)
        else:
            load(draw.owner)
            code.load_method(str(draw.function))
        for value in draw.args:
            code.load_constant(value)
        code.call(len(draw.args))
        code.store_local(draw.local)


def take_back(code: Assembler, draws: Sequence[Draw], load: Load) -> None:
    """Emits code that sets the streams to their state before the draws."""
    for place, owner in enumerate(_streams(draws)):
        code.load_callable(_of_stream(SET_STATE, owner))
        if owner is not None:
            load(owner)
        code.load_local(f"{SAVED}_{place}")
        code.call(1 + (owner is not None))
        code.pop()


def _streams(draws: Sequence[Draw]) -> list[Source | None]:
    """The generators that the draws use. None stands for the generator of the module."""
    return list(dict.fromkeys(draw.owner for draw in draws))


def _of_stream(function: Any, owner: Source | None) -> Any:
    return function if owner is None else getattr(random.Random, function.__name__)
