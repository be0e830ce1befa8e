"""Calls of functions whose operations are graphs of their own: the targets of nodes with bodies.

In:  the function of a node, made of named functions, plain values, `Structure`s and modules of bodies. It
     takes tensors and gives a tree.
Out: `outlined(name, run)`: the target. It takes tensors and gives the tensors of the tree in order.

    outlined("checkpoint", functools.partial(run_bodies, ...))   ->   a function that is called checkpoint

The target keeps `run`, so that a graph with bodies is stored as its parts (`codegen.stored.values`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, UnsupportedOperatorException
from torch.utils import _pytree as pytree


class Structure:
    """A tree of tuples, lists and dicts without its tensors. It keeps leaves that are no tensors."""

    def __init__(self, value: Any) -> None:
        leaves, self.spec = pytree.tree_flatten(value)
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    @classmethod
    def of_parts(cls, tree: Any, leaves: list[Any], places: list[int]) -> Structure:
        """From what `parts` gave."""
        made = cls(tree)
        made.leaves, made.places = leaves, places
        return made

    @property
    def parts(self) -> tuple[Any, list[Any], list[int]]:
        """The tree with numbers for its leaves, the leaves, and the places of the tensors among them."""
        return pytree.tree_unflatten(range(len(self.leaves)), self.spec), self.leaves, self.places

    def matches(self, other: Structure) -> bool:
        """Whether the trees are the same except for their tensors."""
        return (self.spec, self.leaves, self.places) == (other.spec, other.leaves, other.places)

    def others(self) -> list[Any]:
        """The leaves that are no tensors."""
        return [leaf for place, leaf in enumerate(self.leaves) if place not in self.places]

    def fill(self, tensors: Iterable[Any]) -> Any:
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        return pytree.tree_unflatten(leaves, self.spec)


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def outlined(name: str, run: Callable[..., Any]) -> Callable[..., tuple[torch.Tensor, ...]]:
    def target(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        try:
            return tuple(tensors_of(run(*tensors)))
        except AssertionError as error:  # a kernel may fail on a fake tensor that it does not support
            if any(isinstance(t, FakeTensor) for t in tensors):
                raise UnsupportedOperatorException(f"{name}: {error}") from error  # type: ignore[arg-type]
            raise

    target.__name__ = target.__qualname__ = name
    target.run = run  # type: ignore[attr-defined]
    return target


def parts_of(target: Any) -> tuple[str, Callable[..., Any]] | None:
    """Name and function of a target that `outlined` made; None for others."""
    run = getattr(target, "run", None)
    return None if run is None or getattr(target, "__code__", None) is not _TARGET else (target.__name__, run)


_TARGET = outlined("target", tensors_of).__code__
