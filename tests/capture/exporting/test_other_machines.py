"""Exported models on other machines: linked by cross compilers, run by qemu and Node."""

from __future__ import annotations

import pytest
import torch

import capture
from codegen.export.example import TOOLS
from tests.capture.exporting.c_programs import run_in_c
from tests.capture.exporting.models import MODELS

OTHERS = [name for name in [*TOOLS, "wasm32"] if name != "x86-64"]


class Vectors(torch.nn.Module):
    """Its parameters lie among its pointers, which have another size on other machines."""

    def __init__(self):
        super().__init__()
        self.line = torch.nn.ConvTranspose1d(3, 4, 3, padding=1)

    def forward(self, x):
        return self.line(x), x.mean(1)


def calls_libm(x, y):
    return (
        torch.sin(x) * y + torch.erf(x),
        torch.log1p(y.abs()),
        x.double().exp(),
        (x * 10).to(torch.int64) // 3,
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("machine", OTHERS)
def test_a_model_on_another_machine(machine, name, tmp_path):
    torch.manual_seed(0)
    model, args = MODELS[name]()
    results = run_in_c(capture.export(model, args, target=machine), list(args), tmp_path)
    with torch.no_grad():
        wanted = model(*args)
    wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
    torch.testing.assert_close(results, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("machine", OTHERS)
def test_functions_of_libm_and_wide_integers(machine, tmp_path):
    torch.manual_seed(0)
    args = torch.randn(5, 13), torch.randn(13)
    results = run_in_c(capture.export(calls_libm, args, target=machine), list(args), tmp_path)
    torch.testing.assert_close(results, list(calls_libm(*args)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("machine", OTHERS)
def test_plain_loops_find_their_pointers(machine, tmp_path):
    torch.manual_seed(0)
    model, x = Vectors().eval(), torch.randn(2, 3, 17)
    results = run_in_c(capture.export(model, (x,), target=machine), [x], tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(results, list(model(x)), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "machine, text",
    [
        ("x86-64", "mulps"),
        ("aarch64", "fmla"),
        ("armv7", "vmul.f32"),
        ("riscv64", "fmadd.s"),
        ("wasm32", "f32x4.mul"),
    ],
)
def test_code_is_written_without_tools(machine, text):
    model, args = MODELS["mlp"]()
    exported = capture.export(model, args, target=machine)
    kinds = {"wasm32": b"\0asm"}
    assert exported.object.startswith(kinds.get(machine, b"\x7fELF"))
    assert text in exported.asm
