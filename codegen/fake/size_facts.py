"""What holds for all sizes: comparisons of polynomials whose symbols have bounds.

In:  two expressions of sympy, and the bounds of the symbols in them.
Out: whether the comparison holds, whatever the sizes are; None where that depends on them.

    s0 * s1 - s0 > 0  with s0, s1 >= 2:  s0 = 2 + a, s1 = 2 + b gives 2 + a + 2 * b + a * b > 0    True
    s0 > 3            with s0 >= 2:      a - 1 > 0                                                 None

sympy and `ShapeEnv` know more, at a hundred times the price; operators on fake tensors ask simple questions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]

from codegen.kernel.index_algebra import Index, Poly, exact_quotient, minus, plus, terms_of, times

ZERO = sympy.Integer(0)
#: comparison -> whether it holds for a difference that is at least, or at most, the given number
AT_LEAST: dict[str, Callable[[int], bool | None]] = {
    "eq": lambda least: False if least > 0 else None,
    "ne": lambda least: True if least > 0 else None,
    "gt": lambda least: True if least > 0 else None,
    "ge": lambda least: True if least >= 0 else None,
    "lt": lambda least: False if least >= 0 else None,
    "le": lambda least: False if least > 0 else None,
}
AT_MOST: dict[str, Callable[[int], bool | None]] = {
    "eq": lambda most: False if most < 0 else None,
    "ne": lambda most: True if most < 0 else None,
    "gt": lambda most: False if most <= 0 else None,
    "ge": lambda most: False if most < 0 else None,
    "lt": lambda most: True if most < 0 else None,
    "le": lambda most: True if most <= 0 else None,
}


class Facts:
    """`bounds` gives the least and the largest value of an expression; None for no bound."""

    def __init__(self, bounds: Callable[[Any], tuple[int | None, int | None]]) -> None:
        self.bounds = bounds
        self._polynomials: dict[Any, Index] = {}
        self._atoms: dict[str, Any] = {}

    def decide(self, comparison: str, left: Any, right: Any) -> bool | None:
        difference = minus(self.polynomial(left), self.polynomial(right))
        if isinstance(difference, int):
            return bool(getattr(operator, comparison)(difference, 0))
        for side in (0, 1):
            moved = self._from_bounds(difference, side)
            if moved is None:
                continue
            terms = dict(terms_of(moved))
            constant = terms.pop((), 0)
            for sign, known in ((1, AT_LEAST), (-1, AT_MOST)):
                if all(coefficient * sign > 0 for coefficient in terms.values()):
                    fact = known[comparison](constant)
                    if fact is not None:
                        return fact
        return None

    def quotient(self, left: Any, right: Any) -> Any:
        """`left // right` as an expression of sympy where nothing is left over and `right` is never 0."""
        if self.decide("ne", right, ZERO) is not True:
            return None
        found = exact_quotient(self.polynomial(left), self.polynomial(right))
        if found is None:
            return None
        parts = (
            sympy.Mul(coefficient, *(self._atoms[atom] for atom in monomial))
            for monomial, coefficient in terms_of(found).items()
        )
        return sympy.Add(*parts)

    def polynomial(self, expression: Any) -> Index:
        known = self._polynomials.get(expression)
        if known is None:
            known = self._polynomials[expression] = self._polynomial(expression)
        return known

    def _polynomial(self, expression: Any) -> Index:
        if expression.is_Integer:
            return int(expression)
        result: Index
        if expression.is_Add:
            result = 0
            for part in expression.args:
                result = plus(result, self.polynomial(part))
            return result
        if expression.is_Mul:
            result = 1
            for part in expression.args:
                result = times(result, self.polynomial(part))
            return result
        if expression.is_Pow and expression.args[1].is_Integer and expression.args[1] > 0:
            result = 1
            for _ in range(int(expression.args[1])):
                result = times(result, self.polynomial(expression.args[0]))
            return result
        name = f"a{len(self._atoms)}"
        self._atoms[name] = expression
        return Poly({(name,): 1})

    def _from_bounds(self, index: Poly, side: int) -> Index | None:
        """The polynomial in the distances of its symbols from their lower (0) or upper (1) bounds."""
        moved: Index = 0
        for atoms, coefficient in index.terms.items():
            term: Index = coefficient
            for atom in atoms:
                bound = self.bounds(self._atoms[atom])[side]
                if bound is None:
                    return None
                term = times(term, plus(bound, Poly({(atom,): -1 if side else 1})))
            moved = plus(moved, term)
        return moved
