"""Machine code: shared between equal kernels, kept alive by its users, stored, safe with threads."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from cache.store import KernelStore
from codegen.kernel import ir
from codegen.kernel.errors import CompilationFailed
from codegen.kernel.ir import AxisVar, Buffer, Const, ConstOp, Kernel, Load, Loop, Op, Store
from codegen.launch import jit
from codegen.launch.jit import CompiledKernel, compile_kernels, external_names
from codegen.llvm.compiler import Compiler
from codegen.llvm.target import _ADDED, LEVELS, Target, _missing, _named

SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def scale(name: str, factor: float, count: int = 32, function: str = "neg") -> Kernel:
    """out = function(x * factor)"""
    i = AxisVar("i")
    body = [
        Load(0, "x", i, "f32"),
        ConstOp(1, factor, "f32"),
        Op(2, "mul", (0, 1), "f32"),
        Op(3, function, (2,), "f32"),
        Store("out", i, 3),
    ]
    loop = Loop("i", Const(count), body, parallel=True, vector=True)
    return Kernel(name, (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), [loop])


def call(compiled: CompiledKernel, x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    pointers = (ctypes.c_void_p * 2)(x.data_ptr(), out.data_ptr())
    assert SIGNATURE(compiled.address)(pointers, None, 0, 0) == 0
    return out


class RecordingStore:
    """A store that counts reads and writes."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, ...], bytes] = {}
        self.hits = 0

    def get(self, parts: tuple[str, ...]) -> bytes | None:
        data = self.kept.get(parts)
        self.hits += data is not None
        return data

    def put(self, parts: tuple[str, ...], data: bytes) -> None:
        self.kept[parts] = data


def test_a_batch_is_one_module() -> None:
    x = torch.randn(32)
    store = RecordingStore()
    compiled = compile_kernels([scale("a", 2.25), scale("b", 3.25), scale("c", 4.25)], store=store)
    assert [kernel.name for kernel in compiled] == ["a", "b", "c"]
    for kernel, factor in zip(compiled, (2.25, 3.25, 4.25)):
        assert torch.equal(call(kernel, x), -(x * factor))
    assert len(store.kept) == 1
    assert len({id(kernel.code) for kernel in compiled}) == 1


def test_no_kernels() -> None:
    assert compile_kernels([]) == []


def test_equal_kernels_are_compiled_once() -> None:
    store = RecordingStore()
    first, second = compile_kernels([scale("a", 5.5), scale("b", 5.5)], store=store)
    (third,) = compile_kernels([scale("c", 5.5)], store=store)
    assert first.address == second.address == third.address
    assert len(store.kept) == 1
    assert store.hits == 0
    assert (first.name, second.name, third.name) == ("a", "b", "c")


def test_only_what_is_new_is_compiled() -> None:
    (old,) = compile_kernels([scale("old", 6.5)])
    store = RecordingStore()
    again, new = compile_kernels([scale("old", 6.5), scale("new", 6.75)], store=store)
    assert again.address == old.address
    ((text, *_),) = store.kept
    assert new.symbol in text
    assert old.symbol not in text


def test_code_lives_as_long_as_its_users() -> None:
    (first,) = compile_kernels([scale("a", 7.5)])
    (second,) = compile_kernels([scale("b", 7.5)])
    code = weakref.ref(first.code)
    del first
    gc.collect()
    assert code() is not None
    x = torch.randn(32)
    assert torch.equal(call(second, x), -(x * 7.5))
    del second
    gc.collect()
    assert code() is None
    (anew,) = compile_kernels([scale("a", 7.5)])
    assert torch.equal(call(anew, x), -(x * 7.5))


def test_texts() -> None:
    (compiled,) = compile_kernels([scale("readable", 8.5)], target=Target.level("x86-64"))
    assert compiled.llvm_ir.count("define i32 @readable(") == 1
    assert compiled.symbol not in compiled.llvm_ir
    assert compiled.asm.startswith("readable:")
    assert "mulps" in compiled.asm


def test_asm_of_one_of_several() -> None:
    first, second = compile_kernels([scale("first", 9.5), scale("second", 9.75)])
    assert "first:" in first.asm
    assert "second" not in first.asm
    assert "second:" in second.asm


def test_store_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = KernelStore(tmp_path)
    x = torch.randn(32)
    expected = call(compile_kernels([scale("k", 10.5, function="erfc")], store=store)[0], x)
    gc.collect()

    def refuse(*_: object) -> bytes:
        raise AssertionError("compiled although it is in the store")

    monkeypatch.setattr(Compiler, "object_file", refuse)
    (again,) = compile_kernels([scale("k", 10.5, function="erfc")], store=store)
    assert torch.equal(call(again, x), expected)


def test_stored_code_depends_on_the_level() -> None:
    store = RecordingStore()
    for name in LEVELS:
        compile_kernels([scale("k", 11.5)], target=Target.level(name), store=store)
    assert len(store.kept) == len(LEVELS)
    assert store.hits == 0


