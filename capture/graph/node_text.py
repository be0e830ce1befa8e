"""A node of a graph as a line of Python.

In:  a node.
Out: its line. It is for people: names of functions have no modules.

    call_function operator.mul (l_x_, 2)    ->    mul = l_x_ * 2
    call_method view (mul, 3, -1)           ->    view = mul.view(3, -1)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch.fx

#: operators with two operands
INFIX: dict[Any, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.lt: "<", operator.le: "<=",
    operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=", operator.and_: "&",
    operator.or_: "|", operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>",
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=",
}  # fmt: skip
LONGEST = 200  # of the text of an argument


def target_name(node: torch.fx.Node) -> str:
    target: Any = node.target
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def node_text(node: torch.fx.Node) -> str:
    return TEXTS[node.op](node)


def _called(node: torch.fx.Node) -> str:
    args = list(map(_text, node.args))
    if node.target in INFIX and len(args) == 2:
        return f"{node.name} = {args[0]} {INFIX[node.target]} {args[1]}"
    if node.target is operator.getitem:
        return f"{node.name} = {args[0]}[{args[1]}]"
    return f"{node.name} = {target_name(node)}({', '.join([*args, *_keywords(node)])})"


def _method(node: torch.fx.Node) -> str:
    owner, *args = map(_text, node.args)
    return f"{node.name} = {owner}.{node.target}({', '.join([*args, *_keywords(node)])})"


def _keywords(node: torch.fx.Node) -> list[str]:
    return [f"{name}={_text(value)}" for name, value in node.kwargs.items()]


def _text(value: Any) -> str:
    text = _slice(value) if isinstance(value, slice) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _slice(value: slice) -> str:
    step = "" if value.step is None else f":{value.step!r}"
    first, last = ("" if end is None else repr(end) for end in (value.start, value.stop))
    return f"{first}:{last}{step}"


TEXTS: dict[str, Callable[[torch.fx.Node], str]] = {
    "placeholder": lambda node: node.name,
    "get_attr": lambda node: f"{node.name} = self.{node.target}",
    "call_function": _called,
    "call_method": _method,
    "call_module": _called,
    "output": lambda node: f"return {_text(node.args[0])}",
}
