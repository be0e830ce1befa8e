"""Fusions that multiply the arithmetic: how much a group needs, and what to store if its kernel does more.

In:  a group and its kernel.
Out: whether the kernel computes far more than the definitions have elements, and the definitions that should
     be stored. The graph is then lowered again with these stored, or with these apart from all others.

    y = x * exp(b), 300 rows:  exp runs 300 times for each element of b     ->  store exp(b)
    eight layer norms in turn: each loop over a row computes all before it  ->  store what each one gives

A fused loop computes a value again where that costs less than memory: the exp of a softmax runs twice. But a
chain of such loops does so for each loop of the chain, and the work grows with the square of its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from codegen.kernel import ir
from codegen.kernel.arithmetic import cycles_of, nominal
from codegen.kernel.index_notation import to_expr
from codegen.lower.tensor_expr import Map, Padded, Shape, TensorExpr, View, numel
from codegen.passes.group.group import Group
from codegen.passes.group.roots import CHEAP, Root, cycles_to_compute, own_cycles, own_definitions

MOST = 4  # times the needed cycles
WASTE = 1 << 17  # cycles: some 3 us in lanes; below this a kernel may do anything


class Multiplied(Exception):
    """Kernels compute the same again and again. The definitions should be stored."""

    def __init__(self, definitions: Iterable[TensorExpr]) -> None:
        super().__init__()
        self.definitions = list(definitions)


def is_multiplied(group: Group, kernel: ir.Kernel, roots: Mapping[TensorExpr, Root]) -> bool:
    done = cycles_of(kernel)
    return done > WASTE and done > WASTE + MOST * needed_cycles(group, roots)


def needed_cycles(group: Group, roots: Mapping[TensorExpr, Root]) -> int:
    """The cycles of the group if each definition is computed once for each of its elements."""
    return sum(_needed(root, roots) for root in group.members)


def _needed(root: Root, roots: Mapping[TensorExpr, Root]) -> int:
    domain = _count(root.domain)
    return domain + sum(
        own_cycles(value) * min(_count(value.shape), domain) for value in own_definitions(root, roots)
    )


def _count(shape: Shape) -> int:
    return nominal(to_expr(numel(shape)))


def to_store(group: Group, roots: Mapping[TensorExpr, Root]) -> Iterator[TensorExpr]:
    """Members that several loops compute, and definitions that are small beside what reads them."""
    for root, member in group.members.items():
        if member.inner and not root.is_reduction and not root.targets:
            yield root.value
        for value in own_definitions(root, roots):
            if isinstance(value, (View, Padded)) and isinstance(value.base, Map):
                repeated = _count(value.base.shape) < _count(value.shape)
                if repeated and value.base not in roots and cycles_to_compute(value.base, roots) > CHEAP:
                    yield value.base