def test_another_process_uses_what_is_stored(tmp_path: Path) -> None:
    program = """
import ctypes, sys, torch
sys.path[:0] = [sys.argv[2], sys.argv[3]]
from cache.store import KernelStore
from codegen.kernel import ir
from codegen.launch import jit
from test_jit import call, scale
class Store(KernelStore):
    def put(self, parts, data):
        print("put")
        super().put(parts, data)
x = torch.arange(32.0)
compiled = jit.compile_kernels([scale("k", 0.5, function="sin")], store=Store(sys.argv[1]))
print(call(compiled[0], x).sum().item())
"""
    root = Path(__file__).parents[3]
    arguments = [sys.executable, "-c", program, str(tmp_path), str(root), str(Path(__file__).parent)]
    outputs = [
        subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)
    ]
    assert outputs[0][0] == "put"
    assert outputs[1] == outputs[0][1:]


def test_threads_compile_at_once() -> None:
    x = torch.randn(32)
    results: dict[float, torch.Tensor] = {}
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 6):
                factor = 20.5 + number % 8
                results[factor] = call(compile_kernels([scale("k", factor, function="exp")])[0], x)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for factor, result in results.items():
        torch.testing.assert_close(result, (x * factor).exp(), rtol=3e-7 * 60, atol=0)


def test_text_that_llvm_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        jit, "emit_function", lambda kernel, target, symbol: ({}, f"define i32 @{symbol}() {{ nonsense }}")
    )
    with pytest.raises(CompilationFailed, match="does not accept") as caught:
        compile_kernels([scale("k", 1.0)])
    assert "nonsense" in caught.value.text


def test_external_names() -> None:
    text = (
        "declare float @expf(float) nounwind\ndeclare <4 x float> @llvm.fma.v4f32(<4 x float>)\n"
        "declare <8 x float> @Sleef_sinf8_u10avx2(<8 x float>)\n"
    )
    assert external_names(text) == ["expf", "Sleef_sinf8_u10avx2"]


def test_level_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPTURE_CPU", "x86-64")
    assert Target.host() is LEVELS["x86-64"]
    monkeypatch.setenv("CAPTURE_CPU", "pentium")
    with pytest.raises(
        ValueError, match="unknown processor level 'pentium': expected one of x86-64, x86-64-v2"
    ):
        Target.host()
    monkeypatch.delenv("CAPTURE_CPU")
    assert Target.host() in LEVELS.values()


def test_a_level_above_the_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    features = {feature: True for added in _ADDED.values() for feature in added} | {"avx512bw": False}
    monkeypatch.setattr("codegen.llvm.target._host_features", lambda: features)
    monkeypatch.setattr("codegen.llvm.target._detect", lambda: LEVELS["x86-64-v3"])
    monkeypatch.setenv("CAPTURE_CPU", "x86-64-v4")
    _named.cache_clear()
    with pytest.raises(ValueError, match=r"x86-64-v4 needs .* lacks \(avx512bw\): .* use x86-64-v3"):
        Target.host()
    monkeypatch.setenv("CAPTURE_CPU", "aarch64")
    with pytest.raises(ValueError, match="aarch64 is no level of this x86_64 processor: use x86-64-v3"):
        Target.host()
    monkeypatch.setenv("CAPTURE_CPU", "x86-64-v3")
    assert Target.host() is LEVELS["x86-64-v3"]
    _named.cache_clear()


def test_the_best_level_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feature that is missing takes away its level and those above it."""
    assert not _missing("x86-64", {})
    features = {feature: True for added in _ADDED.values() for feature in added}
    assert not _missing("x86-64-v4", features)
    assert _missing("x86-64-v4", {**features, "ssse3": False}) == ["ssse3"]
    assert not _missing("x86-64-v2", {**features, "fma": False})


def test_the_process_ends_cleanly_with_code_alive() -> None:
    program = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]; "
        "from test_jit import *; kept = compile_kernels([scale('k', 1.5)])"
    )
    root = Path(__file__).parents[3]
    finished = subprocess.run(
        [sys.executable, "-c", program, str(root), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")


def renamed(kernel: Kernel, name: str) -> Kernel:
    """The same kernel with other names."""
    text = repr(kernel).replace("'x'", "'g'").replace("'out'", "'r'").replace("'i'", "'row'")
    return replace(eval(text, vars(ir)), name=name)


def test_text_is_written_once_for_kernels_that_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    emit = jit.emit_function

    def counted(kernel: Kernel, target: Target, symbol: str) -> Any:
        written.append(kernel.name)
        return emit(kernel, target, symbol)

    monkeypatch.setattr(jit, "emit_function", counted)
    first, other = scale("a", 3.0), scale("c", -0.0)
    split = replace(first, name="d", split="i")
    compiled = compile_kernels(
        [first, renamed(first, "b"), other, scale("e", 0.0), split, scale("f", 3.0, 33)]
    )
    assert written == ["a", "c", "e", "d", "f"]
    assert compiled[0].address == compiled[1].address
    assert len({kernel.address for kernel in compiled}) == 5
    x = torch.randn(32)
    assert torch.equal(call(compiled[1], x), -(x * 3.0))
    assert "@b(" in compiled[1].llvm_ir
