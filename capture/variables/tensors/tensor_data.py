"""`x.data`: the memory of a tensor, read and replaced.

In:  loads and stores of `data` on a TensorVariable.
Out: a detached tensor; or a variable that stands for a tensor on other memory from here on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from capture.graph.replaced_data import with_data
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.tensors.tensor import TENSOR_ATTRIBUTES, TENSOR_STORES, TensorVariable
from capture.variables.tensors.tensor_grad import fits_as_grad

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def read_data(self: TensorVariable, tx: Interpreter) -> TensorVariable:
    """`x.data`: it shares the memory of `x`, but not the version that autograd checks.

    The fake tensor shares both, so that writes to inputs are seen.
    """
    detached = tx.output.call_method(tx, "detach", [self], {})
    assert isinstance(detached, TensorVariable)
    detached.node.op, detached.node.target = "call_function", getattr
    detached.node.args = (*detached.node.args, "data")
    return detached


def set_data(self: TensorVariable, tx: Interpreter, value: Variable) -> None:
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
    if tx.output.changed_flags.has(leaf):
        raise GraphBreak("set_attr", value=self, name="data")
    fits = leaf.fake.is_leaf and fits_as_grad(self, value) and _is_made_by_graph(tx, value)
    if recorded and not (fits and not _is_used(self.node)):
        raise GraphBreak("set_attr", value=self, name="data")
    data = read_data(value, tx)
    if self.source is None:
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


TENSOR_ATTRIBUTES["data"] = read_data
TENSOR_STORES["data"] = set_data
