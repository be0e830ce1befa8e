"""Products by the generated function instead of BLAS: who takes them, what they are told, and the results."""

from __future__ import annotations

import ctypes
import itertools
import logging
import platform
import threading
from collections.abc import Iterator
from typing import Any

import _capture
import pytest
import torch
from torch import Tensor

import capture
from codegen.compile_fx import compile_fx
from codegen.launch import own_product
from codegen.launch.jit import compile_text
from codegen.launch.levels import best_level
from codegen.llvm.compiler import compiler_of
from codegen.llvm.dense.open_product import FORM, LEAST, LEVELS, emit_open_product
from codegen.llvm.function_text import module_of
from codegen.llvm.target import Target

ARGUMENTS = FORM.arguments()
SYMBOLS = ("product", "product_workspace")


@pytest.fixture(scope="module")
def code() -> Any:
    text = module_of(emit_open_product(Target.host(), "product"))
    return compile_text(text, list(SYMBOLS), Target.host())


def test_it_is_scheduled_and_kernels_are_not(code: Any) -> None:
    scheduled = code.asm
    compiler = compiler_of(Target.host())
    assert compiler.assembly(code.text, is_scheduled=False) != scheduled
    assert compiler.assembly(code.text, is_scheduled=True) == scheduled  # LLVM has its options back


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a new process with one thread; afterwards products are those of one again."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(own_product, "state", own_product.State())
    _capture.set_own_product(0, 0, 0, 0)
    yield
    monkeypatch.undo()
    torch.set_num_threads(threads)
    _capture.set_own_product(0, 0, 0, 0)
    own_product.state.tried = False
    own_product.want()


def put_in_use(code: Any) -> None:
    own_product.state.tried = True
    _capture.set_own_product(*map(code.address, SYMBOLS), *LEAST)


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def compiled(function: Any, *inputs: Tensor) -> Any:
    return compile_fx(torch.fx.symbolic_trace(function), list(inputs))


def mm(x: Tensor, y: Tensor) -> Tensor:
    return torch.mm(x, y)


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.addmm(b, x, w)


def test_constants_are_those_of_the_generated_function() -> None:
    assert own_product.LEAST == LEAST
    assert own_product.NUMBERS == len(ARGUMENTS)


@pytest.mark.parametrize("size", [(8, 32, 1), (9, 33, 100), (50, 70, 300), (200, 600, 193)])
def test_layouts(fresh: None, code: Any, size: tuple[int, int, int]) -> None:
    put_in_use(code)
    m, n, k = size
    for first, second in itertools.product((False, True), repeat=2):
        x = randn(k, m).t() if first else randn(m, k)
        y = randn(n, k, seed=1).t() if second else randn(k, n, seed=1)
        (found,) = compiled(mm, x, y)(x, y)
        torch.testing.assert_close(found, x @ y, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("size", [(32, 12, 16), (33, 31, 100), (300, 20, 400)])
@pytest.mark.parametrize("bias_of", [None, lambda b: b[0], lambda b: b, lambda b: b[:1]])
def test_few_columns(fresh: None, code: Any, size: tuple[int, int, int], bias_of: Any) -> None:
    """The transpose is computed, and turned."""
    put_in_use(code)
    m, n, k = size
    for first, second in itertools.product((False, True), repeat=2):
        x = randn(k, m).t() if first else randn(m, k)
        y = randn(n, k, seed=1).t() if second else randn(k, n, seed=1)
        if bias_of is None:
            (found,), expected = compiled(mm, x, y)(x, y), x @ y
        else:
            b = bias_of(randn(m, n, seed=2))
            (found,), expected = compiled(linear, x, y, b)(x, y, b), torch.addmm(b, x, y)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


def test_few_columns_in_a_wider_output(fresh: None, code: Any) -> None:
    """Batched, and with a gap behind each row of a factor."""
    put_in_use(code)
    x, y = randn(3, 40, 60)[:, :, :50], randn(3, 50, 30, seed=1)[:, :, :20]
    (found,) = compiled(lambda x, y: torch.bmm(x, y), x, y)(x, y)
    torch.testing.assert_close(found, x @ y, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("bias_of", [lambda b: b[0], lambda b: b, lambda b: b[:, :1], lambda b: b[:1]])
def test_bias(fresh: None, code: Any, bias_of: Any) -> None:
    put_in_use(code)
    x, w, b = randn(20, 30), randn(30, 40, seed=1), bias_of(randn(20, 40, seed=2))
    (found,) = compiled(linear, x, w, b)(x, w, b)
    torch.testing.assert_close(found, torch.addmm(b, x, w), rtol=1e-5, atol=1e-5)


def test_batch(fresh: None, code: Any) -> None:
    put_in_use(code)
    x, y = randn(6, 20, 30), randn(6, 40, 30, seed=1).mT
    (found,) = compiled(lambda x, y: torch.bmm(x, y), x, y)(x, y)
    torch.testing.assert_close(found, x @ y, rtol=1e-5, atol=1e-5)


class Recorder:
    """Stands for the generated function: notes what it is told."""

    def __init__(self, workspace: int = 0) -> None:
        self.calls: list[dict[str, int]] = []
        self.bias: list[int | None] = []
        numbers = [ctypes.c_int64] * len(ARGUMENTS)

        def product(output: int, left: int, right: int, bias: int, memory: int, *given: int) -> None:
            self.calls.append(dict(zip(ARGUMENTS, given, strict=True)))
            self.bias.append(bias)

        self.product = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *numbers)(product)
        self.workspace = ctypes.CFUNCTYPE(ctypes.c_int64, *numbers)(lambda *_: workspace)
        addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in (self.product, self.workspace)]
        _capture.set_own_product(*addresses, *LEAST)


