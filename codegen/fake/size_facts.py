"""What holds for all sizes: comparisons of polynomials whose symbols have bounds.

In:  two expressions of sympy, the bounds of the symbols in them, and the answers that have guards.
Out: whether the comparison holds, whatever the sizes are; None where that depends on them.

    s0 * s1 - s0 > 0  with s0, s1 >= 2:  s0 = 2 + a, s1 = 2 + b gives 2 + a + 2 * b + a * b > 0    True
    s0 > 3            with s0 >= 2:      a - 1 > 0                                                 None
    max(1, s0) == s0  with s0 >= 2:      the maximum is s0                                         True

What has a guard holds, too: `s0 // 2 != 1` with s0 >= 2 says that s0 // 2 >= 2.

sympy and `ShapeEnv` know more, at a hundred times the price; operators on fake tensors ask simple questions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]

from codegen.kernel.index_algebra import Index, Poly, exact_quotient, minus, plus, terms_of, times

ZERO = sympy.Integer(0)
OF_RELATIONS: dict[type, str] = {
    sympy.Eq: "eq",
    sympy.Ne: "ne",
    sympy.Gt: "gt",
    sympy.Ge: "ge",
    sympy.Lt: "lt",
    sympy.Le: "le",
}
#: comparison -> the signs of the difference that it admits, as a sum: 1 below zero, 2 zero, 4 above
SIGNS = {"lt": 1, "le": 3, "eq": 2, "ne": 5, "gt": 4, "ge": 6}
NEGATED = {"eq": "ne", "ne": "eq", "gt": "le", "ge": "lt", "lt": "ge", "le": "gt"}
SWAPPED = {"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}
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
        self._least: dict[str, int] = {}  # bounds of atoms that have guards
        self._most: dict[str, int] = {}
        self._signs: dict[Poly, int] = {}  # difference -> its signs, as far as guards say: see `SIGNS`

    def learn(self, relation: Any, holds: bool) -> tuple[Any, int | None, int | None] | None:
        """From now on `relation` is known to hold, or not to hold.

        Where it compares one atom with a number, the result is the atom with its least and its largest value.
        """
        comparison = _comparison_of(relation)
        difference = 0 if comparison is None else minus(*map(self.polynomial, relation.args))
        if comparison is None or isinstance(difference, int):
            return None
        known = comparison if holds else NEGATED[comparison]
        for signed, named in ((difference, known), (minus(0, difference), SWAPPED[known])):
            assert isinstance(signed, Poly)
            self._signs[signed] = self._signs.get(signed, 7) & SIGNS[named]
        terms = dict(terms_of(difference))
        constant = terms.pop((), 0)
        if len(terms) == 1:
            [(atoms, coefficient)] = terms.items()
            if len(atoms) == 1 and coefficient in (1, -1):
                self._learn_of(atoms[0], known, coefficient, constant)
                return self._atoms[atoms[0]], self._bound(atoms[0], 0), self._bound(atoms[0], 1)
        return None

    def _learn_of(self, atom: str, comparison: str, sign: int, constant: int) -> None:
        """`sign * atom + constant` compares like this with 0."""
        if sign < 0:
            comparison, constant = SWAPPED[comparison], -constant
        least, most = (self._bound(atom, side) for side in (0, 1))
        if comparison in ("gt", "ge", "eq") or (comparison == "ne" and least == -constant):
            found = -constant + (comparison in ("gt", "ne"))
            self._least[atom] = found if least is None else max(found, least)
        if comparison in ("lt", "le", "eq") or (comparison == "ne" and most == -constant):
            found = -constant - (comparison in ("lt", "ne"))
            self._most[atom] = found if most is None else min(found, most)

    def _bound(self, atom: str, side: int) -> int | None:
        """The least (side 0) or the largest value (1) of an atom."""
        bounds = self.bounds(self._atoms[atom])[side], (self._most if side else self._least).get(atom)
        known = [bound for bound in bounds if bound is not None]
        return (min(known) if side else max(known)) if known else None

    def decide(self, comparison: str, left: Any, right: Any) -> bool | None:
        difference = minus(self.polynomial(left), self.polynomial(right))
        if isinstance(difference, int):
            return bool(getattr(operator, comparison)(difference, 0))
        signs = self._signs.get(difference, 7)
        if not signs & ~SIGNS[comparison]:
            return True
        if not signs & SIGNS[comparison]:
            return False
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

    def holds(self, relation: Any) -> bool | None:
        comparison = _comparison_of(relation)
        return None if comparison is None else self.decide(comparison, *relation.args)

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
        if type(expression).__name__ == "Max":  # sympy's or torch's: strides of dims that may be 0
            largest = self._largest(expression.args)
            if largest is not None:
                return self.polynomial(largest)
        name = f"a{len(self._atoms)}"
        self._atoms[name] = expression
        return Poly({(name,): 1})

    def _largest(self, expressions: tuple[Any, ...]) -> Any:
        """The one that is the largest for all sizes, if there is one."""
        for one in expressions:
            if all(one is other or self.decide("ge", one, other) is True for other in expressions):
                return one
        return None

    def _from_bounds(self, index: Poly, side: int) -> Index | None:
        """The polynomial in the distances of its symbols from their lower (0) or upper (1) bounds."""
        moved: Index = 0
        for atoms, coefficient in index.terms.items():
            term: Index = coefficient
            for atom in atoms:
                bound = self._bound(atom, side)
                if bound is None:
                    return None
                term = times(term, plus(bound, Poly({(atom,): -1 if side else 1})))
            moved = plus(moved, term)
        return moved


def _comparison_of(relation: Any) -> str | None:
    """None for others than those of ints: of a real number, `> 1` does not say `>= 2`."""
    comparison = OF_RELATIONS.get(type(relation))
    is_of_ints = comparison is not None and all(side.is_integer for side in relation.args)
    return comparison if is_of_ints else None
