"""Wrappers of torch in plain Python, without their work for torch.compile or for a profiler.

In:  a call of such a wrapper.
Out: the same result.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.masked import _ops as masked
from torch.utils._device import DeviceContext


def with_grad_mode_of_optimizer(func: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """`torch.optim.optimizer._use_grad_for_differentiable(func)(self, ...)`."""
    grad_was_enabled = torch.is_grad_enabled()
    try:
        torch.set_grad_enabled(self.defaults["differentiable"])
        result = func(self, *args, **kwargs)
    finally:
        torch.set_grad_enabled(grad_was_enabled)
    return result


def remove_hook(handle: Any) -> None:
    """`torch.utils.hooks.RemovableHandle.remove`."""
    for ref in (handle.hooks_dict_ref, *handle.extra_dict_ref):
        held = ref()
        if held is not None and handle.id in held:
            del held[handle.id]


class ProfilerRange:
    """Stands for `record_function` in a graph, where a range would contain nothing."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> ProfilerRange:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        return None

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return recorded


def profiler_range(name: str, args: str | None = None) -> ProfilerRange:
    return ProfilerRange(name, args)


class OnDevice:
    """`with torch.device(...)`, which is written in C."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __enter__(self) -> torch.device:
        torch._C._push_on_torch_function_stack(DeviceContext(self.device))
        return self.device

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        torch._C._pop_torch_function_stack()


def as_manager(device: torch.device) -> OnDevice:
    return OnDevice(device)


def input_where_unmasked(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """`torch.masked._ops._combine_input_and_mask` of a plain tensor.

    It does without the class that torch makes for masked tensors.
    """
    if mask is None:
        return input
    neutral = masked._reduction_identity(op.__name__, input, *args)
    return masked._where(masked._input_mask(input, mask=mask), input, neutral)


def group_tensors(lists: Any, with_indices: bool, /) -> dict[Any, tuple[list[list[Any]], list[int]]]:
    """`torch._C._group_tensors_by_device_and_dtype`: the items of all lists, in groups.

    The device and dtype of the item in the first list are the key. The key that comes last is the first
    group.
    """
    indices: dict[Any, list[int]] = {}
    for index, tensor in enumerate(lists[0]):
        indices.setdefault((tensor.device, tensor.dtype), []).append(index)
    return {
        key: ([[items[i] for i in places if items] for items in lists], places if with_indices else [])
        for key, places in reversed(indices.items())
    }


def untied_tensors(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """`torch.nn.utils.stateless._untie_named_tensors_map`, which is part of `torch.func.functional_call`.

    Where no tensor of the module has two names, it walks over no set, whose order each process has anew.
    """
    named = dict(module.named_parameters(remove_duplicate=False))
    named.update(module.named_buffers(remove_duplicate=False))
    names: dict[Any, list[str]] = {}
    for name, tensor in named.items():
        names.setdefault(tensor, []).append(name)
    tied = {name: set(others) for others in names.values() if len(others) > 1 for name in others}
    result = given.copy()
    if not tied:
        return result
    twice = {name for name in given if name in tied}
    for name in twice:
        if len(tied[name] & twice) > 1 and len({given[other] for other in tied[name]}) != 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied[name])}, "
                f"which are tied. Consider using tie_weights=False"
            )
    for name in twice:
        for other in tied[name]:
            result[other] = given[name]
    return result