def test_what_the_function_is_told(fresh: None) -> None:
    own_product.state.tried = True
    x, w, b = randn(30, 20).t(), randn(40, 30).t(), randn(40)
    run = compiled(linear, x, w, b)
    recorder = Recorder()
    run(x, w, b)
    assert recorder.calls == [
        {"rows": 20, "columns": 40, "inner": 30, "output_row": 40, "left_row": 1, "left_column": 20,
         "right_row": 1, "right_column": 30, "bias_row": 0}
    ]  # fmt: skip
    assert recorder.bias == [b.data_ptr()]


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (mm, (randn(7, 30), randn(30, 40))),  # too few rows
        (mm, (randn(20, 30), randn(30, 31))),  # too few columns, and too few rows for the transpose
        (mm, (randn(40, 15), randn(15, 20))),  # too few inner elements for the transpose
        (mm, (randn(20, 1), randn(1, 40))),
        (mm, (randn(20, 30).double(), randn(30, 40).double())),
        (lambda x, w, b: torch.addmm(b, x, w, alpha=2), (randn(20, 30), randn(30, 40), randn(40))),
        (lambda x, w, b: torch.addmm(b, x, w, beta=2), (randn(20, 30), randn(30, 40), randn(40))),
        (linear, (randn(20, 30), randn(30, 40), randn(20, 1))),  # the bias of a row, repeated
    ],
)
def test_blas_computes_the_others(fresh: None, function: Any, inputs: tuple[Tensor, ...]) -> None:
    own_product.state.tried = True
    run = compiled(function, *inputs)
    recorder = Recorder()
    (found,) = run(*inputs)
    assert recorder.calls == []
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-5)


def test_what_the_function_is_told_of_few_columns(fresh: None) -> None:
    own_product.state.tried = True
    x, w = randn(30, 50).t(), randn(20, 30).t()
    run = compiled(mm, x, w)
    recorder = Recorder()
    run(x, w)
    assert recorder.calls == [
        {"rows": 20, "columns": 50, "inner": 30, "output_row": 50, "left_row": 30, "left_column": 1,
         "right_row": 50, "right_column": 1, "bias_row": 50}
    ]  # fmt: skip
    assert recorder.bias == [None]


def test_blas_computes_where_it_has_several_threads(fresh: None) -> None:
    own_product.state.tried = True
    x, y = randn(20, 30), randn(30, 40)
    run = compiled(mm, x, y)
    recorder = Recorder()
    torch.set_num_threads(2)
    torch.testing.assert_close(run(x, y)[0], x @ y)
    assert recorder.calls == []
    torch.set_num_threads(1)
    run(x, y)
    assert len(recorder.calls) == 1


def test_no_sum_is_a_negative_zero(fresh: None, code: Any) -> None:
    put_in_use(code)
    x, y = randn(40, 4) * 1e-22, randn(4, 50, seed=1) * 1e-22
    (found,) = compiled(mm, x, y)(x, y)
    assert bool((found == 0).any()) and not bool(torch.signbit(found[found == 0]).any())


def test_blas_computes_where_memory_is_short(fresh: None) -> None:
    own_product.state.tried = True
    x, y = randn(20, 30), randn(30, 40)
    run = compiled(mm, x, y)
    recorder = Recorder(workspace=1 << 60)
    torch.testing.assert_close(run(x, y)[0], x @ y)
    assert recorder.calls == []


