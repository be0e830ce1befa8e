"""Tensors of the graph.

In:  attributes, methods and operators of tensors in the frame.
Out: nodes of the graph, or constants. A `TensorVariable` is a graph node with its fake tensor. Sizes, dtypes
     and the like come from the fake tensor and are constants, because the guard on the input fixes them. An
     operation that needs data breaks the graph.
"""

from __future__ import annotations

import functools
import operator
import types
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from capture.graph.made_by import made_by
from capture.graph.replaced_data import with_data
from capture.policy import first_steps
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import ValueMethod
from capture.variables.containers.sequence import SizeVariable, holds_symbols
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new, raise_python
from capture.variables.core.makers import makes
from capture.variables.core.replay import store_attributes
from capture.variables.core.wrap import wrap, wrap_class
from capture.variables.iterators.iterator import ChangingIterator, SequenceIterator
from capture.variables.numbers import constant_tensors
from capture.variables.tensors import tensor_attributes
from guards.sources import GradSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source

# Attributes and methods whose result is a constant, read from the fake tensor.
CONSTANT_ATTRIBUTES = frozenset(
    [
        "dtype",
        "layout",
        "ndim",
        "shape",
        "requires_grad",
        "is_cuda",
        "is_cpu",
        "is_sparse",
        "is_quantized",
        "is_meta",
        "is_mkldnn",
        "is_mps",
        "is_xpu",
        "is_nested",
        "is_sparse_csr",
        "itemsize",
        "is_ipu",
        "is_vulkan",
        "is_maia",
        "is_mtia",
        "is_xla",
        "name",
    ]
)
CONSTANT_METHODS = frozenset(
    [
        "size",
        "dim",
        "numel",
        "ndimension",
        "stride",
        "is_contiguous",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "element_size",
        "storage_offset",
        "get_device",
        "is_conj",
        "is_neg",
        "is_inference",
        "is_pinned",
        "is_same_size",
        "dim_order",
        "__len__",
    ]
)
# The methods among them that depend on the layout of the elements in memory.
LAYOUT_METHODS = frozenset(("stride", "is_contiguous", "dim_order"))
GRAPH_ATTRIBUTES = frozenset(("T", "mT", "H", "mH", "real", "imag"))
DATA_DEPENDENT = {
    "item": "Tensor.item()",
    "tolist": "Tensor.tolist()",
    "__bool__": "bool(tensor)",
    "__int__": "int(tensor)",
    "__float__": "float(tensor)",
    "__index__": "a tensor as an index",
    "__complex__": "complex(tensor)",
    "__contains__": "`in` on a tensor",
}
# Methods that look at the memory of the tensor.
OF_MEMORY = frozenset(
    [
        "is_shared",
        "_is_zerotensor",
        "storage_type",
        "const_data_ptr",
        "mutable_data_ptr",
        "data_ptr",
        "untyped_storage",
        "storage",
        "typed_storage",
    ]
)
# Methods that reach outside of the graph: autograd, storage, hooks, other processes, text.
OUTSIDE = frozenset(
    [
        "backward",
        "retain_grad",
        "set_",
        "resize_",
        "resize_as_",
        "share_memory_",
        "__array__",
        "pin_memory",
        "__deepcopy__",
        "__reduce_ex__",
        "__reduce__",
        "__setstate__",
        "__repr__",
        "__str__",
        "__format__",
        "__dlpack__",
        "apply_",
        "map_",
        "map2_",
        "to_sparse",
        "record_stream",
        "module_load",
        "_backward_hooks",
        "__hash__",
    ]
)


