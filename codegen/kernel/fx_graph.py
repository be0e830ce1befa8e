"""A `torch.fx.Graph` that takes nodes quickly.

In:  calls, one by one.
Out: the graph, as torch.fx makes it.

For each node torch.fx walks through all arguments, only to warn about symbolic sizes among them. That walk
takes half of the time. Symbolic sizes are nodes in the graphs of capture. A quarter goes into patterns that
take a name apart; most names are those of nodes in an earlier graph.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch.fx
from torch.fx.graph import (
    CodeGen,
    PythonCode,
    _illegal_char_regex,
    _illegal_names,
    _name_regex,
    _Namespace,
    _snake_case,
)

_snake_cases = functools.lru_cache(maxsize=4096)(_snake_case)


@functools.lru_cache(maxsize=4096)
def _parts(candidate: str) -> tuple[str, str, int | None] | None:
    """`add.Tensor_2` -> add_Tensor_2, add_Tensor, 2. None for what may not be a name as it is."""
    name = _illegal_char_regex.sub("_", candidate)
    match = _name_regex.match(name)
    if match is None or name in _illegal_names:
        return None
    base, number = match.groups()
    return name, base, None if number is None else int(number)


class Names(_Namespace):
    """The names of a graph's nodes, as torch.fx gives them."""

    def create_name(self, candidate: str, obj: object | None) -> str:
        parts = _parts(candidate) if obj is None else None
        if parts is None:
            return super().create_name(candidate, obj)
        name, base, number = parts
        used = self._used_names
        if number is None or name in used:
            number = self._base_count.get(base, 0)
        while name in used:
            number += 1
            name = f"{base}_{number}"
        used.add(name)
        self._base_count[base] = number
        return name


class InParentheses(float):
    """A number as the base of a power in a text: torch.fx writes `-2.0 ** x`, which is `-(2.0 ** x)`."""

    def __new__(cls, number: float) -> InParentheses:
        made = super().__new__(cls)
        made.number = number
        return made

    number: float

    def __repr__(self) -> str:
        return f"({self.number!r})"


class TextOfGraph(CodeGen):
    """The text that torch.fx writes, with parentheses where it forgets them."""

    def _gen_python_code(self, nodes: Any, *args: Any, **kwargs: Any) -> PythonCode:
        powers = [(node, node.args) for node in nodes if _has_negative_base(node)]
        for node, (base, *rest) in powers:
            node.args = (InParentheses(base), *rest)
        try:
            return super()._gen_python_code(nodes, *args, **kwargs)
        finally:
            for node, given in powers:
                node.args = given


def _has_negative_base(node: torch.fx.Node) -> bool:
    if node.target is not operator.pow or node.op != "call_function":
        return False
    return type(node.args[0]) in (int, float) and repr(node.args[0]).startswith("-")


class Graph(torch.fx.Graph):
    """A graph as in torch.fx."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._graph_namespace = Names()
        self._codegen = TextOfGraph()

    def _target_to_str(self, target: Any) -> str:
        if callable(target):
            return _snake_cases(target.__name__)
        is_name = target.islower() and not target.startswith("__")  # of a placeholder, as it stays
        return str(target) if is_name else super()._target_to_str(target)

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> torch.fx.Node:
        owner = self.owning_module
        if owner is not None and vars(owner).get("_create_node_hooks"):
            return super().create_node(op, target, args, kwargs, name, type_expr)
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = torch.fx.Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node
