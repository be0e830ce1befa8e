"""Loop IR: the language of a kernel, after scheduling and before LLVM.

In:  `codegen.passes.loops.schedule` builds it from the fused program.
Out: `codegen.kernel.verifier`, `codegen.kernel.printer` and `codegen.llvm.emit` read it.

A kernel is a tree of loops over buffers. `out[i] = exp(x[i] * 2)` for 1000 float32 values reads:

    kernel k0(x: f32, out: f32)
      for i in 1000 parallel vector:
        %0 = load x[i]
        %1 = const 2.0
        %2 = mul %0, %1
        %3 = exp %2
        store out[i], %3

Inside `for r in 512 parallel:`, a row softmax has three loops. A vector loop updates an accumulator for the
maximum, the second one updates an accumulator for the sum, and the third one stores.

Sizes and strides are `Expr`. A static size is a `Const`. A size that is known only at run time is a `Sym`: an
int64 argument of the kernel.
"""

from __future__ import annotations

from dataclasses import field

from capture_records import dataclass

# Element types have LLVM's names, with the sign that torch gives integers. "b8" is torch.bool: a byte in
# memory, an i1 in registers.
DTYPES = ("f32", "f64", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "b8")


# --- index and size expressions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    value: int


@dataclass(frozen=True, slots=True)
class Sym:
    """A size or stride known at run time: an int64 argument of the kernel. `signed`: it may be negative."""

    name: str
    signed: bool = False


@dataclass(frozen=True, slots=True)
class AxisVar:
    """The current index of the loop over the axis of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Indirect:
    """An index that the kernel computes: the integer value `%number` of an enclosing block (gather)."""

    value: int


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is add, mul, floordiv, mod, min or max. The functions below build it and fold constants."""

    op: str
    left: Expr
    right: Expr


Expr = Const | Sym | AxisVar | Indirect | Binary


def is_invariant(expr: Expr) -> bool:
    """Whether the expression has no axis and no indirect value: it is known when the kernel starts."""
    if isinstance(expr, Binary):
        return is_invariant(expr.left) and is_invariant(expr.right)
    return isinstance(expr, Const | Sym)


def is_nonnegative(expr: Expr) -> bool:
    """Whether it can't be negative.

    Axes and sizes count from 0. A value that the kernel computes (Indirect) may be anything.
    """
    if isinstance(expr, Binary):
        return is_nonnegative(expr.left) and is_nonnegative(expr.right)
    if isinstance(expr, Sym):
        return not expr.signed
    return isinstance(expr, AxisVar) or (isinstance(expr, Const) and expr.value >= 0)


# --- values and statements --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Buffer:
    """An argument of a kernel: a base pointer of elements of `dtype`. Indices count elements from it.

    The emitter may assume `alignment` (in bytes) of the pointer. Buffers of one kernel do not overlap. The
    one exception is `alias_of`: it names another buffer with the same elements at the same indices (in-place
    update).
    """

    name: str
    dtype: str
    writable: bool = False
    alignment: int = 4
    alias_of: str | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """SSA value `%number` = name(args). `OPS` in `codegen/kernel/ops.py` lists the names.

    `args` are the numbers of earlier values in scope.
    """

    number: int
    name: str
    args: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class ConstOp:
    number: int
    value: float | int | bool
    dtype: str


@dataclass(frozen=True, slots=True)
class IndexOp:
    """The value of an index expression as an element (arange, masks).

    Where `dtype` is narrower than i64, the whole expression is computed in it, so it must fit.
    """

    number: int
    index: Expr
    dtype: str = "i64"


@dataclass(frozen=True, slots=True)
class Load:
    """`mask` (a b8 value) guards the access. Lanes with a false mask do not touch memory and give `other`."""

    number: int
    buffer: str
    index: Expr
    dtype: str
    mask: int | None = None
    other: float | int | bool = 0


