"""Index arithmetic: sizes, strides and indices as polynomials with integer coefficients.

In:  integers, names of axes ("i0"), symbolic sizes ("$s0"), values that the kernel computes ("%4"), and
     operations on them.
Out: an `Index`: an int where everything is known, else a `Poly`. `index_notation.py` makes an
     `ir.Expr` of it.

    i0 * 32 + i1      with i1 < 32       floordiv by 32 -> i0        mod 32 -> i1
    (x // 8) * 8 + x % 8                 recombine      -> x

A static size is an int and needs no object. Chains fuse through reshapes because floordiv and mod simplify.
For that they need the extents of the axes, which `Ranges` holds.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from math import gcd

Monomial = tuple[str, ...]  # sorted atoms; () is the constant term
#: The same sizes and indices come again and again, in each layer of a model: results are kept.
KEPT = 1 << 12


class Poly:
    """A sum of coefficient * product of atoms. It is never changed, and equal sums compare and hash equal."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __repr__(self) -> str:
        return " + ".join("*".join((str(coef), *atoms)) for atoms, coef in self.terms.items()) or "0"


Index = int | Poly


class Division(str):
    """An atom for `numerator // divisor` (operator "floordiv") or `numerator % divisor` ("mod")."""

    operator: str
    numerator: Poly
    divisor: Index

    def __new__(cls, operator: str, numerator: Poly, divisor: Index) -> Division:
        self = super().__new__(cls, f"({_key(numerator)} {operator} {_key(divisor)})")
        self.operator = operator
        self.numerator = numerator
        self.divisor = divisor
        return self

    @functools.cached_property
    def atoms(self) -> frozenset[str]:
        """The names of axes, sizes and values that it depends on."""
        return frozenset(atoms_of(self.numerator) | atoms_of(self.divisor))


def _key(index: Index) -> str:
    if isinstance(index, int):
        return str(index)
    return "+".join(sorted("*".join((str(coef), *atoms)) for atoms, coef in index.terms.items()))


@functools.lru_cache(KEPT)
def axis(name: str) -> Poly:
    """The index of the loop over the axis `name`."""
    return Poly({(name,): 1})


def symbol(name: str) -> Poly:
    """A size known at run time."""
    return Poly({("$" + name,): 1})


def indirect(number: int) -> Poly:
    """The integer value `%number` of the kernel."""
    return Poly({(f"%{number}",): 1})


def terms_of(index: Index) -> Mapping[Monomial, int]:
    """The coefficients by monomial. The constant term has the monomial ()."""
    if isinstance(index, int):
        return {(): index} if index else {}
    return index.terms


def is_of_sizes(atom: str) -> bool:
    """Whether the atom is a size or a quotient of sizes: one number for the whole kernel."""
    if not isinstance(atom, Division):
        return atom.startswith("$")
    parts = (*terms_of(atom.numerator), *terms_of(atom.divisor))
    return all(is_of_sizes(part) for monomial in parts for part in monomial)


def _make(terms: dict[Monomial, int]) -> Index:
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Poly(terms)


def plus(left: Index, right: Index) -> Index:
    if isinstance(left, int):
        if isinstance(right, int):
            return left + right
        if left == 0:
            return right
    elif right == 0 and isinstance(right, int):
        return left
    terms = dict(terms_of(left))
    _add(terms, right, 1)
    return _make(terms)


def _add(terms: dict[Monomial, int], index: Index, factor: int) -> None:
    """Adds `index * factor` to the terms, in place. The factor is not 0."""
    for atoms, coef in terms_of(index).items():
        total = terms.get(atoms, 0) + coef * factor
        if total:
            terms[atoms] = total
        else:
            del terms[atoms]


def times(left: Index, right: Index) -> Index:
    if isinstance(right, int):
        left, right = right, left
    if isinstance(left, int):
        if isinstance(right, int):
            return left * right
        if left == 1:
            return right
        return Poly({atoms: left * coef for atoms, coef in right.terms.items()}) if left else 0
    assert isinstance(right, Poly)
    terms: dict[Monomial, int] = {}
    for atoms, coef in left.terms.items():
        for others, factor in right.terms.items():
            product = tuple(sorted(atoms + others))
            terms[product] = terms.get(product, 0) + coef * factor
    return _make({atoms: coef for atoms, coef in terms.items() if coef})


@functools.lru_cache(KEPT)
def minus(left: Index, right: Index) -> Index:
    return plus(left, times(-1, right))


def product(factors: Iterable[Index]) -> Index:
    return _product(tuple(factors))


