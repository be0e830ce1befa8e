"""Which subclasses of `torch.Tensor` the interpreter follows.

In:  a class.
Out: whether attributes and operations of its instances are those of `torch.Tensor`, but for
     `__torch_function__`.

    class Logged(torch.Tensor): ...   ->   True          torch.nn.UninitializedParameter   ->   False
"""

from __future__ import annotations

import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from capture.variables.core.class_lookup import MISSING, lookup_type, plain_setattr


def is_followed(cls: type) -> bool:
    """Whether the interpreter can capture tensors of the class."""
    return (
        lookup_type(cls, "__torch_dispatch__") is torch._C._disabled_torch_dispatch_impl
        and not issubclass(cls, UninitializedTensorMixin)
        and lookup_type(cls, "__getattribute__") is object.__getattribute__
        and lookup_type(cls, "__getattr__") is MISSING
        and lookup_type(cls, "__setattr__") in plain_setattr()
        and lookup_type(cls, "__del__") is MISSING
        and type(cls) in (type(torch.Tensor), type(torch.nn.Parameter))
    )
