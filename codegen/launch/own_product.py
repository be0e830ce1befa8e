"""Products of float32 matrices by generated code, where that gives the bits of BLAS in less time.

In:  nothing, or the object file of an earlier process.
Out: `_capture` knows the function (native/graph/own_product.c); it takes the products of all plans.

    want()                  ->   `compile_it` runs once the function would have saved enough
    share(store, version)   ->   tried at once where the store has it; else the store gets it

It is compiled once for a machine, and tried once in each process, against sgemm. MKL adds in the order of
`codegen.llvm.dense.blocking.block_of`, and uses AVX-512 on some processors only. Nothing is assumed: where
one bit differs, or the generated function is slower, BLAS computes the products. All that is for BLAS on one
thread. On several it adds in other orders, and computes the products itself.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import _capture

from capture_records import dataclass
from codegen.kernel.errors import CompilationFailed
from codegen.launch import object_code
from codegen.launch.levels import host_level
from codegen.launch.symbols import address_of, torch_function

log = logging.getLogger("capture.codegen")

SYMBOL = "product"
SYMBOLS = (SYMBOL, f"{SYMBOL}_workspace")
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

#: nanoseconds of compilation, and of the import of the compiler
COMPILATION, IMPORT = 40_000_000, 150_000_000
#: Of that the function would have saved one part in so many when it is compiled: graphs are made of what
#: runs often, so that the others follow.
PARTS = 3
#: by level: float32 numbers in a vector
LANES = {"x86-64-v3": 8, "x86-64-v4": 16}
#: multiplications that each lane does in a nanosecond: two at 3 GHz
MULTIPLICATIONS = 6
#: the module that it loads (`import capture` reads the version of llvmlite, and loads no more of it)
COMPILER = "llvmlite.binding"


class Store(Protocol):
    def get(self, parts: tuple[str, ...], kind: str = ...) -> bytes | None: ...

    def put(self, parts: tuple[str, ...], data: bytes, kind: str = ...) -> None: ...


@dataclass(slots=True)
class State:
    """Of this process.

    `wanted`: a plan has products. `place`: the store that is to have the function, and the version there.
    `tried`: it is known whether the function is used. `code`: what holds its machine code, if it is; `file`
    gives the object file, which only a store needs, also of a function that lost the trial: the next process
    tries it again, without a compilation; `kept`: the store has it.
    """

    wanted: bool = False
    place: tuple[Store, str] | None = None
    tried: bool = False
    code: Any = None
    file: Callable[[], bytes] | None = None
    kept: bool = False


state = State()


def want() -> None:
    """A plan has products."""
    if not state.wanted:
        state.wanted = True
        _take_or_keep()
        if not state.tried:
            cost = COMPILATION if COMPILER in sys.modules else COMPILATION + IMPORT
            rate = LANES.get(host_level(), 4) * MULTIPLICATIONS
            _capture.await_own_product(compile_it, cost // PARTS, rate, *LEAST)


def compile_it() -> None:
    """Compile the function and try it. A store gets it."""
    if state.tried:
        return
    state.tried = True
    from codegen.launch.jit import compile_text  # lazy: a stored graph needs no compiler
    from codegen.llvm.dense.open_product import emit_open_product
    from codegen.llvm.emit import module_of
    from codegen.llvm.target import Target

    target = Target.host()
    if target.cpu != host_level():
        return
    store = None if state.place is None else state.place[0]
    text = module_of(emit_open_product(target, SYMBOL))
    try:
        code = compile_text(text, list(SYMBOLS), target, store)
    except (CompilationFailed, OSError) as error:
        log.warning("BLAS computes all products of matrices: the generated one can't be used: %s", error)
        return
    _try(code, lambda: code.object_file(store), code.address)
    _keep()


def share(store: Store, version: str) -> None:
    """The store that has the function, or is to have it. A plan with products may be read later."""
    if state.place is None:
        state.place = store, version
        _take_or_keep()


def _take_or_keep() -> None:
    """Take the object file that an earlier process has kept. Without one, keep that of this process."""
    if not state.wanted or state.place is None:
        return
    store, version = state.place
    file = None if state.tried else store.get(parts_of(version))
    code = None if file is None else object_code.load(file, address_of)
    if code is not None and file is not None:
        state.tried = state.kept = True
        _capture.await_own_product(None, 0, 1, *LEAST)
        _try(code, lambda: file, code.__getitem__)
    _keep()


def _keep() -> None:
    """Put the object file into the store, for processes without a compiler."""
    if state.file is not None and state.wanted and state.place is not None and not state.kept:
        state.kept = True
        store, version = state.place
        store.put(parts_of(version), state.file())


def parts_of(version: str) -> tuple[str, ...]:
    return ("own product", host_level(), version)


def _try(code: Any, file: Callable[[], bytes], address: Callable[[str], int]) -> None:
    state.file = file
    own = _own(*map(address, SYMBOLS))
    blas = _blas()
    with _one_thread():
        differs = next((case for case in COMPARED if not _equal(case, own, blas)), None)
        slower = next((case for case in TIMED if not _faster(case, own, blas)), None) if not differs else None
    _random_numbers.cache_clear()
    if differs or slower:
        reason = "does not give the bits of BLAS" if differs else "is slower than BLAS"
        log.debug("the generated matrix product is not used: it %s at %s", reason, differs or slower)
        return
    state.code = code
    _capture.set_own_product(*map(address, SYMBOLS), *LEAST)


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
