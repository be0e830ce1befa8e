"""Products by the generated function instead of BLAS: who takes them, what they are told, and the results."""

from __future__ import annotations

import ctypes
import itertools
import logging
import sys
import threading
from collections.abc import Iterator
from typing import Any

import _capture
import pytest
import torch
from torch import Tensor

import capture
from codegen.compile_fx import compile_fx
from codegen.kernel.errors import CompilationFailed
from codegen.launch import jit, own_product
from codegen.launch.jit import compile_text
from codegen.llvm.dense.open_product import FORM, LEAST, emit_open_product
from codegen.llvm.emit import module_of
from codegen.llvm.target import Target

ARGUMENTS = FORM.arguments()


class Store(dict[tuple[str, ...], bytes]):
    def put(self, parts: tuple[str, ...], data: bytes, kind: str = "") -> None:
        self[parts] = data

    def get(self, parts: Any, kind: Any = None) -> Any:
        return super().get(parts)


@pytest.fixture(scope="module")
def code() -> Any:
    text = module_of(emit_open_product(Target.host(), own_product.SYMBOL))
    return compile_text(text, list(own_product.SYMBOLS), Target.host())


def test_it_is_scheduled_and_kernels_are_not(code: Any) -> None:
    scheduled = code.asm
    compiler = jit._compiler(Target.host())
    assert compiler.assembly(code.text, is_scheduled=False) != scheduled
    assert compiler.assembly(code.text, is_scheduled=True) == scheduled  # LLVM has its options back


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a new process with one thread; afterwards the function of before is in use again."""
    before, threads = own_product.state, torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(own_product, "state", own_product.State())
    _capture.set_own_product(0, 0, 0, 0)
    yield
    torch.set_num_threads(threads)
    _capture.await_own_product(None, 0, 1, 0, 0)
    _capture.set_own_product(0, 0, 0, 0)
    if before.code is not None:
        address = getattr(before.code, "address", None) or before.code.__getitem__
        _capture.set_own_product(*map(address, own_product.SYMBOLS), *own_product.LEAST)


def put_in_use(code: Any) -> None:
    own_product.state.tried = True
    _capture.set_own_product(*map(code.address, own_product.SYMBOLS), *LEAST)


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


def test_bits_are_those_of_eager_where_it_is_used(fresh: None) -> None:
    own_product.compile_it()
    if own_product.state.code is None:
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
        own_product._try(code, bytes, code.address)
    assert own_product.state.code is None
    assert "does not give the bits of BLAS at (33, 70, 100" in caplog.text


def test_slower_code_is_refused(fresh: None, code: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_product, "_equal", lambda *_: True)
    monkeypatch.setattr(own_product, "_faster", lambda *_: False)
    own_product._try(code, bytes, code.address)
    assert own_product.state.code is None


def test_a_later_process_takes_the_object_file(
    fresh: None, code: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_product, "_equal", lambda *_: True)
    monkeypatch.setattr(own_product, "_faster", lambda *_: True)
    store = Store()
    own_product._try(code, lambda: code.object_file(None), code.address)
    own_product.share(store, "1")
    assert not store  # no plan has products
    own_product.want()
    own_product.share(store, "1")
    assert list(store) == [own_product.parts_of("1")]

    for version, has_it in (("2", False), ("1", True)):
        own_product.state = own_product.State()
        own_product.share(store, version)
        assert own_product.state.code is None
        own_product.want()  # the plans of a stored backward are read when it runs
        assert (own_product.state.code is not None) is has_it
    x, y = randn(20, 30), randn(30, 40)
    torch.testing.assert_close(compiled(mm, x, y)(x, y)[0], x @ y, rtol=1e-5, atol=1e-5)


def test_without_a_store_the_function_is_compiled_once(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a store needs the object file of machine code that is there already."""
    compiled_texts = []
    compile_object = jit._object_file

    def counted(text: str, *settings: Any, **more: Any) -> bytes:
        compiled_texts.append(text)
        return compile_object(text, *settings, **more)

    monkeypatch.setattr(jit, "_object_file", counted)
    monkeypatch.setattr(own_product, "_equal", lambda *_: True)
    monkeypatch.setattr(own_product, "_faster", lambda *_: True)
    own_product.want()
    own_product.compile_it()
    own_product.compile_it()
    assert own_product.state.code is not None
    assert len(compiled_texts) == 1
    store = Store()
    own_product.share(store, "1")
    assert own_product.parts_of("1") in store


# --- when it is compiled ----------------------------------------------------------------------------------


