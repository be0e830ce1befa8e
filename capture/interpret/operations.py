"""The operations of the program, as nodes of the graph.

In:  a torch function or the name of a method, with variables as arguments.
Out: a node whose `meta["example_value"]` is the result on fake tensors, and the variable of that result.

    x + 1, x: float32[3]   ->   add = operator.add(x, 1), example_value float32[3]   ->   TensorVariable(add)
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
import torch.fx
from torch._ops import OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
)

from capture.graph.arguments import are_foreign, as_plain
from capture.graph.number_operations import gives_float
from capture.graph.program_places import PLACES
from capture.interpret import node_annotations
from capture.interpret.out_sizes import check_out_sizes, resizes_out
from capture.process.warning_filters import filtered
from capture.report.break_reasons import GraphBreak
from capture.report.retry import Retry, SizesAsNumbers
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.makers import constant, make
from capture.variables.numbers import graph_float
from capture.variables.numbers.symbolic import as_number, is_symbolic
from capture.variables.tensors.tensor import TensorVariable
from codegen.fake.dispatch import CPU
from codegen.fake.eager_kernels import check_kernel, fits, takes_numbers
from codegen.fake.shapes.spec import Spec
from codegen.trace.silent_operations import WARNED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter
    from codegen.fake.size_env import SizeEnv

NOWHERE: frozenset[str] = frozenset()
FLOAT = Spec((), (), torch.float64)  # a number of the graph


class Operations:
    """The part of an `OutputGraph` that adds operations."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self.choices: list[torch.Tensor] = []  # fake tensors that max() and min() chose
        self.bodies: Counter[str] = Counter()  # how many bodies have the name, without its number
        self.function_views: dict[int, int] = {}  # memory of a view from a custom function -> step

    def add(
        self, tx: Interpreter, kind: str, target: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if graph_float.is_in_lists(target, args, kwargs):
            return graph_float.one_by_one(tx, target, args, kwargs)
        args, kwargs = graph_float.with_late_numbers(tx, target, args, kwargs)
        kwargs = graph_float.read_numbers(tx, target, args, kwargs)
        if graph_float.is_among([*args, *kwargs.values()]):
            return graph_float.tensor_operation(tx, target, args, kwargs)
        proxies = tuple(a.as_proxy_for(target) for a in args)
        keywords = {k: v.as_proxy_for(target) for k, v in kwargs.items()}
        self._check_alive((proxies, keywords))
        self.output.changed_flags.before((proxies, keywords))
        hidden = self.output.hidden_writes.before((proxies, keywords))
        self.output.late_errors.before(tx)
        try:
            value = self._propagate(kind, target, proxies, keywords)
        except SizesAsNumbers as signal:
            if not any(map(is_symbolic, [*args, *kwargs.values()])):
                raise
            proxies = tuple(as_number(proxy, a) for proxy, a in zip(proxies, args))
            keywords = {k: as_number(proxy, kwargs[k]) for k, proxy in keywords.items()}
            value = self._propagate(kind, target, proxies, keywords, signal.places)
        self.output.hidden_writes.after(_name_of(target), hidden, value)
        self.output.late_errors.after(_name_of(target))
        known = self.output.symbols.known_number(value)
        if known is not None:
            return known
        if isinstance(value, bool):
            return ConstantVariable(value)  # the answer to a question about types or layouts
        if are_foreign(proxies) or are_foreign(keywords.values()):
            proxies, keywords = as_plain(target, proxies, keywords, value)
        node = self.output.graph.create_node(kind, target, proxies, keywords)
        tx.note_places(node)
        node.meta["example_value"] = value
        if self.output.heard.present:
            node.meta[WARNED] = True
        self.output.inputs.uncounted.update(uncounted_writes(target, proxies, keywords))
        if (custom := node_annotations.current(tx)) is not None:
            node.meta["custom"] = custom
        self.output.unbacked.bind(value, node)
        if self.choices:
            from capture.variables.numbers import max_min  # lazy: import time

            max_min.check_use(self.choices, node)
        given = [*args, *kwargs.values()]
        same = _argument_returned(value, given)
        if same is not None:
            node.meta["example_value"] = value
            same.node = node  # type: ignore[attr-defined]
            return same
        returned = self._list_returned(value, args)
        return self.wrap_result(value, node, given) if returned is None else returned

    def number(self, name: str) -> str:
        """The name of a body, with the number of bodies before it that have the name."""
        self.bodies[name] += 1
        return f"{name}_{self.bodies[name] - 1}"

    def _list_returned(self, value: Any, args: list[Variable]) -> Variable | None:
        """`torch._foreach_add_` and similar functions return the list that they get. With a tensor subclass
        or a function mode, the result is a new list of the same objects.
        """
        given = args[0] if args else None
        if not isinstance(value, (list, tuple)):
            return None
        from capture.variables.containers.sequence import SequenceVariable  # lazy: import time

        if not isinstance(given, SequenceVariable):
            return None
        items = [self.output.objects.resolve(item) for item in given.items]
        if not items or len(items) != len(value):
            return None
        if any(getattr(item, "fake", None) is not tensor for item, tensor in zip(items, value)):
            return None
        plain = all(item.cls is torch.Tensor for item in items)  # type: ignore[attr-defined]
        return given if plain and not self.output.modes.function_modes else given.like(items)

    def _check_alive(self, arguments: Any) -> None:
        """Break the graph if a tensor from the body of a function transform is used outside of the body."""

        def check(node: torch.fx.Node) -> torch.fx.Node:
            if node._erased:
                raise GraphBreak("mutation", value="a value that the body of a function transform keeps")
            return node

        torch.fx.node.map_arg(arguments, check)

    def _propagate(
        self, kind: str, target: Any, args: Any, kwargs: Any, places: frozenset[str] | None = NOWHERE
    ) -> Any:
        """Run the operation on fake tensors. It has failed before with symbols of these `places`."""
        given: list[Any] = []
        self.output.heard.present = []

        def value_of(node: torch.fx.Node) -> Any:
            given.append(node.meta["example_value"])
            return given[-1]

        values = torch.fx.node.map_arg(args, value_of)
        keywords = torch.fx.node.map_arg(kwargs, value_of)
        if gives_float(target, values) and torch._C._functorch.peek_interpreter_stack() is None:
            return self.output.fake_mode.new(FLOAT, CPU)
        name, env = _name_of(target), self._environment_for(given)
        try:
            with self.output.fake_mode, self.output.late_errors.watching(), _dispatcher(env):
                form, operands = _fake_form(target, env), values
                if kind == "call_method":
                    form, operands = getattr(values[0], target), values[1:]
                arguments = [*values, *keywords.values()]
                if "out" in kwargs and resizes_out(target):
                    check_out_sizes(form, values, keywords, kwargs["out"])
                call = functools.partial(form, *operands, **keywords)
                run = functools.partial(self.output.heard.listen, call)
                mode = self.output.fake_mode
                mode.unheard, mode.called = [], []
                value = self.output.unbacked.likely.propagate(env, run, arguments)
            called, mode.called = mode.called, None
            if any(map(takes_numbers, called)):
                self._check_numbers(name, [*arguments, value])
            if not mode.unheard and called and torch._C._functorch.peek_interpreter_stack() is None:
                function = methodcaller_of(target) if kind == "call_method" else target
                with filtered(("ignore", Warning)):  # the call on fake tensors has given them
                    check_kernel(function, values, keywords, value, called)
            heard = self.output.heard.present
            self.output.heard.from_kernels(mode.unheard)
            self.output.heard.repeat(heard)
            return value
        except DataDependentOutputException:
            if self.output.unbacked.start(scalar=True):
                return self._propagate(kind, target, args, kwargs, places)
            raise GraphBreak("data_dependent_value", what=name) from None
        except DynamicOutputShapeException:
            if self.output.unbacked.start(scalar=False):
                return self._propagate(kind, target, args, kwargs, places)
            raise GraphBreak("data_dependent_shape", what=name) from None
        except (Retry, MemoryError, RecursionError, KeyboardInterrupt):
            raise
        except Exception as error:
            # gradients depend on symbols between their operands
            met_symbols = env is not None or places != NOWHERE or target is torch.autograd.grad
            if self.output.symbols.are_optional() and met_symbols:
                found = self._places(given, places)
                if not self.output.symbols.policy.breaks_at_numbers(found or ()):
                    raise SizesAsNumbers(f"{name}: {error}", found) from error
            text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            signal = GraphBreak("torch_op_failed", name=name, error=text)
            if " is a view and " in text:
                signal.born = self._born_in_a_function(given)
            raise signal from error

    def _check_numbers(self, name: str, values: list[Any]) -> None:
        """Raises SizesAsNumbers for a symbol that does not fit the dtypes of the tensors beside it: a guard
        keeps it there.
        """
        numbers = [value for value in values if isinstance(value, torch.SymInt)]
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        for number in numbers:
            if not fits(number, tensors):
                raise SizesAsNumbers(f"{name}: {number} is too large", self._places(numbers, NOWHERE))

    def note_views(self, results: Iterable[Variable]) -> None:
        """Note the views among the results of a custom autograd function. Autograd refuses writes to them;
        outside of the graph it would not.
        """
        for result in results:
            if isinstance(result, TensorVariable) and result.fake._is_view():
                self.function_views.setdefault(_memory(result.fake), self.output.root_step)

    def _born_in_a_function(self, given: list[Any]) -> int | None:
        """The step that made one of the tensors, or a view of its memory, by a custom autograd function."""
        tensors = [value for value in given if isinstance(value, torch.Tensor)]
        steps = [self.function_views.get(_memory(tensor)) for tensor in tensors]
        return min((step for step in steps if step is not None), default=None)

    def _places(self, given: list[Any], others: frozenset[str] | None) -> frozenset[str] | None:
        """Where the symbols of the operands come from, with the `others`."""
        found = self.output.symbols.places_in(given)
        return None if found is None or others is None else found | others

    def _environment_for(self, given: list[Any]) -> SizeEnv | None:
        """The environment of the symbols, if the operation takes one or may make one.

        A symbol anywhere else in the frame, such as a learning rate, makes no other operation slower.
        """
        env = self.output.symbols.env
        if env is None or env.makes_unbacked or torch._C._functorch.peek_interpreter_stack() is not None:
            return env
        return None if all(map(_is_without_symbols, given)) else env

    def variable_of(self, node: torch.fx.Node) -> Variable:
        """The variable of a node's tensor or number, for use as an argument."""
        return self.wrap_result(node.meta["example_value"], node)

    def wrap_result(self, value: Any, node: torch.fx.Node, given: Sequence[Variable] = ()) -> Variable:
        """The result of an operation as a variable. The parts of a tuple become `getitem` nodes.

        A part may be one of the `given` arguments (`broadcast_tensors`).
        """
        node.meta["example_value"] = value
        if is_fake(value):
            return TensorVariable(node, value)
        if isinstance(value, torch.Tensor):
            raise GraphBreak("subclass", value=type(value).__name__)
        if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
            items = [self._item(value, node, i, given) for i in range(len(value))]
            if type(value) in (list, tuple):
                return make(type(value), items)
            from capture.variables.containers.named_tuple import NamedTupleVariable  # lazy: import time

            return NamedTupleVariable(items, type(value))
        if isinstance(value, (str, bytes)):  # it may be the text of a fake tensor
            raise GraphBreak("data_dependent_value", what=f"the text that {node.target} makes")
        return constant(value)

    def _item(self, value: Any, node: torch.fx.Node, index: int, given: Sequence[Variable]) -> Variable:
        if not isinstance(value[index], (torch.Tensor, tuple, list)):
            return constant(value[index])
        part = self.output.graph.call_function(operator.getitem, (node, index))
        part.meta |= {name: node.meta[name] for name in ("stack_trace", PLACES) if name in node.meta}
        same = _argument_returned(value[index], given)
        if same is None:
            return self.wrap_result(value[index], part, given)
        part.meta["example_value"] = value[index]
        same.node = part  # type: ignore[attr-defined]
        return same


def _memory(fake: torch.Tensor) -> int:
    return fake.untyped_storage()._cdata


#: functions whose loop over time torch would unroll
LOOPS = (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)
#: by function: where its running statistics stand. Its argument number 5 says whether it writes to them.
STATISTICS = {
    torch.nn.functional.batch_norm: slice(1, 3),
    torch.batch_norm: slice(3, 5),
    torch.native_batch_norm: slice(3, 5),
    torch.ops.aten.batch_norm: slice(3, 5),
    torch.ops.aten.batch_norm.default: slice(3, 5),
    torch.ops.aten.native_batch_norm: slice(3, 5),
    torch.ops.aten.native_batch_norm.default: slice(3, 5),
}


def uncounted_writes(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.fx.Node]:
    """The arguments that the function writes to without a new version."""
    if isinstance(target, (OpOverload, OpOverloadPacket)):
        places = _written_by_schema(target)
        written: list[Any] = [args[place] for place in places.values() if place < len(args)]
        written += [kwargs[name] for name in places if name in kwargs]
    else:
        written = []
    statistics = STATISTICS.get(target) if callable(target) else None
    if statistics is not None and kwargs.get("training", args[5] if len(args) > 5 else False):
        written += [*args[statistics], kwargs.get("running_mean"), kwargs.get("running_var")]
    return [item for item in written if isinstance(item, torch.fx.Node)]


@functools.cache
def _written_by_schema(target: OpOverload | OpOverloadPacket) -> dict[str, int]:
    """The arguments that an operator says it writes to, and where they stand: not each of its kernels counts
    the write, such as those of running statistics. Of a packet, those of all overloads.
    """
    if isinstance(target, OpOverloadPacket):
        overloads = [getattr(target, name) for name in target.overloads()]
        return {name: place for op in overloads for name, place in _written_by_schema(op).items()}
    arguments = target._schema.arguments
    return {
        argument.name: place if not argument.kwarg_only else len(arguments)
        for place, argument in enumerate(arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    }


def _name_of(target: Any) -> str:
    return target if isinstance(target, str) else str(getattr(target, "__name__", target))


def _is_without_symbols(value: Any) -> bool:
    if type(value) is FakeTensor:
        return not value._has_symbolic_sizes_strides
    if isinstance(value, (list, tuple)):
        return all(map(_is_without_symbols, value))
    return type(value) in (bool, int, float)


@functools.cache
def methodcaller_of(name: str) -> Callable[..., Any]:
    """The method as a function."""
    return lambda given, *args, **kwargs: getattr(given, name)(*args, **kwargs)


def _fake_form(target: Any, env: SizeEnv | None) -> Any:
    """The replacement of a function that runs a loop in C++, or reads its numbers there, if some of them may
    be symbols.
    """
    if target is torch.autograd.grad:
        from codegen.trace.gradients import grad  # lazy: import time

        return grad
    if env is None:
        return _loop_form(target) if target in LOOPS else target
    from codegen.rewrite.symbolic_functions import FAKE_FORMS  # lazy: imports sympy

    return FAKE_FORMS.get(target, target)


def _loop_form(function: Any) -> Any:
    from codegen.rewrite.recurrent_operators import network  # lazy: import time

    def call(*args: Any, **kwargs: Any) -> Any:
        made = network(function, *args, **kwargs)
        return function(*args, **kwargs) if made is NotImplemented else made

    return call


def _dispatcher(env: SizeEnv | None) -> Any:
    """With symbols, composite operators run their Python bodies: the bodies in C++ need numbers."""
    return contextlib.nullcontext() if env is None else torch._C._EnablePythonDispatcher()


def is_fake(value: Any) -> bool:
    """Whether the value is a fake tensor, or the wrapper of one inside of a function transform."""
    return isinstance(value, FakeTensor) or (
        type(value) is torch.Tensor and torch._C._functorch.is_functorch_wrapped_tensor(value)
    )


def _argument_returned(value: Any, args: Sequence[Variable]) -> Variable | None:
    """The argument that an in-place operation returns."""
    if not is_fake(value):
        return None
    for arg in args:
        if isinstance(arg, TensorVariable) and arg.fake is value:
            return arg
    return None
