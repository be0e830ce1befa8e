"""Exported functions give eager's results: through the library, and in a C program."""

from __future__ import annotations

import copy
import subprocess

import pytest
import torch
from torch.nn import functional as F

import capture
from tests.capture.exporting.c_programs import need_tools, run_in_c
from tests.capture.exporting.models import MODELS


def chain(x, y):
    return (torch.sin(x) * y + torch.exp(-x.abs())).clamp(min=0.1)


def reductions(x):
    return x.sum(0), x.mean(1, keepdim=True), x.argmax(1), x.amin(), x.var(1), x.cumsum(1)


def integers(i, j):
    return i * j + 3, i // (j.abs() + 1), i % 7 == 0, i ^ j


def halves(x, y):
    return x @ y.to(x.dtype), x * 2 + 1, F.softmax(x, -1)


def table(x, i):
    return F.embedding(i, x), x[i, :2], torch.gather(x, 0, i.view(-1, 1).expand(-1, 4))


def views(x):
    y = x * 2
    return y, y.t(), y[1:], y


def writes(x, cache):
    cache[:, 1] = x
    cache.mul_(2)
    return cache, cache.sum()


def nested(given, factor):
    return {"sum": given["a"] + given["b"][0] * factor, "none": None, "rest": [given["b"][0], 3.5]}


def products(a, b, c):
    return a @ b, torch.bmm(c, c.transpose(1, 2)), torch.addmm(a, a, b, beta=0.5, alpha=2), b.t() @ a[0]


def convolutions(x, w, t):
    return (
        F.conv2d(x, w, stride=2, padding=1),
        F.conv2d(x, w, dilation=2, padding=(2, 1)),
        F.conv_transpose2d(x, t, stride=2, padding=1, output_padding=1),
        F.conv1d(x[:, :, 0], w[:, :, 0], padding=1),
        F.avg_pool2d(x, 2),
        F.interpolate(x, scale_factor=2),
    )


def no_tensor_result(x):
    return x.sum(), None, 2


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def strided(x):
    return x.t() + 1, x[::2].exp()


def repeated(x):
    return x * 2, x.sum(0)


FUNCTIONS = {
    chain: lambda: (torch.randn(5, 33), torch.randn(33)),
    reductions: lambda: (torch.randn(6, 40),),
    integers: lambda: (torch.randint(-50, 50, (40,)), torch.randint(-5, 5, (40,))),
    halves: lambda: (torch.randn(6, 8).bfloat16(), torch.randn(8, 4)),
    table: lambda: (torch.randn(9, 4, dtype=torch.float64), torch.tensor([3, 8, 0])),
    views: lambda: (torch.randn(3, 4),),
    writes: lambda: (torch.randn(4), torch.randn(4, 3)),
    nested: lambda: ({"a": torch.randn(3), "b": (torch.randn(3),)}, 2.5),
    products: lambda: (torch.randn(8, 8), torch.randn(8, 8), torch.randn(3, 4, 5)),
    convolutions: lambda: (torch.randn(2, 4, 9, 10), torch.randn(6, 4, 3, 3), torch.randn(4, 2, 3, 3)),
    no_tensor_result: lambda: (torch.randn(4),),
    attention: lambda: tuple(torch.randn(2, 3, 7, 8) for _ in range(3)),
    strided: lambda: (torch.randn(8, 10)[:, ::2],),
    repeated: lambda: (torch.randn(1, 4).expand(6, 4),),
}


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=2e-5, atol=2e-5, check_stride=True)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_loaded_function_gives_eagers_results(function, tmp_path):
    torch.manual_seed(0)
    args = FUNCTIONS[function]()
    wanted_args, found_args = copy.deepcopy(args), copy.deepcopy(args)
    exported = capture.export(function, args)
    assert_same(args, wanted_args)  # the call of export saw copies
    need_tools("x86-64")
    exported.save(str(tmp_path / "out"))
    loaded = capture.load(str(tmp_path / "out"))
    wanted, found = function(*wanted_args), loaded(*found_args)
    if function is halves:  # the product adds up in another order before it is rounded
        found, wanted = list(found), list(wanted)
        torch.testing.assert_close(found.pop(0), wanted.pop(0), rtol=0.02, atol=0.02)
    close(found, wanted)
    close(found_args, wanted_args)


