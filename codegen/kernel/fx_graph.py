"""A `torch.fx.Graph` that takes nodes quickly.

In:  calls, one by one.
Out: the graph, as torch.fx makes it.

For each node torch.fx walks through all arguments, only to warn about symbolic sizes among them. That walk
takes half of the time. Symbolic sizes are nodes in the graphs of capture. A quarter goes into patterns that
take a name apart; most names are the name of an earlier node with the next number.
"""

from __future__ import annotations

import functools
from typing import Any

import torch.fx
from torch.fx.graph import _Namespace, _snake_case

_snake_cases = functools.lru_cache(maxsize=4096)(_snake_case)


class Names(_Namespace):
    """The names of a graph's nodes, as torch.fx gives them."""

    def create_name(self, candidate: str, obj: object | None) -> str:
        is_base = candidate in self._used_names and not candidate[-1].isdigit()
        if not is_base or obj is not None:
            return super().create_name(candidate, obj)
        number, name = self._base_count.get(candidate, 0), candidate
        while name in self._used_names:
            number += 1
            name = f"{candidate}_{number}"
        self._used_names.add(name)
        self._base_count[candidate] = number
        return name


class Graph(torch.fx.Graph):
    """A graph as in torch.fx."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._graph_namespace = Names()

    def _target_to_str(self, target: Any) -> str:
        if callable(target):
            return _snake_cases(target.__name__)
        return super()._target_to_str(target)

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> torch.fx.Node:
        node = super().create_node(op, target, (), {}, name, type_expr)
        if args or kwargs:
            node._update_args_kwargs(args or (), kwargs or {})
        return node
