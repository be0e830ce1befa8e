"""What is known of a tensor's attributes and methods by their names.

In:  the name of an attribute or method of `torch.Tensor`.
Out: tables: whose value is a constant of the fake tensor, which is an operation of the graph, which needs the
     data or reaches outside of the graph.
"""

from __future__ import annotations

import operator
import types
from typing import Any

import torch

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
