"""The loader of object files: what it runs, what it leaves to LLVM, and that memory is given back."""

from __future__ import annotations

import ctypes
import gc
import math

import pytest

from codegen.launch import jit, object_code, symbols
from codegen.llvm.compiler import compiler_of
from codegen.llvm.target import Target

TEXT = """
@numbers = private constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
define double @picked(i64 %i) nounwind {
  %place = getelementptr double, ptr @numbers, i64 %i
  %x = load double, ptr %place
  %y = call double @sin(double %x)
  %z = call double @plain(double %y)
  ret double %z
}
define double @plain(double %x) nounwind noinline {
  %y = fmul double %x, 0.3
  ret double %y
}
declare double @sin(double) nounwind
"""


@pytest.fixture(autouse=True)
def on_this_processor() -> None:
    if Target.host().architecture != "x86_64":
        pytest.skip("other processors use LLVM's linker")


def compiled(text: str) -> bytes:
    return compiler_of(Target.host()).object_file(text, is_scheduled=False)


def test_constants_calls_and_functions_of_other_libraries() -> None:
    code = object_code.load(compiled(TEXT), symbols.address_of)
    assert code is not None
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code["picked"])
    assert [function(i) for i in range(4)] == [math.sin(i + 1.5) * 0.3 for i in range(4)]
    assert code["plain"] != code["picked"]
    with pytest.raises(KeyError):
        code["absent"]


@pytest.mark.parametrize(
    "text",
    [
        "@state = global i32 7\ndefine i32 @f() nounwind {\n  %x = load i32, ptr @state\n  ret i32 %x\n}",
        "define i32 @f() uwtable {\n  ret i32 7\n}",
    ],
    ids=["a variable", "tables for exceptions"],
)
def test_what_kernels_do_not_have_is_left_to_llvm(text: str) -> None:
    file = compiled(text)
    assert object_code.load(file, symbols.address_of) is None
    linked = jit._link(file, text, ["f"])
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(linked["f"])() == 7


@pytest.mark.parametrize("file", [b"", b"\x7fELF", b"no object file" * 10], ids=["empty", "short", "other"])
def test_what_is_no_object_file(file: bytes) -> None:
    assert object_code.load(file, symbols.address_of) is None


def test_memory_is_given_back() -> None:
    file = compiled(TEXT)
    gc.collect()
    sizes = []
    for _ in range(3):
        codes = [object_code.load(file, symbols.address_of) for _ in range(50)]
        del codes
        with open("/proc/self/statm") as status:
            sizes.append(int(status.read().split()[0]))
    assert sizes[1] == sizes[2]
