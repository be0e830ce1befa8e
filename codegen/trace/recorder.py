"""The mode that records ATen calls as nodes of a graph.

In:  calls on fake tensors, below autograd and composite operators.
Out: a functional graph. Some calls are rewritten (`codegen.rewrite.table`), the others are recorded; in-place
     writes become functional values (`functionalise.py`).

    x.add_(1); y = silu(x)   ->   add = add(x, 1); sigmoid = sigmoid(add); mul = mul(add, sigmoid)
"""

from __future__ import annotations

import contextlib
import operator
import weakref
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from codegen.fake.dispatch import run_rule
from codegen.fake.fake import FakeMode, FakeTensor, device_in_c
from codegen.fake.known_values import can_be_known, remember_values, tensors_in
from codegen.fake.plain_numbers import PLAIN_NUMBERS
from codegen.fake.shapes.table import SHAPE_RULES
from codegen.kernel.errors import UntraceableError
from codegen.kernel.fx_graph import Graph
from codegen.rewrite.table import rule_for
from codegen.trace.behaviour import (
    Behaviour,
    behaviour_of,
    has_argument,
    in_order,
    written_tensors,
)
from codegen.trace.draws import draw
from codegen.trace.functionalise import Memories, Memory, Tracked, item_of
from codegen.trace.gradient_sums import is_added_in_place
from codegen.trace.nodes import as_argument, counted_from_the_front
from codegen.trace.sources import Sources
from codegen.trace.updates import UPDATES, calls_of
from codegen.trace.view_call import ViewCall
from codegen.trace.write_checks import check_cast, check_drawn, check_out_dtypes, check_overlap

aten = torch.ops.aten


#: operators whose kernels call matrix products; autocast applies to these calls, too
CASTS_INSIDE = frozenset(
    (aten.linalg_pinv.atol_rtol_tensor, aten.linalg_pinv.atol_rtol_float, aten._trilinear.default)
)
#: operators that eager refuses under deterministic algorithms
NOT_DETERMINISTIC = frozenset((aten.put_.default, aten.put.default))
#: operators that count an offset from the start of the memory -> the position of the offset
FROM_START = {
    aten.as_strided.default: 3,
    aten.as_strided_.default: 3,
    aten.as_strided_copy.default: 3,
    aten.as_strided_scatter.default: 4,
}
ZERO = aten._efficientzerotensor.default
ZERO_FACTORS = {aten.mul.Tensor: 2, aten.div.Tensor: 1}  # number of arguments of which one zero is enough
SUMS = {aten.add.Tensor: 1, aten.sub.Tensor: -1}  # -> the factor of the second operand


def lacks_gradient(func: OpOverload, args: tuple[Any, ...]) -> bool:
    """Whether a tensor that the schema asks for is missing.

    Some steps of autograd (attention) call their operator also where no gradient has come: behind the border
    of the segment whose gradients are asked for. What they give is no gradient either.
    """
    required = (place.type.kind() == "TensorType" for place in func._schema.arguments)
    return any(arg is None and needed for arg, needed in zip(args, required))


# --- the recording mode -----------------------------------------------------------------------------------


