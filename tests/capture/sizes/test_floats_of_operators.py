"""Operators that take a float which changes from call to call are compiled once for all its values."""

from __future__ import annotations

import functools
import math
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.backends.float_arguments import compile_with_floats
from capture.report.config import config
from codegen.compile_fx import compile_fx
from tests.capture.sizes.test_dynamic import graphs_of
from tests.capture.test_cases import outcome

WIDE = [torch.float32, torch.float64]
EDGES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 0.3, -0.3, 0.5, -0.5]


def draw_gumbels(x: torch.Tensor, tau: float, hard: bool) -> torch.Tensor:
    torch.manual_seed(1)
    return F.gumbel_softmax(x[3:], tau, hard, dim=0)


#: results that are equal to the last bit
EXACT = {
    "gt": lambda x, s: x > s,
    "ge, at the right": lambda x, s: s <= x,
    "lt, a function": lambda x, s: torch.lt(x, s),
    "le, at the right": lambda x, s: s >= x,
    "eq": lambda x, s: x == s,
    "ne": lambda x, s: torch.ne(x, s),
    "a mask": lambda x, s: torch.where(x.abs() < s, x * 2, x),
    "clamp_min": lambda x, s: x.clamp_min(s),
    "clamp_max_": lambda x, s: (x * 1).clamp_max_(s),
}
#: those of float32 and float64 alone
PRECISE = {
    "pow": lambda x, s: x**s,
    "pow, a function": lambda x, s: torch.pow(x, s),
    "pow_": lambda x, s: (x * 1).pow_(s),
    "pow, at the right": lambda x, s: s**x,
    "pow, a function at the right": lambda x, s: torch.pow(s, x),
    "remainder": lambda x, s: x % s,
    "fmod": lambda x, s: torch.fmod(x, s),
    "floor_divide": lambda x, s: x.detach() // s + x,
    "leaky_relu": lambda x, s: F.leaky_relu(x, s),
    "leaky_relu, in place": lambda x, s: F.leaky_relu(x * 1, s, True),
    "celu": lambda x, s: F.celu(x, s),
    "celu, in place": lambda x, s: F.celu(x * 1, s, True),
    "elu": lambda x, s: F.elu(x, alpha=s),
    "elu, in place": lambda x, s: F.elu(x * 1, s, inplace=True),
    "hardtanh": lambda x, s: F.hardtanh(x, -0.3, s),
    "hardtanh, both": lambda x, s: F.hardtanh(x, -s, s),
    "hardtanh, in place": lambda x, s: F.hardtanh(x * 1, -1, s, True),
    "softplus": lambda x, s: F.softplus(x, s),
    "softplus, its threshold": lambda x, s: F.softplus(x, 2, s),
    "softshrink": lambda x, s: F.softshrink(x, s),
    "hardshrink": lambda x, s: F.hardshrink(x, s),
    "rsub": lambda x, s: torch.rsub(x, x.detach(), alpha=s),
    "rsub of a number": lambda x, s: torch.rsub(x, s),
    "xlogy": lambda x, s: torch.xlogy(x, s),
    "xlogy, at the right": lambda x, s: torch.xlogy(s, x),
    "addmm": lambda x, s: torch.addmm(x[10:12], x[12:16].view(2, 2), x[16:20].view(2, 2), alpha=s),
    "addmm, both": lambda x, s: x[10:12].addmm(x[12:16].view(2, 2), x[16:20].view(2, 2), beta=s, alpha=s),
    "addmv": lambda x, s: torch.addmv(x[10:12], x[12:16].view(2, 2), x[16:18], beta=s),
    "addr": lambda x, s: torch.addr(x[10:14].view(2, 2), x[14:16], x[16:18], alpha=s),
    "baddbmm": lambda x, s: torch.baddbmm(x[10:12], x[12:20].view(2, 2, 2), x[20:28].view(2, 2, 2), beta=s),
    "addbmm": lambda x, s: torch.addbmm(x[10:12], x[12:20].view(2, 2, 2), x[20:28].view(2, 2, 2), alpha=s),
    "gumbel_softmax": lambda x, s: draw_gumbels(x, s, False),
    "gumbel_softmax, hard": lambda x, s: draw_gumbels(x, s, True),
    "normalize": lambda x, s: F.normalize(x[3:], dim=0, eps=s),
    "threshold": lambda x, s: F.threshold(x, s, 0),
    "threshold, its value": lambda x, s: F.threshold(x, 0.25, s),
}


