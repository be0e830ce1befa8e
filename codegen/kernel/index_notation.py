"""Index expressions in other notations.

In:  a polynomial (`codegen.kernel.index_algebra`); a size as torch or sympy has it.
Out: the `ir.Expr` of loop IR; the polynomial of the size.

    4*i + 4*$s*i + j   ->   i * (4 + s*4) + j
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from codegen.kernel import ir
from codegen.kernel.index_algebra import (
    KEPT,
    Division,
    Index,
    Monomial,
    Poly,
    Ranges,
    is_of_sizes,
    plus,
    product,
    symbol,
)


@functools.lru_cache(KEPT, typed=True)  # True equals 1
def to_expr(index: Index) -> ir.Expr:
    """The `ir.Expr` of an index. Larger coefficients come first, so the text reads like row-major order.

    What multiplies an axis is one factor, also where it is a sum of sizes: it is computed once.
    """
    if isinstance(index, int):
        return ir.Const(index)
    total: ir.Expr = ir.Const(0)
    for atoms, factor in _factors(index):
        total = ir.add(total, _times(atoms, _of_sizes(factor)))
    return total


def _factors(index: Poly) -> list[tuple[Monomial, dict[Monomial, int]]]:
    """What multiplies each product of axes: a polynomial of sizes. A constant is the last term, alone."""
    found: dict[Any, tuple[Monomial, dict[Monomial, int]]] = {}
    for atoms, coef in sorted(index.terms.items(), key=lambda item: (not item[0], -abs(item[1]))):
        sizes = tuple(atom for atom in atoms if is_of_sizes(atom))
        axes = tuple(atom for atom in atoms if not is_of_sizes(atom))
        found.setdefault((axes, not atoms), (axes, {}))[1][sizes] = coef
    return list(found.values())


def _of_sizes(factor: Mapping[Monomial, int]) -> ir.Expr:
    total: ir.Expr = ir.Const(0)
    for atoms, coef in factor.items():
        total = ir.add(total, _times(atoms, ir.Const(coef)))
    return total


def _times(atoms: Monomial, factor: ir.Expr) -> ir.Expr:
    for atom in atoms:
        factor = ir.mul(_atom_expr(atom), factor)
    return factor


def _atom_expr(atom: str) -> ir.Expr:
    if isinstance(atom, Division):
        build = ir.floordiv if atom.operator == "floordiv" else ir.mod
        return build(to_expr(atom.numerator), to_expr(atom.divisor))
    if atom.startswith("$"):
        return ir.Sym(atom[1:])
    if atom.startswith("%"):
        return ir.Indirect(int(atom[1:]))
    return ir.AxisVar(atom)


def from_size(size: Any) -> Index:
    """An int, or the polynomial of a torch.SymInt."""
    if type(size) is int:
        return size
    if hasattr(size, "node"):
        return from_sympy(size.node.expr)
    return int(size)


@functools.lru_cache(KEPT)
def from_sympy(expression: Any) -> Index:
    """A sympy expression over size symbols as an Index.

    Raises NotImplementedError for functions that an Index cannot express.
    """
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        return symbol(expression.name)
    arguments = [from_sympy(argument) for argument in expression.args]
    kind = type(expression).__name__
    if expression.is_Add:
        total: Index = 0
        for argument in arguments:
            total = plus(total, argument)
        return total
    if expression.is_Mul:
        return product(arguments)
    if expression.is_Pow and isinstance(arguments[1], int) and arguments[1] > 0:
        return product([arguments[0]] * arguments[1])
    if kind in ("FloorDiv", "CleanDiv"):
        return Ranges().floordiv(arguments[0], arguments[1])
    if kind in ("Mod", "PythonMod"):
        return Ranges().mod(arguments[0], arguments[1])
    if kind == "Max" and arguments[0] == 1 and len(arguments) == 2:
        return arguments[1]  # the stride of a dimension that may be empty: then the stride does not matter
    raise NotImplementedError(f"a size of the form {expression} has no index expression")
