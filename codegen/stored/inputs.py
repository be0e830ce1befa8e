"""What a compilation sees of a graph's inputs.

In:  the inputs of a graph: tensors and ints.
Out: plain data: layout, place in autograd, which of them share memory. What is in the tensors does not
     count. `stand_ins` makes inputs with the same properties.

    [x, w, x, 3]   ->   [{"shape": [3, 4], ...}, {...}, {"same": 0}, 3]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.stored.names import Malformed, NotStored

KINDS: dict[type, str] = {torch.Tensor: "tensor", torch.nn.Parameter: "parameter", torch.nn.Buffer: "buffer"}


def inputs_data(inputs: Sequence[Any]) -> list[Any]:
    """Raises NotStored."""
    found: list[Any] = []
    places: dict[int, int] = {}
    storages: dict[int, int] = {}
    for place, value in enumerate(inputs):
        if type(value) is int:
            found.append(value)
        elif id(value) in places:
            found.append({"same": places[id(value)]})
        else:
            places[id(value)] = place
            found.append(tensor_data(value, storages))
    return found


def tensor_data(value: Any, storages: dict[int, int]) -> dict[str, Any]:
    kind = KINDS.get(type(value))
    if kind is None or value.layout is not torch.strided or value.device.type != "cpu":
        raise NotStored(f"an input of the type {type(value).__name__}")
    if value.is_conj() or value.is_neg() or value.is_quantized or value.is_nested:
        raise NotStored("an input that is conjugated, negated, quantised or nested")
    if torch._C._functorch.is_functorch_wrapped_tensor(value) or torch._is_functional_tensor(value):
        raise NotStored("an input of a transform")
    storage = value.untyped_storage()
    return {
        "kind": kind,
        "dtype": str(value.dtype).removeprefix("torch."),
        "shape": list(value.shape),
        "strides": list(value.stride()),
        "offset": value.storage_offset(),
        "storage": storages.setdefault(storage._cdata, len(storages)),
        "bytes": storage.nbytes(),
        "requires_grad": value.requires_grad,
        "leaf": value.is_leaf,
        "inference": value.is_inference(),
    }


def stand_ins(data: Sequence[Any]) -> list[Any]:
    """Inputs with these properties. What is in the tensors is undefined. Raises Malformed."""
    storages: dict[int, torch.UntypedStorage] = {}
    found: list[Any] = []
    for item in data:
        if type(item) is int:
            found.append(item)
        else:
            found.append(found[item["same"]] if "same" in item else stand_in(item, storages))
    return found


def stand_in(item: dict[str, Any], storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    """A tensor without data in the place of the input."""
    dtype = getattr(torch, item["dtype"])
    if type(dtype) is not torch.dtype:
        raise Malformed(f"no dtype: {item['dtype']}")
    with torch.inference_mode(item["inference"]), torch.no_grad():
        storage = storages.get(item["storage"])
        if storage is None:
            storage = torch.empty(item["bytes"], dtype=torch.uint8).untyped_storage()
            storages[item["storage"]] = storage
        value = torch.empty(0, dtype=dtype)
        value.set_(storage, item["offset"], item["shape"], item["strides"])
    if item["kind"] == "parameter":
        return torch.nn.Parameter(value, requires_grad=item["requires_grad"])
    if item["requires_grad"]:
        value.requires_grad_()
        return value if item["leaf"] else NonLeaf.apply(value)
    return value


class NonLeaf(torch.autograd.Function):
    """The same tensor with a node of autograd's graph."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("a stored graph tried to go backward through its own input")
