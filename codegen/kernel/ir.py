"""Loop IR: what a kernel does, after scheduling and before LLVM.

In:  built by `codegen.passes.loops.schedule` from the fused program.
Out: read by `codegen.kernel.verifier`, `codegen.kernel.printer` and `codegen.llvm.emit`.

A kernel is a tree of loops over buffers. `out[i] = exp(x[i] * 2)` for 1000 float32 values reads:

    kernel k0(x: f32, out: f32)
      for i in 1000 parallel vector:
        %0 = load x[i]
        %1 = const 2.0
        %2 = mul %0, %1
        %3 = exp %2
        store out[i], %3

and a row softmax has, inside `for r in 512 parallel:`, an accumulator for the maximum, a vector loop that
updates it, a second accumulator and loop for the sum, and a third loop that stores.

Sizes and strides are `Expr`: a static size is `Const`. A size known only at run time is `Sym`, an int64
argument of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Element types, named as in LLVM with a sign where torch has one. "b8" is torch.bool stored in a byte; in
# registers it is an i1.
DTYPES = ("f32", "f64", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "b8")


# --- index and size expressions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    value: int


@dataclass(frozen=True, slots=True)
class Sym:
    """A size or stride known at run time: an int64 argument of the kernel."""

    name: str


@dataclass(frozen=True, slots=True)
class AxisVar:
    """The current index of the loop over the axis of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Indirect:
    """An index computed by the kernel: the integer value `%number` of an enclosing block (gather, embedding)."""

    value: int


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is one of add, mul, floordiv, mod, min, max. Build with the functions below: they fold constants."""

    op: str
    left: Expr
    right: Expr


Expr = Const | Sym | AxisVar | Indirect | Binary


# --- values and statements --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Buffer:
    """An argument of a kernel: a base pointer of elements of `dtype`. Index expressions count elements from
    that pointer.

    `alignment` in bytes is what the emitter may assume of the pointer. Buffers of one kernel do not overlap,
    except where `alias_of` names another buffer that has the same elements at the same indices (in-place
    update).
    """

    name: str
    dtype: str
    writable: bool = False
    alignment: int = 4
    alias_of: str | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """SSA value `%number` = name(args): see `OPS` in `codegen/kernel/ops.py` for names. `args` are numbers of
    earlier values in scope.
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
    """The value of an index expression as an element (arange, masks). In a type narrower than i64 all of it
    is computed in that: it has to fit.
    """

    number: int
    index: Expr
    dtype: str = "i64"


@dataclass(frozen=True, slots=True)
class Load:
    """`mask` (a b8 value) guards the access: lanes where it is false do not touch memory and give `other`."""

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
    combine: str | None = None  # sum prod max min: with what is there; several iterations may hit one element


@dataclass(frozen=True, slots=True)
class Check:
    """Fail the kernel (it returns `code`, the graph is run again by eager, which raises its own error) unless
    `condition` (b8) holds.
    """

    condition: int
    code: int


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Declares `name` before a loop. combine: sum prod max min any all argmax argmin. `init` None: the
    identity of the operation.

    max/min propagate NaN as torch does. argmax/argmin hold (value, index): `dtype` is the value's, reading
    gives i64; the first of equals wins.
    """

    name: str
    combine: str
    dtype: str
    init: float | int | bool | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """accumulator = combine(accumulator, value); for argmax/argmin `index` is the i64 value to remember."""

    accumulator: str
    value: int
    index: int | None = None


@dataclass(frozen=True, slots=True)
class ScanStep:
    """accumulator = combine(accumulator, value); `%number` = the accumulator after it, in each iteration
    (cumsum). Sums, products, max and min only.
    """

    number: int
    accumulator: str
    value: int
    dtype: str


@dataclass(frozen=True, slots=True)
class ReadAccumulator:
    """`%number` = the accumulator after the loops that update it. Legal in the block that declares it, after
    those loops.
    """

    number: int
    accumulator: str
    dtype: str


@dataclass(slots=True)
class Loop:
    """`for axis in 0..extent`.

    parallel:  iterations are independent, in any order (else: a reduction loop; it may be reassociated, each
               update happens once).
    vector:    the emitter runs several iterations as lanes. At most one vector loop on a path from the root
               to a leaf. Inside it a value is uniform (the same in all lanes) or varying; an accumulator
               declared outside is combined across lanes at the end, one declared inside is a vector.
    unroll:    how many vectors to keep in flight (hint).
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
    """A function `i32 name(ptr buffers, ptr sizes, i64 begin, i64 end)`: `buffers` is an array of base
    pointers in the order of `buffers`, `sizes` an int64 array in the order of `sizes`. The loops over the
    axis `split` run from begin to end: the runtime divides their range between threads, each of which does
    the rest of the body, too. Without it begin and end are ignored. Returns 0, or the code of a failed Check.
    """

    name: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[str, ...] = ()
    body: list[Stmt] = field(default_factory=list)
    split: str | None = None


# --- expression builders ----------------------------------------------------------------------------------


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
