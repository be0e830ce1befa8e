"""Fake twins of real tensors.

In:  a tensor of the program, a `FakeMode`.
Out: the `FakeTensor` that stands for it: its dtype, sizes, strides, offset, place in autograd, and the other
     tensors on its storage.

    base = torch.zeros(4, 4)
    twins = [to_fake(mode, t) for t in (base, base[0])]       # on one storage without data
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from codegen.fake.dispatch import META
from codegen.fake.fake import FakeMode, FakeTensor
from codegen.fake.supported import check_supported
from codegen.kernel.errors import UnsupportedTensor


def to_fake(
    mode: FakeMode, tensor: torch.Tensor, layout: tuple[Sequence[Any], Sequence[Any]] | None = None
) -> FakeTensor:
    """The fake twin of a tensor: dtype, sizes, strides, offset, device, requires_grad, leaf or not.

    Tensors on one storage have twins on one storage. The same tensor has the same twin for as long as the
    mode lives. Raises `UnsupportedTensor`.

    `layout`: sizes and strides in place of the tensor's own, some of them `SymInt`s of `mode.shape_env`. The
    twin then has its own storage.
    """
    if isinstance(tensor, FakeTensor):
        if tensor.fake_mode is not mode:
            raise UnsupportedTensor("a fake tensor of another mode")
        return tensor
    known = mode.memo.get(tensor)
    if known is not None:
        return known
    check_supported(tensor)
    fake = make_fake(mode, tensor, layout)
    mode.memo[tensor] = fake
    return fake


def make_fake(
    mode: FakeMode, tensor: torch.Tensor, layout: tuple[Sequence[Any], Sequence[Any]] | None = None
) -> FakeTensor:
    device = tensor.device
    # Not torch.inference_mode: where no memory is left for its exit, the traceback keeps its guard. That ends
    # behind the guards around it, and puts back what they had set.
    with torch._C._DisableTorchDispatch(), torch._C._InferenceMode(tensor.is_inference()), torch.no_grad():
        if layout is not None:
            meta = torch.empty_strided(*layout, dtype=tensor.dtype, device=META)
        else:
            meta = torch.empty(0, dtype=tensor.dtype, device=META)
            meta.set_(meta_storage(mode, tensor), tensor.storage_offset(), tensor.shape, tensor.stride())
        fake = mode.make(meta, device)
    if tensor.requires_grad:
        fake.requires_grad_()
        if not tensor.is_leaf:
            with mode, torch.enable_grad():
                fake = NonLeaf.apply(mode, meta, device, fake)
    if isinstance(tensor, torch.nn.Parameter):
        fake._is_param = True
    return fake


NON_LEAF = "NonLeafBackward"  # the name of its steps


def step_name(step: Any) -> str:
    """The name of a node of autograd's graph, also where a custom function has a `ctx.name` of its own."""
    return str(type(step).name(step))


class NonLeaf(torch.autograd.Function):
    """The same fake tensor with a grad_fn, because the real tensor has one. No gradient flows through it."""

    @staticmethod
    def forward(
        ctx: Any, mode: FakeMode, meta: torch.Tensor, device: torch.device, leaf: FakeTensor
    ) -> FakeTensor:
        return mode.make(meta, device)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("a captured graph tried to go backward through its own input")


def meta_storage(mode: FakeMode, tensor: torch.Tensor) -> torch.UntypedStorage:
    """The storage without data that stands for the tensor's storage: aliases share it."""
    storage = tensor.untyped_storage()
    known = mode.storages.get(storage._cdata)
    if known is not None and not known[0].expired():
        return known[1]
    meta = torch.empty(storage.nbytes(), dtype=torch.uint8, device=META).untyped_storage()
    mode.storages[storage._cdata] = (StorageWeakRef(storage), meta)
    return meta
