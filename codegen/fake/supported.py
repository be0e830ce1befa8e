"""Which tensors have a fake twin.

In:  a tensor of the program.
Out: whether it has one, or the reason why not.

    is_supported(torch.eye(3).to_sparse())   ->   False

Frames that are not captured yet are looked at, too: this module loads no fake tensor.
"""

from __future__ import annotations

import torch

from codegen.kernel.errors import UnsupportedTensor

PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def is_leaf_of_inference(tensor: torch.Tensor) -> bool:
    """An inference tensor that requires grad. Outside of inference mode, no other one may be made like it."""
    return tensor.is_inference() and tensor.requires_grad and not torch.is_inference_mode_enabled()


def has_lost_its_place(tensor: torch.Tensor) -> bool:
    """A view that was made without gradients, of memory that was then written to with gradients. torch raises
    where it is asked for its place in autograd's graph.
    """
    try:
        return tensor.is_leaf is None  # never: it is asked for its error
    except RuntimeError:
        return True


UNSUPPORTED_KEYS = (  # (test, name) of tensors without a fake twin; their dispatch keys say it all
    (lambda t: t.layout is not torch.strided, "a sparse or mkldnn tensor"),
    (lambda t: t.is_quantized, "a quantised tensor"),
    (lambda t: t.is_conj(), "a lazily conjugated tensor"),
    (lambda t: t.is_neg(), "a lazily negated tensor"),
    (lambda t: t.is_nested, "a nested tensor"),
    (lambda t: t.device.type == "meta", "a meta tensor"),
    (lambda t: torch._C._functorch.is_functorch_wrapped_tensor(t), "a tensor of vmap or grad"),
    (lambda t: torch._is_functional_tensor(t), "a functional tensor"),
)
UNSUPPORTED_TENSORS = (
    (lambda t: t.dim() > 64, "a tensor of more than 64 dims"),
    (is_leaf_of_inference, "an inference tensor that requires grad"),
    (has_lost_its_place, "a view without a place in autograd's graph"),
)
_supported_keys: set[int] = set()  # dispatch keys of tensors that passed the tests of keys


def check_supported(tensor: torch.Tensor) -> None:
    """Raises `UnsupportedTensor` for a tensor that has no fake twin."""
    if type(tensor) not in PLAIN_TYPES:
        raise UnsupportedTensor(f"a tensor subclass: {type(tensor).__module__}.{type(tensor).__qualname__}")
    keys = torch._C._dispatch_keys(tensor).raw_repr()
    unknown = () if keys in _supported_keys else UNSUPPORTED_KEYS
    for test, name in (*unknown, *UNSUPPORTED_TENSORS):
        if test(tensor):
            raise UnsupportedTensor(f"{name} of size {tuple(tensor.shape)}" if not tensor.is_nested else name)
    _supported_keys.add(keys)


def is_supported(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a fake twin. Others may have no sizes or strides."""
    try:
        check_supported(tensor)
    except UnsupportedTensor:
        return False
    return True
