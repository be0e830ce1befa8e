"""The numbers of a `SizeEnv`: an operation on the same numbers is computed once.

In:  torch's `SymNode`s, each with an expression of sympy.
Out: `SizeNode`s. Equal numbers of an environment are one object, so that results are found by their operands.

    8 * s0 == 8 * s0     the product is one object, and the comparison was decided before

Operators on fake tensors ask the same few questions again and again: a forward and backward of a transformer
of four layers did 31,000 operations on symbols, of which some 700 differ. `SymNode` takes 25 us for each, and
a look-up here 2 us.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.fx.experimental.sym_node import SymNode

from codegen.kernel.errors import NotSymbolic

#: sympy's time grows much faster than the terms of a number. The sizes of common models have up to 40 terms;
#: where windows are padded (`-h % 4`) level by level, they soon have 500, and one question takes seconds.
MOST_TERMS = 150
BINARY = """add sub mul float_pow pow_by_natural and_ or_ float_truediv int_truediv lshift
    rshift sym_min sym_max bitwise_and bitwise_or bitwise_xor"""
COMPARISONS = "eq ne gt lt le ge"
UNARY = "abs pos trunc sym_not floor is_integer sym_float sym_int ceil neg"
OF_LAYOUTS = """is_contiguous is_channels_last_contiguous_2d is_channels_last_contiguous_3d
    is_channels_last_strides_2d is_channels_last_strides_3d is_non_overlapping_and_dense_indicator"""


class KnownNumbers:
    """The numbers of one environment, the results of operations on them, and the answers to questions.

    A result is right until the environment learns that a symbol is another number. An answer stays right: if
    it depends on the sizes, there is a guard for it.
    """

    def __init__(self) -> None:
        self.nodes: dict[Any, SymNode] = {}
        self.answers: dict[Any, Any] = {}
        self._results: dict[Any, Any] = {}
        self._terms: dict[sympy.Basic, int] = {}
        self._version = 0

    def node(self, made: SymNode) -> SymNode:
        """The one node of the number that `made` is."""
        made.__class__ = SizeNode
        if made.pytype is float:
            return made  # -0.0 equals 0.0, and is another number
        key = made._expr, made.pytype, made._hint, made.constant, made._optimized_summation
        return self.nodes.setdefault(key, made)

    def terms_of(self, expression: sympy.Basic) -> int:
        """How many terms it has, a term that comes twice counted twice."""
        known = self._terms.get(expression)
        if known is None:
            known = self._terms[expression] = 1 + sum(map(self.terms_of, expression.args))
        return known

    def check_terms(self, node: SymNode) -> None:
        """Raises NotSymbolic where a number has more terms than sympy handles in time."""
        if node.pytype is int and self.terms_of(node._expr) > MOST_TERMS:
            raise NotSymbolic(f"a size has more than {MOST_TERMS} terms")

    def results(self, version: int) -> dict[Any, Any]:
        """By operation and operands. `version` counts what the environment has learned about symbols."""
        if version != self._version:
            self._results.clear()
            self._version = version
        return self._results


class SizeNode(SymNode):
    shape_env: Any  # a `SizeEnv`
    _int: tuple[int, int | None] | None = None  # version of the environment, and the number if it is one

    @property
    def expr(self) -> Any:
        version = self.shape_env._replacements_version_counter
        if version == 0:
            return self._expr
        if self._expr_ver != version:
            found = super().expr
            found = sympy.S.One if found in self.shape_env.ones else found
            self._expr_cache, self._expr_ver = found, version
        return self._expr_cache

    def maybe_as_int(self) -> int | None:
        version = self.shape_env._replacements_version_counter
        if self._int is None or self._int[0] != version:
            self._int = version, super().maybe_as_int()
        return self._int[1]

    def wrap_int(self, num: int) -> SymNode:
        return self._constant(num, super().wrap_int)

    def wrap_bool(self, num: bool) -> SymNode:
        return self._constant(num, super().wrap_bool)

    def _constant(self, number: int, make: Callable[[Any], SymNode]) -> SymNode:
        numbers: KnownNumbers = self.shape_env.numbers
        key = type(number), number
        known = numbers.nodes.get(key)
        if known is None:
            known = numbers.nodes[key] = numbers.node(make(number))
        return known

    def expect_true(self, file: str, line: int) -> bool:
        known = self.shape_env.numbers.answers.get((self, False, None))
        return super().expect_true(file, line) if known is None else bool(known)


def computed_once(name: str, operands: Callable[..., tuple[Any, ...]], compute: Any = None) -> Any:
    """The method `name`. `operands` makes a key of its arguments."""
    compute = compute or getattr(SymNode, name)

    def run(self: SizeNode, *args: Any) -> SymNode:
        env = self.shape_env
        results = env.numbers.results(env._replacements_version_counter)
        key = (name, self, *operands(*args))
        known = results.get(key)
        if known is None:
            made = env.numbers.node(compute(self, *args))
            env.numbers.check_terms(made)
            known = results[key] = made
        result: SymNode = known
        return result

    return run


def each(*args: SymNode) -> tuple[SymNode, ...]:
    return args


def lists(sizes: list[SymNode], strides: list[SymNode]) -> tuple[Any, ...]:
    return tuple(sizes), tuple(strides)


def compared(name: str) -> Any:
    """A comparison. What holds for all sizes is a constant, and else an order of ints is a question about
    the present ones: sympy, which would try to answer it, is not asked.
    """
    by_sympy = getattr(SymNode, name)

    def compute(left: SizeNode, right: SymNode) -> SymNode:
        fact = None
        are_ints = left.pytype is int and right.pytype is int
        if are_ints:
            fact = left.shape_env.facts.decide(name, left.expr, right.expr)
            if fact is (name == "eq") and name in ("eq", "ne"):
                left.shape_env.learn_equal(left.expr, right.expr)
        if fact is None and name in ORDERS and left.has_hint() and right.has_hint() and are_ints:
            hint = getattr(operator, name)(left.hint, right.hint)
            return SymNode(ORDERS[name](left.expr, right.expr, evaluate=False), left.shape_env, bool, hint)
        if fact is None:
            made: SymNode = by_sympy(left, right)
            return made
        return SymNode(sympy.true if fact else sympy.false, left.shape_env, bool, fact)

    return computed_once(name, each, compute)


def divided(name: str, result: Callable[[Any], Any]) -> Any:
    """A quotient or remainder. sympy imports its physics to find common factors (0.3 s): ours come first.

    `result` makes it of a quotient without a remainder.
    """
    by_sympy = getattr(SymNode, name)

    def compute(left: SizeNode, right: SymNode) -> SymNode:
        quotient = None
        if left.pytype is int and right.pytype is int and left._hint is not None and right._hint:
            quotient = left.shape_env.facts.quotient(left.expr, right.expr)
        if quotient is None:
            made: SymNode = by_sympy(left, right)
            return made
        hint = getattr(operator, OF_INTS[name])(left._hint, right._hint)
        return SymNode(result(quotient), left.shape_env, int, hint)

    return computed_once(name, each, compute)


ORDERS = {"lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge}
OF_INTS = {"int_floordiv": "floordiv", "mod": "mod"}
SizeNode.int_floordiv = divided("int_floordiv", lambda quotient: quotient)  # type: ignore[method-assign]
SizeNode.mod = divided("mod", lambda quotient: sympy.Integer(0))  # type: ignore[method-assign]
for _name in COMPARISONS.split():
    setattr(SizeNode, _name, compared(_name))
for _names, _operands in ((BINARY, each), (UNARY, each), (OF_LAYOUTS, lists)):
    for _name in _names.split():
        setattr(SizeNode, _name, computed_once(_name, _operands))