def assert_same(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


def test_results_share_memory_as_in_eager(tmp_path):
    need_tools("x86-64")
    capture.export(views, (torch.ones(3, 4),)).save(str(tmp_path / "out"))
    first, second, third, fourth = capture.load(str(tmp_path / "out"))(torch.ones(3, 4))
    assert first.data_ptr() == second.data_ptr() == fourth.data_ptr()
    assert third.data_ptr() == first[1:].data_ptr()
    capture.export(writes, (torch.ones(4), torch.ones(4, 3))).save(str(tmp_path / "writes"))
    cache = torch.ones(4, 3)
    assert capture.load(str(tmp_path / "writes"))(torch.ones(4), cache)[0] is cache
    assert cache._version == 1


@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_a_c_program(name, tmp_path):
    torch.manual_seed(0)
    model, args = MODELS[name]()
    results = run_in_c(capture.export(model, args), list(args), tmp_path)
    with torch.no_grad():
        wanted = model(*args)
    close(results, list(wanted) if isinstance(wanted, tuple) else [wanted])


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v2"])
def test_lower_levels_in_a_c_program(level, tmp_path):
    torch.manual_seed(0)
    model, args = MODELS["mlp"]()
    exported = capture.export(model, args, target="x86-64", cpu=level)
    with torch.no_grad():
        close(run_in_c(exported, list(args), tmp_path), [model(*args)])


def test_parameters_as_arguments(tmp_path):
    torch.manual_seed(0)
    model, args = MODELS["mlp"]()
    exported = capture.export(model, args, parameters="arguments")
    assert exported.native.constant_bytes == 0
    assert "const float *_0_weight" in exported.header
    parameters = [*args, *(value.detach() for value in model.state_dict().values())]
    with torch.no_grad():
        wanted = model(*args)
        close(run_in_c(exported, parameters, tmp_path), [wanted])
        loaded = capture.load(str(tmp_path / "program"))
        close(loaded(*args, parameters=model.state_dict()), wanted)
        with pytest.raises(TypeError, match="'0.weight'"):
            loaded(*args)


def pointwise_and_rows(x, y):
    z = F.softmax(x * y, -1) + torch.tanh(x) * F.gelu(y)
    return F.layer_norm(z, (33,)), z.sum(0), torch.exp(z), (z > 0.5) & (x < y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_bit_for_bit_as_compiled(dtype, tmp_path):
    need_tools("x86-64")
    torch.manual_seed(0)
    args = torch.randn(20, 33).to(dtype), torch.randn(20, 33).to(dtype)
    capture.export(pointwise_and_rows, args).save(str(tmp_path / "out"))
    loaded = capture.load(str(tmp_path / "out"))(*args)
    assert_same(loaded, capture.compile(pointwise_and_rows)(*args))


def test_texts():
    exported = capture.export(chain, FUNCTIONS[chain]())
    assert "define i32 @chain(ptr %a0, ptr %a1, ptr %m0, ptr %workspace)" in exported.llvm
    assert "define i32 @chain(" in exported.optimized_llvm
    assert "chain:" in exported.asm
    assert exported.object.startswith(b"\x7fELF")
    assert "int32_t chain(const float *x, const float *y, float *out0, void *workspace);" in exported.header


def test_only_libm_is_undefined(tmp_path):
    need_tools("x86-64")
    capture.export(chain, FUNCTIONS[chain](), cpu="x86-64-v3", target="x86-64").save(str(tmp_path / "out"))
    done = subprocess.run(["nm", "-u", "chain.o"], cwd=tmp_path / "out", capture_output=True, text=True)
    assert done.stdout.split() == ["U", "sinf"]