class Recorder(TorchDispatchMode):
    """Records the ATen calls on the fake tensors of `mode` as nodes of `graph`."""

    def __init__(self, mode: FakeMode) -> None:
        super().__init__()
        self.mode = mode
        self.root = torch.nn.Module()
        self.graph = Graph(self.root)
        self.memories = Memories(weakref.proxy(self))
        #: id of a tensor -> its record, which keeps the tensor alive, so that the id is not reused
        self.tracked: dict[int, Tracked] = {}
        #: id of a tensor -> the nodes that have it as their value, or in it
        self.holders: dict[int, list[fx.Node]] = {}
        self.constants: dict[int, fx.Node] = {}
        self.zeros: set[int] = set()  # ids of tracked tensors that autograd knows to be zero
        self.origins = Sources()
        #: whether the call was made under autocast; inside of the call torch reports that it is off
        self.under_autocast = False
        #: the node of the module that is called now, and by node of the graph: the call that made it
        self.caller: fx.Node | None = None
        self.sources: dict[fx.Node, fx.Node | None] = {}
        #: the inputs of the graph for whose gradients `torch.autograd.grad` is called in it
        self.asked: set[fx.Node] = set()
        #: inputs of the graph -> inputs among `asked` to which no way outside of the graph may lead
        self.apart: dict[fx.Node, set[fx.Node]] = {}
        #: while a backward is traced, by node of the graph: the step of autograd's graph that made it
        self.steps: dict[fx.Node, Any] | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the decorator that this switches off imports torch._dynamo at its first call

    # --- tensors and nodes

    def placeholder(self, name: str, value: Any) -> fx.Node:
        """A new input of the graph; a tensor is tracked."""
        node = self.graph.placeholder(name)
        self.set_value(node, value)
        if isinstance(value, torch.Tensor):
            self.tracked[id(value)] = Tracked(value, node, Memory(placeholder=node))
        return node

    def constant(self, tensor: torch.Tensor, fake: FakeTensor) -> fx.Node:
        """The node of a tensor that the graph holds."""
        known = self.constants.get(id(tensor))
        if known is not None:
            return known
        name = f"constant_{len(self.constants)}"
        self.root.register_buffer(name, tensor)
        node = self.graph.get_attr(name)
        self.set_value(node, fake)
        self.constants[id(tensor)] = node
        return node

    def track(self, tensor: torch.Tensor, node: fx.Node) -> None:
        self.tracked[id(tensor)] = Tracked(tensor, node, Memory(maker=self.caller))

    def find(self, tensor: torch.Tensor) -> Tracked:
        tracked = self.tracked.get(id(tensor))
        if tracked is None:
            raise UntraceableError(
                f"a tensor of size {tuple(tensor.shape)} that is neither an input nor computed in the graph"
            )
        return tracked

    def node_of(self, value: Any) -> Any:
        """The same value with nodes in place of tensors."""
        if isinstance(value, torch.Tensor):
            return self.memories.current(self.find(value))
        if isinstance(value, (list, tuple)):
            return type(value)(self.node_of(item) for item in value)
        return value

    def emit(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> fx.Node:
        """Appends a call whose arguments are nodes, and computes its value."""
        values = fx.node.map_arg((args, kwargs), lambda node: node.meta["val"])
        if func is operator.getitem:
            value = values[0][0][values[0][1]]
        else:
            value = run_rule(self.mode, func, *values)
        return self.append(func, args, kwargs, value)

    def append(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> fx.Node:
        if self.mode.shape_env is not None:
            args = counted_from_the_front(func, args)
            args, kwargs = fx.node.map_aggregate((args, kwargs), as_argument)
        node = self.graph.create_node("call_function", func, args, kwargs)
        self.sources[node] = self.caller
        if self.steps is not None:
            self.steps[node] = torch._C._current_autograd_node()
        self.set_value(node, value)
        self.origins.mark(node)
        return node

    def set_value(self, node: fx.Node, value: Any) -> None:
        node.meta["val"] = value
        for tensor in tensors_in([value]):
            self.holders.setdefault(id(tensor), []).append(node)

    # --- calls

    def run_operator(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not isinstance(func, OpOverload):
            raise UntraceableError(f"a call of {func}, which is not an ATen operator")
        if self.under_autocast and func in CASTS_INSIDE:
            raise UntraceableError(f"a call of {func} under autocast: its kernel casts inside")
        if torch._C._get_deterministic_algorithms() and func in NOT_DETERMINISTIC:
            raise UntraceableError(f"a call of {func} under deterministic algorithms")
        if any(arg is None for arg in args) and lacks_gradient(func, args):
            return None if len(func._schema.returns) == 1 else (None,) * len(func._schema.returns)
        if func in FROM_START:
            self.check_start(func, args, kwargs or {})
        factors = ZERO_FACTORS.get(func, 0) if self.zeros else 0
        if func is ZERO or any(id(factor) in self.zeros for factor in args[:factors]):
            return self.record_zeros(func, args, kwargs or {})
        if self.zeros and func in SUMS and any(id(operand) in self.zeros for operand in args):
            return self.record_sum_with_zeros(func, args, kwargs or {})
        behaviour = behaviour_of(func)
        with self.python_bodies():
            result = getattr(self, "record_" + behaviour.handle)(func, behaviour, args, kwargs or {})
        if is_added_in_place(self, func, args, result):
            result = self.restrided(result, args[0])
        if can_be_known(result, args):
            remember_values(func, args, kwargs or {}, result)
        return result

    __torch_dispatch__ = device_in_c(run_operator, "mode")

    def python_bodies(self) -> Any:
        """With symbols, composite operators run their Python bodies: the bodies in C++ need numbers."""
        has_symbols = self.mode.shape_env is not None
        return torch._C._EnablePythonDispatcher() if has_symbols else contextlib.nullcontext()

    def check_start(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises where an offset counts from the start of an input's memory: other calls begin elsewhere."""
        offset = args[FROM_START[func]] if len(args) > FROM_START[func] else kwargs.get("storage_offset")
        if offset is not None and self.find(args[0]).memory.placeholder is not None:
            raise UntraceableError(f"a call of {func} with an offset from the start of an input's memory")

    def record_zeros(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
        """Tensors that autograd knows to be zero (the derivative of `sign`), and products with them.

        The product is zero even where the other factor is infinite. torch keeps such tensors without memory;
        a graph has ordinary zeros.
        """
        with self:
            if func is ZERO:
                result = aten.zeros.default(*args, **kwargs)
            else:
                product = run_rule(self.mode, func, args, kwargs)
                result = aten.zeros.default(product.shape, dtype=product.dtype, device=product.device)
        self.zeros.add(id(result))
        return result

    def record_sum_with_zeros(
        self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> torch.Tensor:
        """The other operand, as in eager: zeros that are added would make of -0.0 a 0.0."""
        first, second = args
        if id(first) in self.zeros and id(second) in self.zeros:
            return self.record_zeros(func, args, kwargs)
        other, factor = (
            (second, SUMS[func] * kwargs.get("alpha", 1)) if id(first) in self.zeros else (first, 1)
        )
        with self:
            whole = aten.expand(other, torch.broadcast_shapes(first.shape, second.shape))
            result = aten._to_copy(whole, dtype=torch.result_type(first, second))
            return result if factor == 1 else aten.mul(result, factor)

    def record_rewrite(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        rule = rule_for(func)
        assert rule is not None, func
        outside, call = self.memories.silent, self.memories.call
        self.memories.call = call or object()
        self.memories.silent = outside or not func._schema.is_mutable or is_symbolic_batch_norm(func, args)
        try:
            with self, PLAIN_NUMBERS:
                result = rule(*args, **kwargs)
        finally:
            self.memories.silent, self.memories.call = outside, call
        if result is NotImplemented:
            return self.record_pure(func, behaviour, args, kwargs)
        return self.laid_out(func, args, kwargs, result)

    def laid_out(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """The result of a rewriting, with the operator's own strides where they are known and different."""
        if func not in SHAPE_RULES or any(given.alias_info is not None for given in func._schema.returns):
            return result
        own = run_rule(self.mode, func, args, kwargs)
        if isinstance(result, torch.Tensor):
            return self.restrided(result, own)
        return tuple(self.restrided(*pair) for pair in zip(result, own, strict=True))

    def restrided(self, result: Any, own: Any) -> Any:
        if result is None or own is None or own.stride() == result.stride():
            return result
        empty, layout = aten.empty_strided.default, ([*own.shape], [*own.stride()])
        # no call of the program: deterministic algorithms would fill it, in a layout of their own
        place = self.record_pure(
            empty, behaviour_of(empty), layout, {"dtype": own.dtype, "device": own.device}
        )
        with self:
            return aten.copy.default(place, result)

    def record_query(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A question about a tensor (its device, its layout): the graph has nothing to compute."""
        return run_rule(self.mode, func, args, kwargs)

    def record_check(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """A check that raises when the graph runs, if the values are wrong."""
        self.append(func, self.node_of(args), {k: self.node_of(v) for k, v in kwargs.items()}, None)

    def record_composite(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A composite operator that a rewriting calls below autograd, where nothing else decomposes it."""
        with self:
            return func.decompose(*args, **kwargs)

    def record_pure(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        result = run_rule(self.mode, func, args, kwargs)
        node = self.append(func, self.node_of(args), {k: self.node_of(v) for k, v in kwargs.items()}, result)
        if isinstance(result, torch.Tensor):
            if result.layout is not torch.strided:
                raise UntraceableError(f"a result of {func} with the layout {result.layout}")
            self.track(result, node)
        elif isinstance(result, (list, tuple)):
            for i, item in enumerate(result):
                if isinstance(item, torch.Tensor):
                    self.track(item, item_of(self.emit, node, i))
        return result

    def record_view(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if not isinstance(args[0], torch.Tensor):  # autograd conjugates the number of `x * 1j`
            with self:
                args = (aten.scalar_tensor.default(args[0], dtype=torch.complex128), *args[1:])
        parent = self.find(args[0])
        if func in UNDOES_ITSELF:
            plain = self.undone(func, parent)
            if plain is not None:
                return plain
        result = run_rule(self.mode, func, args, kwargs)
        node = self.append(func, (self.memories.current(parent), *args[1:]), kwargs, result)
        if isinstance(result, torch.Tensor):
            self.track_view(result, node, parent, ViewCall(func, args[1:], kwargs))
        else:
            for i, item in enumerate(result):
                self.track_view(
                    item, item_of(self.emit, node, i), parent, ViewCall(func, args[1:], kwargs, i)
                )
        return result

    def undone(self, func: OpOverload, turned: Tracked) -> torch.Tensor | None:
        """`func` on views of a result of `func`: the same views of the original tensor.

        The real part of `x.conj().conj()` is a part of the memory of `x`.
        """
        views: list[ViewCall] = []
        while turned.view is None or turned.view.func is not func:
            if turned.view is not None:
                if turned.view.index is not None:
                    return None
                views.append(turned.view)
            if turned.parent is None:
                return None
            turned = turned.parent
        if turned.parent is None:
            return None
        with self:
            tensor = aten.alias.default(turned.parent.tensor)
            for view in reversed(views):
                tensor = view.func(tensor, *view.args, **view.kwargs)
        return tensor

    def track_view(self, tensor: torch.Tensor, node: fx.Node, parent: Tracked, view: ViewCall | None) -> None:
        self.tracked[id(tensor)] = Tracked(tensor, node, parent.memory, parent.memory.version, parent, view)

    def record_identity(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        result = run_rule(self.mode, func, args, kwargs)
        parent = self.find(args[0])
        self.track_view(result, self.memories.current(parent), parent, None)
        return result

    def drop_origin(self, value: Any, caller: fx.Node) -> None:
        """Makes the result of a call the root of its memory if the call made the memory and detached it.

        torch's bindings of factories do so. The program never sees the tensor that was detached: for autograd
        the result is the base of its views.
        """
        tracked = self.tracked.get(id(value))
        origin = None if tracked is None or tracked.view is not None else tracked.parent
        if tracked is None or origin is None or origin.parent is not None or origin.tensor.requires_grad:
            return
        if tracked.memory.maker is caller:
            tracked.node, tracked.parent = self.memories.current(tracked), None

    def record_constant(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """`torch.tensor(...)`: each run of the graph makes a tensor that may be written or returned."""
        if isinstance(args[0], FakeTensor):
            return self.record_identity(func, behaviour, args, kwargs)
        result = run_rule(self.mode, func, args, kwargs)
        self.track(result, self.emit(aten.clone.default, (self.constant(args[0], result),), {}))
        return result

    def record_draw(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        target = run_rule(self.mode, func, args, kwargs)
        given = (func, list(target.shape), list(target.stride()), target.dtype, *args[1:])
        node = self.append(draw, given, kwargs, self.mode.like(target))
        self.memories.write(self.find(target), node)
        return target

    def record_update(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """A step of an optimizer: one node for each parameter."""
        for tensors, targets, options in calls_of(func, args, kwargs):
            given = {name: self.node_of(value) for name, value in options.items()}
            made = tuple(map(self.mode.like, targets))
            node = self.append(UPDATES[func].function, tuple(self.node_of(tensors)), given, made)
            for i, target in enumerate(targets):
                self.memories.write(self.find(target), item_of(self.emit, node, i))

    def record_write(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        functional = behaviour.functional
        assert functional is not None
        targets = written_tensors(behaviour, args, kwargs)
        self.check_given(func, targets, args)
        rest = {name: value for name, value in kwargs.items() if has_argument(functional, name)}
        if has_argument(functional, "dtype") and not has_argument(func, "dtype"):  # a constructor
            rest |= {"dtype": targets[0].dtype, "device": targets[0].device}
        if behaviour_of(functional).handle in ("rewrite", "composite"):
            with self:
                made = functional(*in_order(func, args), **rest)
            made = made if isinstance(made, (tuple, list)) else (made,)
            if any(value.shape != target.shape for value, target in zip(made, targets)):
                self.run_writing(func, targets, args, kwargs)
            check_out_dtypes(func, made, targets)
            self.write_results(targets, made)
            return returned(func, targets)
        result = self.run_writing(func, targets, args, kwargs)
        args = in_order(func, args)
        node = self.emit(
            functional, self.node_of(args), {name: self.node_of(value) for name, value in rest.items()}
        )
        value = node.meta["val"]
        check_out_dtypes(func, value if isinstance(value, (tuple, list)) else (value,), targets)
        if len(targets) == 1 and isinstance(value, torch.Tensor):
            check_cast(value, targets[0])
            check_drawn(func, value, targets[0])
            self.memories.write(self.find(targets[0]), node)
        else:
            for i, target in enumerate(targets):
                self.memories.write(self.find(target), item_of(self.emit, node, i))
        return result

    def check_given(self, func: OpOverload, targets: list[Any], args: tuple[Any, ...]) -> None:
        """Raises where a written tensor shares memory with an operand.

        Eager refuses some of these calls. Only eager knows what most operators do with such an `out=`.
        """
        for target in targets:
            memory = self.find(target).memory
            for tensor in tensors_in(args):
                if tensor is not target and self.find(tensor).memory is memory:
                    check_overlap(func, target, tensor)
        if torch.Tag.pointwise in func.tags or not any(a.is_out for a in func._schema.arguments):
            return
        memories = {id(self.find(tensor).memory) for tensor in tensors_in(args) if tensor.numel()}
        if any(id(self.find(target).memory) in memories for target in targets):
            raise UntraceableError(f"a call of {func} that writes to one of its operands")

    def run_writing(
        self, func: OpOverload, targets: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The call on the fake tensors: it raises eager's errors, and resizes the tensors it writes to."""
        layouts = [(target.shape, target.stride()) for target in targets]
        result = run_rule(self.mode, func, args, kwargs)
        for target, layout in zip(targets, layouts):
            if layout != (target.shape, target.stride()):
                self.start_anew(func, target, layout[0])
        return result

    def start_anew(self, func: OpOverload, target: torch.Tensor, size: torch.Size) -> None:
        """`target` was resized for the result.

        Nothing is lost where it was empty and made by the graph itself.
        """
        tracked = self.find(target)
        if tracked.memory.placeholder is not None or tracked.parent is not None or size.numel():
            raise UntraceableError(f"a call of {func} that resizes the tensor that it writes to")
        self.track(target, tracked.node)

    def write_results(self, targets: list[Any], made: Any) -> None:
        """Writes the computed tensors to the given ones."""
        for target, value in zip(targets, made):
            check_cast(value, target)
            self.memories.write(self.find(target), self.memories.current(self.find(value)))

    def record_mixed(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """An operator with new results that also writes some arguments.

        The last results of its functional form are the written values.
        """
        functional = behaviour.functional
        assert functional is not None
        with self:
            made = functional(*args, **kwargs)
        targets = written_tensors(behaviour, args, kwargs)
        count = len(made) - len(targets)
        self.write_results(targets, made[count:])
        results = made[0] if count == 1 else tuple(made[:count])
        return self.laid_out(func, args, kwargs, results)

    def record_relayout(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """`x.t_()`: from now on the tensor is a view of its former self, which a twin stands for."""
        functional, tensor = behaviour.functional, args[0]
        assert functional is not None
        former = self.find(tensor)
        if former.memory.placeholder is not None and former.parent is None:
            raise UntraceableError(f"a call of {func} that changes the layout of an input")
        twin = run_rule(self.mode, aten.alias.default, (tensor,), {})
        former.tensor = twin
        self.tracked[id(twin)] = former
        for node in self.holders.pop(id(tensor), ()):  # earlier nodes have the former layout
            self.set_value(node, with_twin(node.meta["val"], tensor, twin))
        if functional is aten.detach.default:
            self.track_view(tensor, self.memories.current(former), former, None)
            return run_rule(self.mode, func, args, kwargs)
        value = run_rule(self.mode, functional, (twin, *args[1:]), kwargs)
        node = self.append(functional, (self.memories.current(former), *args[1:]), kwargs, value)
        self.track_view(tensor, node, former, ViewCall(functional, args[1:], kwargs))
        return run_rule(self.mode, func, args, kwargs)

    def record_resize(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A resize to the present size does nothing."""
        if kwargs.get("memory_format") is None and list(args[0].shape) == list(args[1]):
            return args[0]
        raise UntraceableError(f"a resize of a tensor of size {list(args[0].shape)} to {list(args[1])}")

    def record_refuse(
        self, func: OpOverload, behaviour: Behaviour, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        raise UntraceableError(f"a call of {func}, which has no functional form")


def is_symbolic_batch_norm(func: OpOverload, args: tuple[Any, ...]) -> bool:
    """Whether this is the batch norm operator that `torch.batch_norm` calls on symbolic sizes.

    Eager calls another operator, which does not tell autograd that it writes the statistics.
    """
    return func is aten._native_batch_norm_legit.default and any(
        type(n) is torch.SymInt for n in args[0].shape
    )


#: `x.conj().conj()` is `x`
UNDOES_ITSELF = (aten._conj.default, aten._neg_view.default)


def returned(func: OpOverload, targets: list[Any]) -> Any:
    """The return value of an operator that got the tensors for its results."""
    count = len(func._schema.returns)
    return tuple(targets) if count > 1 else targets[0] if count else None


def with_twin(value: Any, tensor: torch.Tensor, twin: torch.Tensor) -> Any:
    """`value` with `twin` in the places of `tensor`."""
    if isinstance(value, (list, tuple)):
        return type(value)(with_twin(item, tensor, twin) for item in value)
    return twin if value is tensor else value