def let_it_save(monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> None:
    """Graphs that are made from now on wait for so much. The function is faster than BLAS on each machine."""
    monkeypatch.setattr(own_product, "COMPILATION", own_product.PARTS * nanoseconds)
    monkeypatch.setattr(own_product, "IMPORT", 0)
    monkeypatch.setattr(own_product, "MULTIPLICATIONS", 1_000_000)


def count_compilations(monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> list[int]:
    calls: list[int] = []
    let_it_save(monkeypatch, nanoseconds)
    monkeypatch.setattr(own_product, "share", lambda *_: None)  # other tests may have filled the store
    monkeypatch.setattr(own_product, "compile_it", lambda: calls.append(1))
    return calls


def compiled_by_turn(calls: list[int], turns: int) -> list[int]:
    x, y = randn(200, 300), randn(300, 400)
    run = compiled(mm, x, y)
    found = []
    for _ in range(turns):
        torch.testing.assert_close(run(x, y)[0], x @ y)
        found.append(len(calls))
    return found


def test_it_is_compiled_once_when_it_would_have_saved_a_part_of_what_that_costs(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call takes 300 ns at this speed, and BLAS is believed to take four times as long at most."""
    calls = count_compilations(monkeypatch, 9 * 900)
    assert compiled_by_turn(calls, 20) == [0] * 9 + [1] * 11


def test_a_function_that_is_no_faster_than_blas_is_not_compiled(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count_compilations(monkeypatch, 1)
    monkeypatch.setattr(own_product, "LANES", {})
    monkeypatch.setattr(own_product, "MULTIPLICATIONS", 0.001)  # in a quarter of a nanosecond: 6 s a product
    assert compiled_by_turn(calls, 20) == [0] * 20


def test_graphs_for_all_sizes_wait_for_it_too(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_compilations(monkeypatch, 1)

    @capture.compile(dynamic=True)
    def product(x, y):
        return x @ y

    for rows in (200, 201, 202):
        x, y = randn(rows, 300), randn(300, 400)
        torch.testing.assert_close(product(x, y), x @ y)
    assert calls == [1]


@pytest.mark.parametrize("size", [(7, 300, 400), (30, 300, 31)])
def test_products_that_it_does_not_take_save_nothing(
    fresh: None, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int, int]
) -> None:
    calls = count_compilations(monkeypatch, 1)
    rows, inner, columns = size
    x, y = randn(rows, inner), randn(inner, columns)
    run = compiled(mm, x, y)
    for _ in range(5):
        run(x, y)
    assert calls == []


def test_several_threads_do_not_wait_for_it(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_compilations(monkeypatch, 1)
    x, y = randn(20, 30), randn(30, 40)
    run = compiled(mm, x, y)
    torch.set_num_threads(2)
    for _ in range(5):
        run(x, y)
    assert calls == []


def test_the_next_process_has_what_is_compiled_late(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    let_it_save(monkeypatch, 1)
    monkeypatch.setattr(own_product, "_equal", lambda *_: True)
    monkeypatch.setattr(own_product, "_faster", lambda *_: True)
    x, y = randn(20, 30), randn(30, 40)
    run, store = compiled(mm, x, y), Store()
    own_product.share(store, "1")
    for _ in range(3):
        torch.testing.assert_close(run(x, y)[0], x @ y, rtol=1e-5, atol=1e-5)
    assert own_product.state.code is not None
    assert own_product.parts_of("1") in store


def test_code_that_lost_its_trial_is_tried_again_and_not_compiled(
    fresh: None, code: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine may have made it slow."""
    monkeypatch.setattr(own_product, "_equal", lambda *_: True)
    store = Store()
    for is_faster in (False, True):
        monkeypatch.setattr(own_product, "_faster", lambda *_, answer=is_faster: answer)
        own_product.state = own_product.State()
        own_product.want()
        if not store:
            own_product._try(code, lambda: code.object_file(None), code.address)
        own_product.share(store, "1")
        assert list(store) == [own_product.parts_of("1")]
        assert (own_product.state.code is not None) is is_faster


def test_a_process_without_a_compiler_waits_for_its_import_too(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = []
    monkeypatch.setattr(_capture, "await_own_product", lambda _, cost, *least: costs.append(cost))
    monkeypatch.setitem(sys.modules, "llvmlite", sys)  # `import capture` reads its version
    for loaded in (True, False):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, "llvmlite.binding", sys)
            if not loaded:
                patched.delitem(sys.modules, "llvmlite.binding")
            own_product.state = own_product.State()
            own_product.want()
    first, second = costs
    compilation, both = own_product.COMPILATION, own_product.COMPILATION + own_product.IMPORT
    assert (first, second) == (compilation // own_product.PARTS, both // own_product.PARTS)


def test_blas_computes_where_it_can_not_be_compiled(
    fresh: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> Any:
        raise CompilationFailed("no machine code today", "")

    let_it_save(monkeypatch, 1)
    monkeypatch.setattr(jit, "compile_text", refuse)
    x, y = randn(200, 300), randn(300, 400)
    run = compiled(mm, x, y)
    for _ in range(3):
        torch.testing.assert_close(run(x, y)[0], x @ y)
    assert [record.message for record in caplog.records] == [
        "BLAS computes all products of matrices: the generated one can't be used: no machine code today"
    ]


def test_an_interrupt_while_it_is_compiled_is_the_programs(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    let_it_save(monkeypatch, 1)
    monkeypatch.setattr(own_product, "compile_it", interrupted)
    x, y = randn(200, 300), randn(300, 400)
    run = compiled(mm, x, y)
    run(x, y)
    with pytest.raises(KeyboardInterrupt):
        run(x, y)
    torch.testing.assert_close(run(x, y)[0], x @ y)


def test_what_profiles_the_program_sees_none_of_it(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_compilations(monkeypatch, 1)
    x, y = randn(200, 300), randn(300, 400)
    run, seen = compiled(mm, x, y), []
    sys.setprofile(lambda frame, event, argument: seen.append(frame.f_code.co_name))
    try:
        run(x, y)
        run(x, y)
    finally:
        sys.setprofile(None)
    assert calls == [1]
    assert "<lambda>" not in seen