@functools.lru_cache(KEPT)
def _product(factors: tuple[Index, ...]) -> Index:
    total: Index = 1
    for factor in factors:
        total = times(total, factor)
    return total


@functools.lru_cache(KEPT)
def row_major(shape: tuple[Index, ...]) -> tuple[Index, ...]:
    """Strides of a contiguous tensor of that shape."""
    strides: list[Index] = []
    step: Index = 1
    for size in reversed(shape):
        strides.append(step)
        step = times(step, size)
    return tuple(reversed(strides))


def dot(indices: Iterable[Index], strides: Iterable[Index]) -> Index:
    return _dot(tuple(indices), tuple(strides))


@functools.lru_cache(KEPT)
def _dot(indices: tuple[Index, ...], strides: tuple[Index, ...]) -> Index:
    terms: dict[Monomial, int] = {}
    for index, stride in zip(indices, strides, strict=True):
        if not isinstance(stride, int):
            _add(terms, times(index, stride), 1)
        elif stride:
            _add(terms, index, stride)
    return _make(terms)


@functools.lru_cache(KEPT)
def atoms_of(index: Index) -> frozenset[str]:
    """The names of axes, sizes and values that `index` depends on, also inside of divisions."""
    found: set[str] = set()
    for atoms in terms_of(index):
        for atom in atoms:
            if isinstance(atom, Division):
                found |= atom.atoms
            else:
                found.add(atom)
    return frozenset(found)


def divisions_of(index: Index) -> list[Division]:
    """The divisions in `index`, inner ones first."""
    found: list[Division] = []
    for atoms in terms_of(index):
        for atom in atoms:
            if isinstance(atom, Division):
                found += divisions_of(atom.numerator)
                found.append(atom)
    return found


