"""Products of float32 matrices by generated code, where that gives the bits of BLAS in less time.

In:  the products of plans.
Out: `_capture` knows the function (native/graph/own_product.c); it takes the products of all plans.

    want()   ->   the function that the extension has for this level of processors is tried, once

It is tried in each process, against sgemm. MKL adds in the order of `codegen.llvm.dense.blocking.block_of`,
and uses AVX-512 on some processors only. Nothing is assumed: where one bit differs, or the generated function
is slower, BLAS computes the products. All that is for BLAS on one thread. On several it adds in other orders,
and computes the products itself.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import math
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import _capture
import torch

from capture_records import dataclass
from codegen.launch.levels import best_level, host_level
from codegen.launch.symbols import torch_function

log = logging.getLogger("capture.codegen")

LEAST = (8, 32)  # rows and columns (codegen.llvm.dense.open_product.LEAST)
NUMBERS = 9  # arguments behind the pointers (`codegen.llvm.dense.open_product.FORM.arguments()`)

#: (rows, columns, inner, left transposed, right transposed, bias): edges, and one to three blocks of inner
#: (with few columns, native code computes the transpose)
COMPARED = (
    (33, 70, 100, False, False, False),
    (8, 32, 191, False, True, True),
    (19, 45, 300, False, True, True),
    (25, 64, 500, True, False, False),
    (9, 41, 21, False, False, True),
    (11, 340, 36, True, True, False),
    (61, 33, 2, True, False, True),
    (40, 12, 300, False, True, False),
    (70, 29, 100, True, False, True),
)
TIMED = ((32, 64, 64, False, False, False), (64, 96, 200, False, True, False))
TURNS = 5


@dataclass(slots=True)
class State:
    """Of this process. `tried`: it is known whether the function is used; `used`: it is."""

    tried: bool = False
    used: bool = False


state = State()


class HasSizes(Protocol):
    """A product of matrices. Each size may be an open number."""

    @property
    def dtype(self) -> torch.dtype: ...
    @property
    def rows(self) -> Any: ...
    @property
    def columns(self) -> Any: ...


def may_take(product: HasSizes) -> bool:
    """Whether its output may be large enough, as it is or as its transpose. Open sizes may be."""
    sizes = product.rows, product.columns
    is_open = any(type(size) is not int for size in sizes)
    return product.dtype is torch.float32 and (is_open or math.prod(sizes) >= math.prod(LEAST))


def want() -> None:
    """A plan has such products: from here on the function computes them, if this process has a good one."""
    if not state.tried:
        state.tried = True
        # the names sort; CAPTURE_CPU may name a level above this processor's, which is an error elsewhere
        found = _capture.built_products.get(min(host_level(), best_level()))
        if found is not None:
            try_it(*found)


def try_it(product: int, workspace: int) -> None:
    """Use the function at the address `product`, and that of the size of its workspace, if it is good."""
    own = _own(product, workspace)
    blas = _blas()
    with _one_thread():
        differs = next((case for case in COMPARED if not _equal(case, own, blas)), None)
        slower = next((case for case in TIMED if not _faster(case, own, blas)), None) if not differs else None
    _random_numbers.cache_clear()
    if differs or slower:
        reason = "does not give the bits of BLAS" if differs else "is slower than BLAS"
        log.debug("the generated matrix product is not used: it %s at %s", reason, differs or slower)
        return
    state.used = True
    _capture.set_own_product(product, workspace, *LEAST)


@contextmanager
def _one_thread() -> Iterator[None]:
    """BLAS has one thread for calls of this one, if it is MKL. Another may be refused for its threads."""
    try:
        set_threads = torch_function("MKL_Set_Num_Threads_Local")
    except AttributeError:
        yield
        return
    before = set_threads(1)
    try:
        yield
    finally:
        set_threads(before)


# --- the comparison ---------------------------------------------------------------------------------------
# On bare memory: modes of the program that see torch's operators see nothing of it.

Case = tuple[int, int, int, bool, bool, bool]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Dense; `turned`: its columns lie side by side."""

    memory: Any
    rows: int
    columns: int
    turned: bool = False

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)

    @property
    def strides(self) -> tuple[int, int]:
        return (1, self.rows) if self.turned else (self.columns, 1)


#: Writes left @ right + bias into output: (output, left, right, bias or None)
Product = Callable[[Matrix, Matrix, Matrix, "Matrix | None"], None]