@makes(torch.Tensor)
class TensorVariable(Variable):
    """A tensor of the graph.

    `node` is the node of its present value; an in-place operation replaces it. `fake` is its fake tensor.
    """

    cls: type = torch.Tensor  # another class for tensors of tensor_subclass.py

    def __init__(self, node: torch.fx.Node, fake: torch.Tensor, source: Source | None = None) -> None:
        super().__init__(source)
        self.node = node
        self.fake = fake
        self.value: torch.Tensor | None = None  # the existing tensor, if there is one
        self.attributes: dict[str, Variable] = {}  # set by the program
        self.leaf: TensorVariable | None = None  # this tensor before the program gave it other data
        self.is_detached = False  # by `detach_`: the fake tensor is a view, but the tensor is none

    def python_type(self) -> type:
        return torch.nn.Parameter if isinstance(self.value, torch.nn.Parameter) else torch.Tensor

    def describe(self) -> str:
        return f"tensor {self.source.text if self.source else self.node.name}"

    def as_proxy(self) -> Any:
        return self.node

    def real_value(self) -> Any:
        return super().real_value() if self.value is None else self.value

    def known_truth(self, tx: Interpreter) -> bool | None:
        """`bool(tensor)` of a constant. None if its values are not known, or if code of the program says."""
        plain = self.cls is torch.Tensor and not tx.output.modes.function_modes
        known = constant_tensors.number_of(self.fake, "__bool__") if plain else None
        return None if known is None else known.value

    def truth(self, tx: Interpreter) -> bool:
        known = self.known_truth(tx)
        if known is not None:
            return known
        raise made_by(GraphBreak("data_dependent_value", what="bool(tensor)"), self.node)

    def length(self, tx: Interpreter) -> int:
        """The number of rows, which may be a symbol."""
        overridden = self._overridden(tx, len, [], {})
        if overridden is not None:
            return overridden.as_constant()
        if self.fake.ndim == 0:
            raise raise_new(TypeError, "len() of a 0-d tensor")
        return self.fake.shape[0]

    def _overridden(
        self, tx: Interpreter, function: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable | None:
        """The result of `function(self, *args)` if the program's own `__torch_function__` handles it."""
        if self.cls is torch.Tensor and not tx.output.modes.function_modes:
            return None
        return tx.call_override(function, [self, *args], kwargs)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        # torch calls these methods, and the program may override them
        if self.cls is not torch.Tensor or tx.output.modes.function_modes:
            self.call_method(tx, "dim", [], {})
            return self.call_method(tx, "unbind", [ConstantVariable(0)], {}).unpack(tx)
        if self.fake.ndim == 0:
            raise raise_new(TypeError, "iteration over a 0-d tensor")
        return [
            tx.output.call_function(tx, operator.getitem, [self, ConstantVariable(i)], {})
            for i in range(self.fake.shape[0])
        ]

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        held = name in self.attributes and name != "data"
        stored = tensor_attributes.load(self, tx, name) if held else None
        if stored is not None:
            return stored
        if name in TORCH_ATTRIBUTES:
            overridden = self._overridden(tx, TORCH_ATTRIBUTES[name], [], {})
            if overridden is not None:
                return overridden
        special = TENSOR_ATTRIBUTES.get(name)
        if special is not None:
            return special(self, tx)
        if name in CONSTANT_ATTRIBUTES:
            return tx.wrap_constant(getattr(self.fake, name))
        if name in GRAPH_ATTRIBUTES:
            return tx.output.call_function(tx, getattr, [self, ConstantVariable(name)], {})
        return self._other_attribute(tx, name)

    def torch_attribute(self, tx: Interpreter, name: str) -> Variable:
        """The attribute that torch defines, even if a subclass has another one of that name."""
        return self.get_attr(tx, name)

    def dunder(self, tx: Interpreter, name: str, args: list[Variable]) -> Variable | None:
        """Calls a special method of the program's own class. None if the class has torch's method."""
        return None

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        """Stores `tensor.grad` of an existing tensor, or an attribute of the program.

        The real store happens after the graph.
        """
        if tx.output.modes.function_modes and not tensor_attributes.is_free_name(name):
            raise GraphBreak("set_attr", value=self, name=name)  # a mode sees the store
        if name == "data":
            _set_data(self, tx, value)
        elif name != "grad":
            tensor_attributes.store(self, tx, name, value)
        elif self.source is None or not _fits_as_grad(self, value):
            raise GraphBreak("set_attr", value=self, name=name)
        else:
            tx.output.side_effects.store_attr(self, name, value)

    def del_attr(self, tx: Interpreter, name: str) -> None:
        tensor_attributes.delete(self, tx, name)

    def unknown(self, kind: str, name: str) -> GraphBreak:
        """The break for what only tensors of eager have: their place among views and in autograd's graph."""
        signal = GraphBreak(kind, value=self, name=name)
        signal.wants_eager = self.value is None
        return signal

    def _other_attribute(self, tx: Interpreter, name: str) -> Variable:
        own = tensor_attributes.load(self, tx, name)
        if own is not None:
            return own
        found = getattr(torch.Tensor, name, None)
        if callable(found):
            return ValueMethod(self, name)
        if found is None:
            raise raise_new(
                AttributeError, f"'{self.python_type().__name__}' object has no attribute '{name}'"
            )
        raise self.unknown("get_attr", name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in DATA_DEPENDENT:
            number = tx.read_number(name, self, args) if not kwargs else None
            if number is not None:
                return number
            raise made_by(GraphBreak("data_dependent_value", what=DATA_DEPENDENT[name]), self.node)
        if name in OF_MEMORY:
            raise self.unknown("method", name)
        if name in OUTSIDE:
            raise GraphBreak("method", name=name, value=self)
        overridden = None if name == "__iter__" else self._overridden(tx, _method(name), args, kwargs)
        if overridden is not None:
            return overridden
        if name == "storage_offset":
            return self._storage_offset(tx)
        if name == "__len__":
            return tx.wrap_constant(self.length(tx))
        if name in CONSTANT_METHODS and all(a.is_constant() for a in [*args, *kwargs.values()]):
            return self._constant_method(tx, name, args, kwargs)
        special = TENSOR_METHODS.get(name)
        if special is not None:
            return special(self, tx, *args, **kwargs)
        if not callable(getattr(torch.Tensor, name, None)):
            return self.get_attr(tx, name).call(tx, args, kwargs)
        tensor_attributes.guard_name(tx, name)
        return tx.output.call_method(tx, name, [self, *args], kwargs)

    def _constant_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in LAYOUT_METHODS and tx.output.unbacked.is_among(self.fake.shape):
            raise GraphBreak("data_dependent_shape", what=f"Tensor.{name}()")
        try:
            values = [a.as_constant() for a in args]
            result = getattr(self.fake, name)(*values, **{k: v.as_constant() for k, v in kwargs.items()})
        except GraphBreak:  # one class of breaks is also a RuntimeError of torch
            raise
        except (IndexError, TypeError, RuntimeError) as error:
            raise raise_python(error) from None
        return tx.wrap_constant(result)

    def _storage_offset(self, tx: Interpreter) -> Variable:
        """The offset of an input, under its own guard, because no other guard checks it."""
        if self.value is None or self.source is None:
            raise GraphBreak("method", name="storage_offset", value=self)
        tx.output.guarding.storage_offset(self.source, self.value)
        return ConstantVariable(self.value.storage_offset())

    def iterate(self, tx: Interpreter) -> Variable:
        return ChangingIterator(self) if self._length_varies(tx) else SequenceIterator(self.unpack(tx))

    def _length_varies(self, tx: Interpreter) -> bool:
        """Whether the number of rows is a symbol and had so many values here that Python walks over them."""
        if self.cls is not torch.Tensor or tx.output.modes.function_modes or self.fake.ndim == 0:
            return False
        rows: Any = self.fake.shape[0]
        if not isinstance(rows, torch.SymInt) or tx.output.unbacked.is_among((rows,)):
            return False
        return tx.output.symbols.policy.loop_varies(tx.code, tx.index, rows.node.hint)

    def replay_change(self, code: PythonCode, before: Any) -> None:
        store_attributes(code, self, self.attributes)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_output(self.node)
        if self.attributes:
            tensor_attributes.rebuild(self, code)

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return not self.attributes and self.cls is torch.Tensor and recipe.output(self.node)

    def open_dims(self) -> frozenset[int] | None:
        dims = frozenset(dim for dim, size in enumerate(self.fake.shape) if isinstance(size, torch.SymInt))
        return dims or None

    def children(self) -> list[Variable]:
        return list(self.attributes.values())


def _method(name: str) -> Any:
    return getattr(torch.Tensor, name, None)


#: What the class and its bases hold, without calls of descriptors.
STATIC: dict[str, Any] = {
    name: held for base in reversed(torch.Tensor.__mro__) for name, held in vars(base).items()
}
#: Attributes that torch computes, with the function that reads them.
TORCH_ATTRIBUTES = {
    name: operator.attrgetter(name)
    for name, held in STATIC.items()
    if isinstance(held, (types.GetSetDescriptorType, property)) and name != "__dict__"
}


# --- attributes and methods with special rules ------------------------------------------------------------


def _fits_as_grad(owner: TensorVariable, value: Variable) -> bool:
    """Whether torch accepts the value. If not, torch raises, and Python runs the statement."""
    if not isinstance(value, TensorVariable):
        return value.is_exactly(None)
    same = all(
        getattr(owner.fake, name) == getattr(value.fake, name)
        for name in ("dtype", "device", "layout", "shape")
    )
    return same and value is not owner


def _data(self: TensorVariable, tx: Interpreter) -> Variable:
    """`x.data`: it shares the memory of `x`, but not the version that autograd checks.

    The fake tensor shares both, so that writes to inputs are seen.
    """
    detached = tx.output.call_method(tx, "detach", [self], {})
    assert isinstance(detached, TensorVariable)
    detached.node.op, detached.node.target = "call_function", getattr
    detached.node.args = (*detached.node.args, "data")
    return detached


def _set_data(self: TensorVariable, tx: Interpreter, value: Variable) -> None:
    """`x.data = value` of an existing tensor, or of a result that autograd does not see.

    From here on the variable stands for a tensor on the memory of `value`. The tensor itself gets that memory
    after the graph.
    """
    plain = isinstance(value, TensorVariable) and self.cls is value.cls is torch.Tensor
    fits = plain and (self.source is not None or _may_get_data(self, value))
    if not fits or torch._C._functorch.peek_interpreter_stack() is not None:
        raise GraphBreak("set_attr", value=self, name="data")
    assert isinstance(value, TensorVariable)
    if _is_same_memory(self.fake, value.fake):
        return
    leaf = self.leaf or TensorVariable(self.node, self.fake)
    recorded = leaf.fake.requires_grad
    fits = leaf.fake.is_leaf and _fits_as_grad(self, value) and _is_made_by_graph(tx, value)
    if recorded and not (fits and not _is_used(self.node)):
        raise GraphBreak("set_attr", value=self, name="data")
    data = _data(value, tx)
    if self.source is None:
        assert isinstance(data, TensorVariable)
        self.node, self.fake = data.node, data.fake
        return
    tx.output.side_effects.store_attr(self, "data", data)
    made = tx.output.call_function(tx, with_data, [leaf, data], {}) if recorded else data
    assert isinstance(made, TensorVariable)
    self.leaf, self.node, self.fake = leaf, made.node, made.fake


def _may_get_data(result: TensorVariable, value: Any) -> bool:
    """Whether torch lets a result of the graph have the memory of `value`, and autograd has no part in it."""
    old, new = result.fake, value.fake
    alike = (old.dtype, old.device, old.layout) == (new.dtype, new.device, new.layout)
    seen = old.requires_grad or old.is_inference() or new.is_inference()
    return type(result) is TensorVariable and alike and not seen and not result.attributes


def _is_used(node: torch.fx.Node) -> bool:
    """Whether autograd records an operation that reads it, because that backward would see the new data."""
    results = pytree.tree_leaves([user.meta.get("example_value") for user in node.users])
    return any(isinstance(result, torch.Tensor) and result.requires_grad for result in results)


def _is_same_memory(left: torch.Tensor, right: torch.Tensor) -> bool:
    if (left.shape, left.dtype, left.layout) != (right.shape, right.dtype, right.layout):
        return False
    same = left.untyped_storage()._cdata == right.untyped_storage()._cdata
    return same and (left.stride(), left.storage_offset()) == (right.stride(), right.storage_offset())


def _is_made_by_graph(tx: Interpreter, value: TensorVariable) -> bool:
    """Whether its memory is no input's.

    A write through the leaf would otherwise be a write to that input, which nothing would see.
    """
    memory = value.fake.untyped_storage()._cdata
    inputs = (i.node.meta["example_value"] for i in tx.output.inputs.tensors())
    return all(fake.untyped_storage()._cdata != memory for fake in inputs)


def _is_leaf(self: TensorVariable, tx: Interpreter) -> Variable:
    return ConstantVariable((self.leaf or self).fake.is_leaf)


def _grad(self: TensorVariable, tx: Interpreter) -> Variable:
    if self.value is None or self.source is None:
        if self.fake.is_leaf or not self.fake.requires_grad:
            return ConstantVariable(None)
        raise GraphBreak("get_attr", value=self, name="grad")
    first_steps.check(tx, functools.partial(_waits_for_gradient, self.value))
    return wrap(tx.output, self.value.grad, GradSource(self.source))


def _waits_for_gradient(tensor: torch.Tensor) -> bool:
    return tensor.grad is None and tensor.is_leaf and tensor.requires_grad


def _grad_fn(self: TensorVariable, tx: Interpreter) -> Variable:
    if self.fake.grad_fn is None:
        return ConstantVariable(None)
    raise self.unknown("get_attr", "grad_fn")


def _base(self: TensorVariable, tx: Interpreter) -> Variable:
    if self.value is not None or self.fake._base is not None:
        raise self.unknown("get_attr", "_base")
    return ConstantVariable(None)


def _device(self: TensorVariable, tx: Interpreter) -> Variable:
    """A new object at every read, as in torch."""
    device = self.fake.device
    made = torch.device(device.type) if device.index is None else torch.device(device.type, device.index)
    return ConstantVariable(made)


def _nbytes(self: TensorVariable, tx: Interpreter) -> Variable:
    return tx.wrap_constant(self.fake.numel() * self.fake.itemsize)


def _nelement(self: TensorVariable, tx: Interpreter) -> Variable:
    return tx.wrap_constant(self.fake.numel())


def _class(self: TensorVariable, tx: Interpreter) -> Variable:
    return wrap_class(tx.output, self.python_type())


def _type_name(self: TensorVariable, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    if args or kwargs:
        return tx.output.call_method(tx, "type", [self, *args], kwargs)
    return ConstantVariable(self.fake.type())


def _of_graph(name: str) -> Callable[[TensorVariable, Interpreter], Variable]:
    """The rule for the tensor's place in autograd's own graph. It is known only for leaves."""

    def read(self: TensorVariable, tx: Interpreter) -> Variable:
        if not self.fake.is_leaf:
            raise self.unknown("get_attr", name)
        return ConstantVariable(getattr(self.fake, name))

    return read


def _iter(self: TensorVariable, tx: Interpreter) -> Variable:
    return self.iterate(tx)


def _detach_in_place(self: TensorVariable, tx: Interpreter) -> Variable:
    """`x.detach_()` of a result. From here on the variable stands for the detached tensor.

    Breaks for an input, because the caller holds that tensor; for a view, which torch refuses; and for a
    tensor with views, whose gradients and writes depend on the tensor.
    """
    if self.source is not None:
        raise GraphBreak("method", name="detach_", value=self)
    if self.fake._is_view() or _has_views(self, tx):
        raise self.unknown("method", "detach_")
    detached = tx.output.call_method(tx, "detach", [self], {})
    assert isinstance(detached, TensorVariable)
    self.node, self.fake, self.is_detached = detached.node, detached.fake, True
    return self


def _has_views(self: TensorVariable, tx: Interpreter) -> bool:
    """Whether another tensor of the graph has its memory."""
    memory = self.fake.untyped_storage()._cdata
    values = pytree.tree_leaves([node.meta.get("example_value") for node in tx.output.graph.nodes])
    others = (v for v in values if isinstance(v, torch.Tensor) and v is not self.fake)
    return any(other.untyped_storage()._cdata == memory for other in others)


def _requires_grad_in_place(
    self: TensorVariable, tx: Interpreter, requires_grad: Variable = ConstantVariable(True)
) -> Variable:
    """Does nothing if the tensor has that flag already (a guard checks it for an input); else it breaks."""
    transformed = torch._C._functorch.peek_interpreter_stack() is not None  # there it is an error
    known = requires_grad.is_constant() and not transformed
    if not known or self.fake.requires_grad is not requires_grad.as_constant():
        raise GraphBreak("method", name="requires_grad_", value=self)
    return self


def _is_view(self: TensorVariable, tx: Interpreter) -> Variable:
    """Whether a result is a view. It breaks for an input, because no guard checks that."""
    if self.value is not None or self.is_detached:
        raise self.unknown("method", "_is_view")
    return ConstantVariable(self.fake._is_view())


def _get_item(self: TensorVariable, tx: Interpreter, key: Variable) -> Variable:
    return tx.output.call_function(tx, operator.getitem, [self, key], {})


def _new(self: TensorVariable, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """`x.new(size)` with separate sizes: in the graph a size is a tuple, which `new` takes for values."""
    if len(args) != 1 or not isinstance(args[0], SizeVariable):
        return tx.output.call_method(tx, "new", [self, *args], kwargs)
    sizes = args[0].unpack(tx)
    name = "new" if sizes else "new_empty"
    return tx.output.call_method(tx, name, [self, *(sizes or args)], kwargs)


def _set_item(self: TensorVariable, tx: Interpreter, key: Variable, value: Variable) -> Variable:
    tx.output.call_function(tx, operator.setitem, [self, key, value], {})
    return ConstantVariable(None)


TENSOR_ATTRIBUTES: dict[str, Callable[[TensorVariable, Interpreter], Variable]] = {
    "data": _data,
    "is_leaf": _is_leaf,
    "grad": _grad,
    "grad_fn": _grad_fn,
    "_base": _base,
    "output_nr": _of_graph("output_nr"),
    "retains_grad": _of_graph("retains_grad"),
    "__class__": _class,
    "device": _device,
    "nbytes": _nbytes,
}


def _new_tensor(self: TensorVariable, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """`x.new_tensor(sizes)` as `torch.tensor`, which takes symbols."""
    if not args or not holds_symbols(tx, args[0]):
        return tx.output.call_method(tx, "new_tensor", [self, *args], kwargs)
    own: dict[str, Variable] = {name: self.get_attr(tx, name) for name in ("dtype", "device")}
    return tx.output.call_function(tx, torch.tensor, list(args), {**own, **kwargs})


TENSOR_METHODS: dict[str, Callable[..., Variable]] = {
    "new_tensor": _new_tensor,
    "type": _type_name,
    "detach_": _detach_in_place,
    "_is_view": _is_view,
    "requires_grad_": _requires_grad_in_place,
    "nelement": _nelement,
    "new": _new,
    "__iter__": _iter,
    "__getitem__": _get_item,
    "__setitem__": _set_item,
}