@dataclass(frozen=True, slots=True)
class Store:
    buffer: str
    index: Expr
    value: int
    mask: int | None = None
    combine: str | None = None  # sum prod max min with the stored element; iterations may share an element


@dataclass(frozen=True, slots=True)
class Check:
    """The kernel fails unless `condition` (b8) holds: it returns `code`.

    Then the whole graph runs again in eager, which raises its own error.
    """

    condition: int
    code: int


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Declares `name` before a loop. combine: sum prod max min any all argmax argmin.

    `init` None means the identity of the operation. max and min propagate NaN as torch does. argmax and
    argmin hold a value and an index: `dtype` is the type of the value, reading gives the i64 index of the
    first of equal values.
    """

    name: str
    combine: str
    dtype: str
    init: float | int | bool | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """accumulator = combine(accumulator, value). argmax and argmin also remember the i64 value `index`."""

    accumulator: str
    value: int
    index: int | None = None


@dataclass(frozen=True, slots=True)
class ScanStep:
    """accumulator = combine(accumulator, value), and `%number` = the new accumulator (cumsum).

    It exists for sums, products, max and min only.
    """

    number: int
    accumulator: str
    value: int
    dtype: str


@dataclass(frozen=True, slots=True)
class ReadAccumulator:
    """`%number` = the accumulator after the loops that update it.

    It stands in the block that declares the accumulator, after those loops.
    """

    number: int
    accumulator: str
    dtype: str


@dataclass(slots=True)
class Loop:
    """`for axis in 0..extent`.

    parallel:  iterations are independent and may run in any order. A loop without it is a reduction: the
               emitter may reassociate it, each update happens once.
    vector:    the emitter runs several iterations as lanes. A path from the root to a leaf has at most one
               vector loop. A value inside it is uniform (the same in all lanes) or varying. The emitter
               combines an accumulator from outside across lanes at the end; an accumulator from inside is a
               vector.
    unroll:    how many vectors to keep in flight (a hint).
    """

    axis: str
    extent: Expr
    body: list[Stmt] = field(default_factory=list)
    parallel: bool = False
    vector: bool = False
    unroll: int = 1


Stmt = (
    Op | ConstOp | IndexOp | Load | Store | Check | Accumulator | Update | ScanStep | ReadAccumulator | Loop
)


@dataclass(slots=True)
class Kernel:
    """A function `i32 name(ptr buffers, ptr sizes, i64 begin, i64 end)`.

    `buffers` is an array of base pointers in the order of `buffers`, `sizes` an int64 array in the order of
    `sizes`. The loops over the axis `split` run from begin to end. The runtime divides that range between
    threads, and each thread runs the rest of the body too. Without `split`, begin and end are ignored. The
    function returns 0, or the code of a failed Check.
    """

    name: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[str, ...] = ()
    body: list[Stmt] = field(default_factory=list)
    split: str | None = None

    @property
    def has_checks(self) -> bool:
        return _has_checks(self.body)


def _has_checks(body: list[Stmt]) -> bool:
    return any(
        isinstance(statement, Check) or (isinstance(statement, Loop) and _has_checks(statement.body))
        for statement in body
    )


# --- expression builders ----------------------------------------------------------------------------------


def extent_of(body: list[Stmt], axis: str) -> Expr:
    """The extent of the loop over that axis."""
    pending = list(body)
    while True:
        statement = pending.pop()
        if isinstance(statement, Loop):
            if statement.axis == axis:
                return statement.extent
            pending += statement.body


def add(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value)
    if left == Const(0):
        return right
    if right == Const(0):
        return left
    return Binary("add", left, right)


def mul(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value * right.value)
    if Const(0) in (left, right):
        return Const(0)
    if left == Const(1):
        return right
    if right == Const(1):
        return left
    return Binary("mul", left, right)


def floordiv(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value // right.value)
    return left if right == Const(1) else Binary("floordiv", left, right)


def mod(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value % right.value)
    return Const(0) if right == Const(1) else Binary("mod", left, right)