def test_threads_have_workspaces_of_their_own(fresh: None, code: Any) -> None:
    put_in_use(code)
    cases = []
    for number in range(4):
        x, y = randn(64, 400, seed=number), randn(80, 400, seed=9 + number).t()
        cases.append((compiled(mm, x, y), x, y, x @ y))
    wrong: list[int] = []

    def work(number: int) -> None:
        run, x, y, expected = cases[number]
        for _ in range(30):
            if not torch.allclose(run(x, y)[0], expected, rtol=1e-5, atol=1e-4):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(cases))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- whether it is used -----------------------------------------------------------------------------------

is_built = pytest.mark.skipif(
    not _capture.built_products, reason="the build for this processor has no generated product"
)


def test_the_build_has_the_functions_of_the_levels() -> None:
    assert set(_capture.built_products) in (set(), set(LEVELS))
    assert not _capture.built_products or platform.machine() == "x86_64"


@is_built
@pytest.mark.parametrize("level", [level for level in LEVELS if level <= best_level()])
def test_the_built_function_is_that_of_the_emitter(fresh: None, level: str) -> None:
    """One that was built before the emitter changed would be found here: `make` builds it again."""
    text = module_of(emit_open_product(Target.level(level), "product"))
    emitted = compile_text(text, list(SYMBOLS), Target.level(level))
    numbers = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(ARGUMENTS))
    built = numbers(_capture.built_products[level][1])
    for sizes in ((8, 32, 1), (200, 600, 193), (33, 70, 5000)):
        m, n, k = sizes
        given = (m, n, k, n, k, 1, n, 1, 0)
        assert built(*given) == numbers(emitted.address("product_workspace"))(*given)
        x, y = randn(m, k), randn(k, n, seed=1)
        run = compiled(mm, x, y)
        own_product.state.tried = True
        found = []
        for addresses in (_capture.built_products[level], tuple(map(emitted.address, SYMBOLS))):
            _capture.set_own_product(*addresses, *LEAST)
            found.append(run(x, y)[0])
        assert torch.equal(*found)


@is_built
def test_bits_are_those_of_eager_where_it_is_used(fresh: None) -> None:
    own_product.want()
    if not own_product.state.used:
        pytest.skip("the generated function gives other bits than this BLAS, or is slower")
    for m, n, k in ((16, 64, 30), (33, 70, 190), (40, 50, 250), (9, 33, 700), (50, 12, 90), (64, 31, 600)):
        for factor in (1, 1e-22):  # products of tiny numbers are no longer normal
            x, w, b = randn(m, k) * factor, randn(n, k, seed=1).t() * factor, randn(n, seed=2)
            assert torch.equal(compiled(linear, x, w, b)(x, w, b)[0], torch.addmm(b, x, w))
            found, expected = compiled(mm, x, w)(x, w)[0], x @ w
            assert torch.equal(found.view(torch.int32), expected.view(torch.int32))


def test_other_bits_are_refused(
    fresh: None, code: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(own_product, "_blas", lambda: lambda output, left, right, bias: None)
    with caplog.at_level(logging.DEBUG, "capture.codegen"):
        own_product.try_it(*map(code.address, SYMBOLS))
    assert not own_product.state.used
    assert "does not give the bits of BLAS at (33, 70, 100" in caplog.text


def test_slower_code_is_refused(fresh: None, code: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_product, "_equal", lambda *_: True)
    monkeypatch.setattr(own_product, "_faster", lambda *_: False)
    own_product.try_it(*map(code.address, SYMBOLS))
    assert not own_product.state.used


def count_trials(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    trials: list[tuple[int, int]] = []
    monkeypatch.setattr(own_product, "try_it", lambda *addresses: trials.append(addresses))
    return trials


@is_built
def test_it_is_tried_once_and_only_for_products_that_it_may_take(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_product, "host_level", best_level)
    trials = count_trials(monkeypatch)
    x, y = randn(20, 30), randn(30, 40)
    compiled(lambda x: x + 1, x)
    compiled(mm, x[:5], y)
    compiled(mm, x.double(), y.double())
    assert trials == []
    for _ in range(2):
        compiled(mm, x, y)
    assert trials == [_capture.built_products[level] for level in LEVELS if level == best_level()]


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v4", "another"])
def test_a_processor_runs_none_of_a_higher_level(
    fresh: None, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setattr(own_product, "host_level", lambda: level)
    monkeypatch.setattr(own_product, "best_level", lambda: "x86-64-v2")
    trials = count_trials(monkeypatch)
    own_product.want()
    assert trials == []


def test_graphs_for_all_sizes_use_it_too(fresh: None, code: Any) -> None:
    put_in_use(code)
    recorder = Recorder()

    @capture.compile(dynamic=True)
    def product(x, y):
        return x @ y

    for rows in (200, 201, 202):
        product(randn(rows, 300), randn(300, 400))
    assert [call["rows"] for call in recorder.calls] == [200, 201, 202]
