"""Small graphs for every processor level: golden loop IR and LLVM text, and runs.

The levels of this machine are run; aarch64 is only assembled. The golden LLVM text is that of x86-64-v3:
narrow enough to read, with fused multiply-adds and Sleef. The loop IR does not depend on the level.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from codegen.kernel.printer import print_program
from codegen.llvm.compiler import compiler_of
from codegen.llvm.emit import emit
from codegen.llvm.target import LEVELS, Target
from tests.codegen.lowering_check import check, kernels, lowered


def randn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(5))


GRAPHS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Tensor, ...]]]] = {
    # pointwise
    "mul_add": (lambda x, y: x * y + 1, lambda: (randn(40), randn(40))),
    "scalar": (lambda x: x * 2 - 1, lambda: (randn(),)),
    "compare_select": (lambda x, y: torch.where(x > y, x, -y), lambda: (randn(40), randn(40))),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), lambda: (randn(40),)),
    "integers": (lambda x, y: x // y + x % y, lambda: (torch.arange(40) - 20, torch.full((40,), 3))),
    "bool_logic": (lambda x, y: (x > 0) & ~(y > 0), lambda: (randn(40), randn(40))),
    "double": (lambda x: x.double() * 3, lambda: (randn(40),)),
    "to_int": (lambda x: x.to(torch.int64), lambda: (randn(40),)),
    "float16": (lambda x: (x.half() + 1).float(), lambda: (randn(40),)),
    "bfloat16": (lambda x: (x.bfloat16() + 1).float(), lambda: (randn(40),)),
    "exp": (torch.exp, lambda: (randn(40),)),
    "log": (lambda x: torch.log(x.abs()), lambda: (randn(40),)),
    "tanh": (torch.tanh, lambda: (randn(40),)),
    "sigmoid": (torch.sigmoid, lambda: (randn(40),)),
    "silu": (F.silu, lambda: (randn(40),)),
    "sqrt_division": (lambda x: x / torch.sqrt(x * x + 1), lambda: (randn(40),)),
    "several_outputs": (lambda x: (x + 1, (x + 1) * 2), lambda: (randn(40),)),
    "in_place": (lambda x, y: x.copy_(x + y * 0.1), lambda: (randn(40), randn(40))),
    # broadcasting and views
    "row_broadcast": (lambda x, y: x + y, lambda: (randn(4, 24), randn(24))),
    "column_broadcast": (lambda x, y: x * y, lambda: (randn(4, 24), randn(4, 1))),
    "transposed": (lambda x, y: x.t() + y, lambda: (randn(32, 24), randn(24, 32))),
    "strided": (lambda x: x[::2, 1::2] * 2, lambda: (randn(8, 48),)),
    "flipped": (lambda x: x.flip(0) + 1, lambda: (randn(40),)),
    "joined": (lambda x, y: torch.cat([x + 1, y], 1), lambda: (randn(4, 8), randn(4, 3))),
    "padded": (lambda x: F.pad(x, (1, 2)) * 2, lambda: (randn(4, 8),)),
    "triangle": (lambda x: x.tril(), lambda: (randn(8, 8),)),
    "ramp": (lambda x: x + torch.arange(40), lambda: (randn(40),)),
    # indices
    "gathered": (lambda w, ids: w[ids] * 2, lambda: (randn(10, 16), torch.tensor([3, -1]))),
    "selected": (lambda w, ids: w.index_select(1, ids), lambda: (randn(4, 8), torch.tensor([3, 0]))),
    # reductions
    "total": (lambda x: x.sum(), lambda: (randn(100),)),
    "row_sum": (lambda x: x.sum(1), lambda: (randn(4, 40),)),
    "column_sum": (lambda x: x.sum(0), lambda: (randn(40, 32),)),
    "row_max": (lambda x: x.amax(1), lambda: (randn(4, 40),)),
    "row_argmax": (lambda x: x.argmax(1), lambda: (randn(4, 40),)),
    "any": (lambda x: (x > 2).any(), lambda: (randn(40),)),
    "variance": (lambda x: x.var(1), lambda: (randn(4, 40),)),
    "squared_error": (F.mse_loss, lambda: (randn(40), randn(40))),
    # the layers
    "softmax": (lambda x: torch.softmax(x, 1), lambda: (randn(4, 40),)),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (40,), w, b),
        lambda: (randn(4, 40), randn(40), randn(40)),
    ),
    "linear_relu": (lambda x, w, b: F.linear(x, w, b).relu(), lambda: (randn(4, 8), randn(6, 8), randn(6))),
    "adam": (
        lambda p, g, m: p.copy_(p - m.lerp(g, 0.1) / (g.abs().sqrt() + 1e-8) * 0.01),
        lambda: (randn(40), randn(40), randn(40)),
    ),
}


def program_of(name: str) -> Any:
    function, make = GRAPHS[name]
    return lowered(function, *make())[0]


@pytest.mark.parametrize("name", GRAPHS)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    program = program_of(name)
    texts = [emit(kernel, Target.level("x86-64-v3")) for kernel in kernels(program)]
    golden(f"graphs/{name}.loops", print_program(program))
    golden(f"graphs/{name}.ll", "\n".join(texts))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("level", [name for name in LEVELS if name.startswith("x86")])
def test_same_as_eager(name: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if LEVELS[level].vector_bytes > Target.host().vector_bytes:
        pytest.skip(f"this processor has no {level}")
    monkeypatch.setenv("CAPTURE_CPU", level)
    function, make = GRAPHS[name]
    check(function, *make(), no_calls=name != "linear_relu")


@pytest.mark.parametrize("name", GRAPHS)
def test_assembles_for_aarch64(name: str) -> None:
    target = Target.level("aarch64")
    for kernel in kernels(program_of(name)):
        text = emit(kernel, target)
        assert "x86" not in text, f"{kernel.name} is tied to another processor"
        compiler = compiler_of(target)
        assembly = compiler.machine.emit_assembly(compiler.optimised(text))
        assert re.search(r"^\s+ret$", assembly, re.MULTILINE)


def test_aarch64_code_uses_its_vectors() -> None:
    compiler = compiler_of(Target.level("aarch64"))
    (kernel,) = kernels(program_of("mul_add"))
    assembly = compiler.machine.emit_assembly(compiler.optimised(emit(kernel, Target.level("aarch64"))))
    assert re.search(r"fmul\s+v\d+\.4s|fmla\s+v\d+\.4s", assembly), assembly
