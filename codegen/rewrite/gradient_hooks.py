"""Registration of hooks on the gradients of fake tensors.

In:  a tensor of a trace and the hook that the graph registers on its gradient.
Out: the handle of the hook; the mode of the trace knows that its graph has hooks.

    h = x * 2;  h.register_hook(hook);  z = h + 1;  h.mul_(3)      `hook` is on the product, not on `h`

In eager a hook belongs to the step of autograd that the tensor comes from at present. A write, through the
tensor, its base or a view of it, gives the tensor another step, and the tensor forgets its hooks. So tensors
do not tell whether a graph has hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from codegen.fake.fake import FakeMode, FakeTensor
from codegen.rewrite.rows import replacing


@replacing("register_hook", torch.Tensor.register_hook)
def register_hook(tensor: torch.Tensor, hook: Callable[[torch.Tensor], torch.Tensor | None]) -> Any:
    """`tensor.register_hook(hook)`"""
    if isinstance(tensor, FakeTensor) and isinstance(tensor.fake_mode, FakeMode):
        tensor.fake_mode.has_hooks = True
    return tensor.register_hook(hook)