def _own(product: int, workspace: int) -> Product:
    numbers = [ctypes.c_int64] * NUMBERS
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *numbers)(product)
    needed = ctypes.CFUNCTYPE(ctypes.c_int64, *numbers)(workspace)
    memory = ctypes.create_string_buffer(1)

    def call(output: Matrix, left: Matrix, right: Matrix, bias: Matrix | None) -> None:
        nonlocal memory
        sizes = (output.rows, output.columns, left.columns, output.columns)
        bias_row = 0 if bias is None or bias.rows == 1 else bias.columns
        given = (*sizes, *left.strides, *right.strides, bias_row)
        size = needed(*given) + 64
        if len(memory) < size:
            memory = ctypes.create_string_buffer(size)
        begin = ctypes.addressof(memory)
        pointers = (output.address, left.address, right.address, bias and bias.address)
        run(*pointers, begin + -begin % 64, *given)

    return call


def _blas() -> Product:
    """As native/graph/launch_gemm.c calls it: on the transposes, which are column-major."""
    sgemm = torch_function("sgemm_")

    def number(value: int) -> Any:
        return ctypes.byref(ctypes.c_int(value))

    def call(output: Matrix, left: Matrix, right: Matrix, bias: Matrix | None) -> None:
        if bias is not None:
            for row in range(output.rows):
                ctypes.memmove(output.address + 4 * output.columns * row, bias.address, 4 * output.columns)
        one, kept = ctypes.c_float(1), ctypes.c_float(0 if bias is None else 1)
        order = [b"T" if matrix.turned else b"N" for matrix in (right, left)]
        sizes = [number(size) for size in (output.columns, output.rows, left.columns)]
        factors: list[Any] = []
        for matrix in (right, left):
            factors += (ctypes.c_void_p(matrix.address), number(max(matrix.strides)))
        place = ctypes.c_void_p(output.address)
        sgemm(*order, *sizes, ctypes.byref(one), *factors, ctypes.byref(kept), place, number(output.columns))

    return call


def _matrices(case: Case) -> tuple[Matrix, Matrix, Matrix | None]:
    rows, columns, inner, left_turned, right_turned, biased = case
    left = Matrix(_numbers(rows * inner, 0), rows, inner, left_turned)
    right = Matrix(_numbers(inner * columns, 4099), inner, columns, right_turned)
    return left, right, Matrix(_numbers(columns, 9001), 1, columns) if biased else None


def _numbers(count: int, begin: int) -> Any:
    return ctypes.create_string_buffer(_random_numbers()[4 * begin : 4 * (begin + count)], 4 * count)


@functools.cache
def _random_numbers() -> bytes:
    """Float32 numbers of both signs, from 0.5 to 2 without the sign; always the same ones."""
    random = bytearray(hashlib.shake_128(b"numbers").digest(4 * 40_000))
    random[3::4] = random[3::4].translate(bytes(0x3F if byte < 128 else 0xBF for byte in range(256)))
    return bytes(random)


def _output(case: Case) -> Matrix:
    return Matrix(ctypes.create_string_buffer(4 * case[0] * case[1]), case[0], case[1])


def _equal(case: Case, own: Product, blas: Product) -> bool:
    factors = _matrices(case)
    found, expected = _output(case), _output(case)
    if case[1] < LEAST[1]:
        _as_transpose(found, *factors, own)
    else:
        own(found, *factors)
    blas(expected, *factors)
    return bytes(found.memory) == bytes(expected.memory)


def _as_transpose(output: Matrix, left: Matrix, right: Matrix, bias: Matrix | None, own: Product) -> None:
    """As native/graph/own_product.c computes an output with few columns."""
    rows, columns = output.rows, output.columns
    found = Matrix(ctypes.create_string_buffer(4 * rows * columns), columns, rows)
    first, second = (Matrix(each.memory, each.columns, each.rows, not each.turned) for each in (right, left))
    addend = None if bias is None else Matrix(_turned(bytes(bias.memory) * rows, columns), columns, rows)
    own(found, first, second, addend)
    ctypes.memmove(output.address, _turned(bytes(found.memory), rows), 4 * rows * columns)


def _turned(numbers: bytes, columns: int) -> Any:
    """The transpose of a row-major matrix."""
    elements = array("f", numbers)
    turned = b"".join(elements[column::columns].tobytes() for column in range(columns))
    return ctypes.create_string_buffer(turned, len(turned))


def _faster(case: Case, own: Product, blas: Product) -> bool:
    """Whether the best of a few calls, in turns, is no longer than that of BLAS."""
    factors, output = _matrices(case), _output(case)
    times: dict[Product, float] = {own: float("inf"), blas: float("inf")}
    for _ in range(TURNS):
        for product in times:
            started = time.perf_counter()
            product(output, *factors)
            times[product] = min(times[product], time.perf_counter() - started)
    return times[own] <= times[blas]