class Ranges:
    """The known ranges: each axis runs over [0, extent), and sizes are at least 0."""

    __slots__ = ("extents",)

    def __init__(self, extents: dict[str, Index] | None = None) -> None:
        self.extents: dict[str, Index] = {} if extents is None else extents

    def axis(self, name: str, extent: Index) -> Index:
        """Declare an axis. Its index is 0 where it has only one position."""
        self.extents[name] = extent
        return 0 if extent == 1 else axis(name)

    def _atom_bound(self, atom: str) -> Index | None:
        """The largest value of `atom`. None if it is not known."""
        if isinstance(atom, Division):
            if atom.operator == "mod":
                return minus(atom.divisor, 1)
            top = self.upper(atom.numerator)
            if isinstance(top, int) and isinstance(atom.divisor, int):
                return top // atom.divisor
        if is_of_sizes(atom):
            return Poly({(atom,): 1})
        extent = self.extents.get(atom)
        return None if extent is None else minus(extent, 1)

    def upper(self, index: Index) -> Index | None:
        """An upper bound of `index`, or None."""
        total: Index = 0
        for atoms, coef in terms_of(index).items():
            if coef < 0:
                if any(atom.startswith("%") for atom in atoms):
                    return None
                continue
            bound: Index = coef
            for atom in atoms:
                top = self._atom_bound(atom)
                if top is None:
                    return None
                bound = times(bound, top)
            total = plus(total, bound)
        return total

    def lower_is_zero(self, index: Index) -> bool:
        """Whether `index` is known to be non-negative."""
        terms = terms_of(index)
        if all(
            coef >= 0 and not any(atom.startswith("%") for atom in atoms) for atoms, coef in terms.items()
        ):
            return True
        negative = _make({atoms: -coef for atoms, coef in terms.items() if coef < 0})
        top = self.upper(negative)
        if top is None:
            return False
        rest = _make(
            {atoms: coef for atoms, coef in terms.items() if coef >= 0 and all(map(is_of_sizes, atoms))}
        )
        return _is_nonnegative(minus(rest, top))

    def below(self, index: Index, divisor: Index) -> bool:
        """Whether 0 <= index < divisor is known."""
        top = self.upper(index)
        if top is None or not self.lower_is_zero(index):
            return False
        return _is_nonnegative(minus(minus(divisor, 1), top))

    def floordiv(self, index: Index, divisor: Index) -> Index:
        """`index // divisor` for index >= 0, divisor > 0."""
        return self.divide(index, divisor)[0]

    def mod(self, index: Index, divisor: Index) -> Index:
        """`index % divisor` for index >= 0, divisor > 0."""
        return self.divide(index, divisor)[1]

    def divide(self, index: Index, divisor: Index) -> tuple[Index, Index]:
        """Quotient and remainder."""
        if divisor == 1:
            return index, 0
        if divisor == 0:
            return 0, 0  # an index into an empty tensor: it has no elements
        if isinstance(index, int) and isinstance(divisor, int) and divisor > 0:
            return index // divisor, index % divisor
        return _divided(index, divisor, self._extents_of(index, divisor))

    def _extents_of(self, *indices: Index) -> tuple[tuple[str, Index], ...]:
        """The extents that these indices depend on."""
        extents = self.extents
        return tuple((a, extents[a]) for index in indices for a in atoms_of(index) if a in extents)

    def _divide(self, index: Index, divisor: Index) -> tuple[Index, Index]:
        quotient, rest = _split_multiples(index, divisor)
        if quotient != 0 and not self.lower_is_zero(rest):
            quotient, rest = self._with_rest_above_zero(index, quotient, rest, divisor)
        if self.below(rest, divisor):
            return quotient, rest
        reduced = self._divide_by_common_factor(rest, divisor)
        if reduced is not None:
            return plus(quotient, reduced[0]), reduced[1]
        flat = _single_atom(rest)
        if flat is not None and flat.operator == "floordiv":
            inner = self.floordiv(flat.numerator, times(flat.divisor, divisor))
            return plus(quotient, inner), minus_multiple(rest, inner, divisor)
        if flat is not None and flat.operator == "mod" and _split_multiples(flat.divisor, divisor)[1] == 0:
            remainder = self.mod(flat.numerator, divisor)
            return plus(quotient, _atom("floordiv", rest, divisor)), remainder
        return plus(quotient, _atom("floordiv", rest, divisor)), _atom("mod", rest, divisor)

    def _with_rest_above_zero(
        self, index: Index, quotient: Index, rest: Index, divisor: Index
    ) -> tuple[Index, Index]:
        """4*a + (b - 1) over 2 gives 2*a - 1 and the rest b + 1.

        Atoms stand for numbers that are not negative, but `b - 1` may be negative.
        """
        top = self.upper(_make({atoms: -coef for atoms, coef in terms_of(rest).items() if coef < 0}))
        if not isinstance(top, int) or not isinstance(divisor, int):
            return 0, index
        shift = -(-top // divisor)
        return minus(quotient, shift), plus(rest, shift * divisor)

    def _divide_by_common_factor(self, rest: Index, divisor: Index) -> tuple[Index, Index] | None:
        """(g*a + b) // (g*d) = a // d where 0 <= b < g."""
        if not isinstance(divisor, int):
            return None
        for coef in sorted({abs(coef) for coef in terms_of(rest).values()}, reverse=True):
            factor = gcd(coef, divisor)
            if factor == 1 or factor == divisor:
                continue
            multiple, small = _split_multiples(rest, factor)
            if multiple != 0 and self.below(small, factor):
                quotient, remainder = self.divide(multiple, divisor // factor)
                return quotient, plus(times(factor, remainder), small)
        return None

    def unflatten(self, flat: Index, shape: tuple[Index, ...]) -> tuple[Index, ...]:
        """The indices into `shape` of element number `flat` in row-major order; flat < product(shape)."""
        indices: list[Index] = []
        for size in reversed(shape[1:]):
            if size == 1:
                indices.append(0)
                continue
            flat, index = self.divide(flat, size)
            indices.append(index)
        if shape:
            indices.append(0 if shape[0] == 1 else flat)
        return tuple(reversed(indices))

    def recombine(self, index: Index) -> Index:
        """Join (x // d) * c*d + (x % d) * c to x * c."""
        changed = isinstance(index, Poly)
        while changed:
            changed = False
            for atoms, coef in terms_of(index).items():
                joined = self._join_remainder(index, atoms, coef)
                if joined is not None:
                    index, changed = joined, True
                    break
        return index

    def _join_remainder(self, index: Index, atoms: Monomial, coef: int) -> Index | None:
        if len(atoms) != 1 or not isinstance(atoms[0], Division) or atoms[0].operator != "mod":
            return None
        atom = atoms[0]
        partner = times(times(self.floordiv(atom.numerator, atom.divisor), atom.divisor), coef)
        present = terms_of(index)
        if partner == 0 or any(present.get(key) != value for key, value in terms_of(partner).items()):
            return None
        rest = minus(minus(index, partner), Poly({atoms: coef}))
        return plus(rest, times(coef, atom.numerator))

    def substitute(self, index: Index, mapping: Mapping[str, Index]) -> Index:
        """`index` with atoms replaced and simplified again."""
        if isinstance(index, int):
            return index
        replaced = tuple((a, mapping[a]) for a in atoms_of(index) if a in mapping)
        extents = self._extents_of(index, *(by for _, by in replaced)) if divisions_of(index) else ()
        return _substituted(index, replaced, extents)

    def _substitute(self, index: Poly, mapping: Mapping[str, Index]) -> Index:
        terms: dict[Monomial, int] = {}
        for atoms, coef in index.terms.items():
            term: Index = coef
            for atom in atoms:
                term = times(term, self._substitute_atom(atom, mapping))
            _add(terms, term, 1)
        return _make(terms)

    def _substitute_atom(self, atom: str, mapping: Mapping[str, Index]) -> Index:
        if isinstance(atom, Division):
            numerator = self.substitute(atom.numerator, mapping)
            quotient, remainder = self.divide(numerator, self.substitute(atom.divisor, mapping))
            return quotient if atom.operator == "floordiv" else remainder
        replacement = mapping.get(atom)
        return Poly({(atom,): 1}) if replacement is None else replacement


@functools.lru_cache(KEPT)
def _divided(index: Index, divisor: Index, extents: tuple[tuple[str, Index], ...]) -> tuple[Index, Index]:
    return Ranges(dict(extents))._divide(index, divisor)


@functools.lru_cache(KEPT)
def _substituted(
    index: Poly, replaced: tuple[tuple[str, Index], ...], extents: tuple[tuple[str, Index], ...]
) -> Index:
    return Ranges(dict(extents))._substitute(index, dict(replaced))


def minus_multiple(index: Index, quotient: Index, divisor: Index) -> Index:
    """The remainder that belongs to `quotient`: an atom if it does not simplify."""
    atom = _single_atom(quotient)
    return _atom("mod", index, divisor) if atom is not None else minus(index, times(quotient, divisor))


def _is_nonnegative(index: Index) -> bool:
    return all(coef >= 0 for coef in terms_of(index).values())


def _single_atom(index: Index) -> Division | None:
    if isinstance(index, Poly) and len(index.terms) == 1:
        ((atoms, coef),) = index.terms.items()
        if coef == 1 and len(atoms) == 1 and isinstance(atoms[0], Division):
            return atoms[0]
    return None


def _atom(operator: str, numerator: Index, divisor: Index) -> Index:
    if isinstance(numerator, int):
        if isinstance(divisor, int) and divisor > 0:
            return numerator // divisor if operator == "floordiv" else numerator % divisor
        numerator = Poly({(): numerator}) if numerator else Poly({})
    return Poly({(Division(operator, numerator, divisor),): 1})


def exact_quotient(index: Index, divisor: Index) -> Index | None:
    """The polynomial q with index = q * divisor. None where there is none, or it is 0."""
    if divisor == 0 or divisions_of(index) or divisions_of(divisor):
        return None
    quotient, rest = _split_multiples(index, divisor)
    return quotient if quotient != 0 and rest == 0 else None


def _by_degree(monomial: Monomial) -> tuple[int, Monomial]:
    """An order that products keep: the leading term of a product is that of the leading terms."""
    return len(monomial), monomial


def _split_multiples(index: Index, divisor: Index) -> tuple[Index, Index]:
    """(q, r) with index = q * divisor + r, where q takes the terms that `divisor` divides."""
    terms = terms_of(index)
    if isinstance(divisor, int):
        quotient = {atoms: coef // divisor for atoms, coef in terms.items() if coef % divisor == 0}
        rest = {atoms: coef for atoms, coef in terms.items() if coef % divisor}
        return _make(quotient), _make(rest)
    if len(divisor.terms) != 1:
        return _split_multiples_of_sum(index, divisor)
    ((factors, scale),) = divisor.terms.items()
    quotient, rest = {}, {}
    for atoms, coef in terms.items():
        remaining = _remove_atoms(atoms, factors)
        if remaining is None or coef % scale:
            rest[atoms] = coef
        else:
            quotient[remaining] = coef // scale
    return _make(quotient), _make(rest)


def _split_multiples_of_sum(index: Index, divisor: Poly) -> tuple[Index, Index]:
    """The same for a sum of sizes: a division of polynomials by the divisor's leading term."""
    lead = max(divisor.terms, key=_by_degree)
    leading = _make({lead: divisor.terms[lead]})
    quotient: Index = 0
    rest: Index = 0
    while terms := terms_of(index):
        first = max(terms, key=_by_degree)
        term = _make({first: terms[first]})
        part, left = _split_multiples(term, leading)
        quotient, rest = plus(quotient, part), plus(rest, left)
        index = minus(minus(index, times(part, divisor)), left)
    return quotient, rest


def _remove_atoms(atoms: Monomial, factors: Monomial) -> Monomial | None:
    remaining = list(atoms)
    for factor in factors:
        if factor not in remaining:
            return None
        remaining.remove(factor)
    return tuple(remaining)