def inputs_of(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(EDGES + [i / 7 for i in range(-30, 31)]).to(dtype)


def compiled_once(function: Any, x: torch.Tensor) -> tuple[Any, list[Any]]:
    """A function of (x, s), and the list of its compilations."""
    [(module, inputs)] = graphs_of(function, x, 2.5, dynamic=True)
    compiled = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(module)
        return compile_fx(module, inputs)

    graph = compile_with_floats(module, inputs, compile_graph)

    def run(x: torch.Tensor, s: float) -> Any:
        args = [x if isinstance(v, torch.Tensor) and v.ndim else v for v in inputs]
        args = [torch.tensor(s, dtype=torch.float64) if getattr(v, "ndim", 1) == 0 else v for v in args]
        torch.manual_seed(1)
        return graph(*args)[0]

    return run, compiled


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_exact_operators(dtype: torch.dtype, name: str) -> None:
    x = inputs_of(dtype)
    run, compiled = compiled_once(EXACT[name], x)
    for s in (2.5, 0.3, -0.0, math.inf, math.nan, 2049.0, 1.00390625):
        got, expected = run(x, s), EXACT[name](x, s)
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
    assert len(compiled) == 1


@pytest.mark.parametrize("name", PRECISE)
@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_results(dtype: torch.dtype, name: str) -> None:
    x = inputs_of(dtype)
    run, compiled = compiled_once(PRECISE[name], x)
    for s in (2.5, 0.3, 1 / 3, 2.0, 3.0):
        got, expected = run(x, s), PRECISE[name](x, s)
        torch.testing.assert_close(got, expected, equal_nan=True)
        zeros = expected == 0
        assert torch.equal(got[zeros].signbit(), expected[zeros].signbit())
    assert len(compiled) == 1


@pytest.mark.parametrize(
    "dtype, name", [*product(WIDE, EXACT | PRECISE), *product([torch.bfloat16], EXACT)], ids=str
)
def test_derivatives_and_errors(dtype: torch.dtype, name: str) -> None:
    """For all floats, also those that the operator refuses."""
    function = (EXACT | PRECISE)[name]

    def slopes(called: Any, s: float) -> Any:
        x = inputs_of(dtype)[1:].requires_grad_()  # at NaN, eager's answer depends on the place in the tensor
        result = called(x, s)
        if not result.requires_grad:
            return result
        return result, *torch.autograd.grad(result, x, torch.arange(1.0, len(x) + 1).to(dtype))

    captured = capture.compile(function, dynamic=True)
    with config.patch(raise_on_error=True):
        for s in (2.5, 0.3, 0.5, -0.5, 1.0, 0.0, -0.75, math.inf, 1e-60, 1e300, -1e300, 1e5, 2.0):
            got, *told = outcome(slopes, (captured, s))
            expected, *words = outcome(slopes, (function, s))
            assert told == words
            torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", ["lerp", "add", "mul", "clamp", "gt"])
def test_results_in_given_tensors(name: str) -> None:
    calls = {
        "lerp": lambda x, s, out: torch.lerp(x, x + 1, weight=1.0 - s, out=out),
        "add": lambda x, s, out: torch.add(x, x, alpha=s, out=out),
        "mul": lambda x, s, out: torch.mul(x, s, out=out),
        "clamp": lambda x, s, out: torch.clamp(x, max=s, out=out),
        "gt": lambda x, s, out: torch.gt(x, s, out=out),
    }
    function = calls[name]
    captured = capture.compile(function, dynamic=True)
    with config.patch(raise_on_error=True):
        for s in (0.25, 0.5, 0.75, 3.0):
            x = torch.arange(4.0)
            outs = [torch.zeros(4, dtype=torch.bool if name == "gt" else torch.float32) for _ in range(2)]
            torch.testing.assert_close(captured(x, s, outs[0]), function(x, s, outs[1]))
            assert torch.equal(*outs)


def test_a_float_that_is_read_from_a_tensor() -> None:
    def chosen(x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        bound = scores.mean().item()
        return torch.where(x > bound, x ** (bound + 1), x % (bound + 0.1)) * (bound <= x)

    captured = capture.compile(chosen, fullgraph=True)
    for scale in (0.5, 1.0, 2.0):
        given = torch.arange(1.0, 9.0), torch.arange(5.0) * scale
        torch.testing.assert_close(captured(*given), chosen(*given))


def test_lists_of_tensors() -> None:
    def averaged(kept: list[torch.Tensor], new: list[torch.Tensor], rate: float) -> list[torch.Tensor]:
        torch._foreach_mul_(kept, rate)
        torch._foreach_add_(kept, new, alpha=1 - rate)
        torch._foreach_lerp_(kept, new, rate)
        torch._foreach_mul_(kept, [rate, -rate])
        return torch._foreach_clamp_max(kept, rate)

    compiled = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(module)
        return compile_fx(module, inputs)

    backend = functools.partial(compile_with_floats, compile_graph=compile_graph)
    captured = capture.compile(averaged, backend=backend, dynamic=True, fullgraph=True)
    for rate in (0.25, 0.5, 0.75, 0.125):
        kept = [[torch.arange(float(n)) for n in (3, 5)] for _ in range(2)]
        new = [torch.ones(3), torch.ones(5)]
        torch.testing.assert_close(captured(kept[0], new, rate), averaged(kept[1], new, rate))
        torch.testing.assert_close(kept[0], kept[1])
    assert len(compiled) == 1
