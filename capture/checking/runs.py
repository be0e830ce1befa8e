"""One run of a graph, forward and backward, on copies of its inputs.

In:  a callable of the graph's inputs, the inputs.
Out: by name: each result, each gradient, each input that may have been written.

    results_of(gm.forward, [x, w])  ->  {"result 0": ..., "gradient of input 1": ..., "input 0": ...}

Every run starts from the same random state and gets the same gradients of its results. The copies share
memory where the inputs do, and have their layouts.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import torch

Results = dict[str, Any]
SEED = 20


class _Copied(torch.autograd.Function):
    """A tensor as a value that is no leaf: eager lets programs write to it."""

    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor) -> torch.Tensor:
        return _same_layout(leaf, leaf.untyped_storage().clone())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0]


def _same_layout(value: torch.Tensor, storage: torch.UntypedStorage) -> torch.Tensor:
    made = torch.empty(0, dtype=value.dtype, device=value.device)
    return made.set_(storage, value.storage_offset(), value.shape, value.stride())


def copied_inputs(
    inputs: Sequence[Any], convert: Callable[[torch.Tensor], torch.Tensor] | None = None
) -> tuple[list[Any], list[torch.Tensor | None]]:
    """Copies to call a graph with, and for each the leaf that gets its gradient.

    `convert` is applied to each copy; copies then no longer share memory.
    """
    storages: dict[int, torch.UntypedStorage] = {}
    copies: list[Any] = []
    leaves: list[torch.Tensor | None] = []
    for value in inputs:
        leaf = None
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                original = value.detach()
                place = original.untyped_storage().data_ptr()
                if place not in storages:
                    storages[place] = original.untyped_storage().clone()
                copy = _same_layout(original, storages[place])
                copy = copy if convert is None else convert(copy)
            if value.requires_grad and copy.is_floating_point():
                leaf = copy.requires_grad_()
                copy = leaf if value.is_leaf or convert is not None else _Copied.apply(leaf)
            value = copy
        copies.append(value)
        leaves.append(leaf)
    return copies, leaves


def results_of(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    convert: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Results:
    """Run `function` forward and backward on copies of the inputs."""
    with same_random_state():
        copies, leaves = copied_inputs(inputs, convert)
        outputs = function(*copies)
        outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
        found: Results = {f"result {place}": detached(output) for place, output in enumerate(outputs)}
        found |= {f"gradient of {name}": value for name, value in _gradients(outputs, leaves).items()}
        for place, copy in enumerate(copies):
            if isinstance(copy, torch.Tensor):
                found[f"input {place}"] = detached(copy)
        return found


def _gradients(outputs: Sequence[Any], leaves: Sequence[torch.Tensor | None]) -> Results:
    wanted = [leaf for leaf in leaves if leaf is not None]
    starts = [output for output in outputs if isinstance(output, torch.Tensor) and output.requires_grad]
    if not wanted or not starts:
        return {}
    gradients = iter(torch.autograd.grad(starts, wanted, cotangents(starts), allow_unused=True))
    return {
        f"input {place}": detached(next(gradients)) for place, leaf in enumerate(leaves) if leaf is not None
    }


def cotangents(starts: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Gradients of results: the same numbers for each dtype, and none of them small."""
    generator = torch.Generator().manual_seed(SEED)
    made = []
    for start in starts:
        values = torch.rand(start.shape, generator=generator, dtype=torch.float32) + 0.5
        signs = torch.randint(0, 2, start.shape, generator=generator) * 2 - 1
        made.append((values * signs).bfloat16().to(start.dtype))  # bfloat16: exact in every dtype
    return made


def detached(value: Any) -> Any:
    """A value that later writes do not change."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


@contextlib.contextmanager
def same_random_state() -> Iterator[None]:
    """Random numbers that are drawn in the block are drawn again after it."""
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        numpy.random.set_state(states[2])
