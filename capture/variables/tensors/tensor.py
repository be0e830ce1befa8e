"""Tensors of the graph.

In:  attributes, methods and operators of tensors in the frame.
Out: nodes of the graph, or constants. A `TensorVariable` is a graph node with its fake tensor. Sizes, dtypes
     and the like come from the fake tensor and are constants, because the guard on the input fixes them. An
     operation that needs data breaks the graph.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from capture.graph.made_by import made_by
from capture.report.break_reasons import GraphBreak, at_once
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core import contents
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new, raise_python
from capture.variables.core.makers import makes
from capture.variables.core.overriding import is_enabled, overrides
from capture.variables.core.replay import store_attributes
from capture.variables.numbers import constant_tensors
from capture.variables.tensors import tensor_attributes
from capture.variables.tensors.tensor_names import (
    CONSTANT_ATTRIBUTES,
    CONSTANT_METHODS,
    DATA_DEPENDENT,
    GRAPH_ATTRIBUTES,
    LAYOUT_METHODS,
    OF_MEMORY,
    OUTSIDE,
    TORCH_ATTRIBUTES,
)
from codegen.kernel.families import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source

#: Rules that other modules have for single names: how an attribute is read, how it is stored, a call.
TENSOR_ATTRIBUTES: Table[Callable[[TensorVariable, Interpreter], Variable]] = Table(
    contents, "TENSOR_ATTRIBUTES"
)
TENSOR_STORES: Table[Callable[[TensorVariable, Interpreter, Variable], None]] = Table(
    contents, "TENSOR_STORES"
)
TENSOR_METHODS: Table[Callable[..., Variable]] = Table(contents, "TENSOR_METHODS")


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

    def is_overriding(self) -> bool:
        return self.cls is not torch.Tensor and overrides(self.cls) and is_enabled()

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
        raise at_once(made_by(GraphBreak("data_dependent_value", what="bool(tensor)"), self.node))

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
        """The real store happens after the graph."""
        if tx.output.modes.function_modes and not tensor_attributes.is_free_name(name):
            raise GraphBreak("set_attr", value=self, name=name)  # a mode sees the store
        special = TENSOR_STORES.get(name)
        if special is not None:
            special(self, tx, value)
        else:
            tensor_attributes.store(self, tx, name, value)

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
        found = _of_tensors(name)
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
            raise at_once(GraphBreak("method", name=name, value=self))
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
        if not callable(_of_tensors(name)):
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
        from capture.variables.iterators.iterator import (  # lazy: import time
            ChangingIterator,
            SequenceIterator,
        )

        return ChangingIterator(self) if self._length_varies(tx) else SequenceIterator(self.unpack(tx))

    def _length_varies(self, tx: Interpreter) -> bool:
        """Whether the number of rows is a symbol and had so many values here that Python walks over them."""
        if self.cls is not torch.Tensor or tx.output.modes.function_modes or self.fake.ndim == 0:
            return False
        rows: Any = self.fake.shape[0]
        if not isinstance(rows, torch.SymInt) or tx.output.unbacked.is_among((rows,)):
            return False
        policy = tx.output.symbols.policy
        return policy.loop_varies(tx.code, tx.index, rows.node.hint) or policy.is_open_length(self.source)

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


def _of_tensors(name: str) -> Any:
    """What tensors have under this name. What the class itself has (`mro`, `__call__`) is not theirs."""
    is_theirs = any(name in vars(base) for base in torch.Tensor.__mro__)
    return getattr(torch.Tensor, name) if is_theirs else None
