"""Sizes and ints that change: every case, call by call, eager against captured, and the number of graphs.

Also the effects that the symbols leave.
"""

from __future__ import annotations

import functools
import math
import operator
import random
import subprocess
import sys
from typing import Any, NamedTuple

import _capture
import pytest
import torch

import capture
from capture.backends import float_arguments, sized_graph
from capture.backends.float_arguments import compile_with_floats
from capture.report.config import config
from capture.report.counters import counters
from codegen.compile_fx import compile_for_sizes, compile_fx
from tests.capture.cases.sizes import (
    dynamic,
    dynamic_numbers,
    dynamic_operations,
    dynamic_texts,
    dynamic_transforms,
    dynamic_values,
)
from tests.capture.cases.sizes.dynamic_registry import CASES, DynamicCase, rows, tensor
from tests.capture.test_cases import Counting, outcome, same

MODULES = (
    dynamic,
    dynamic_numbers,
    dynamic_operations,
    dynamic_texts,
    dynamic_transforms,
    dynamic_values,
)


@pytest.fixture(autouse=True)
def fresh() -> Any:
    capture.reset()
    yield
    capture.reset()


def run(function: Any, calls: list[tuple[Any, ...]], **settings: Any) -> Counting:
    """Runs each call in eager and captured; returns the backend with its counts."""
    backend = Counting()
    captured = capture.compile(function, backend=backend, **settings)
    with config.patch(raise_on_error=True):
        for args in calls:
            expected, got = outcome(function, args), outcome(captured, args)
            assert got[1:] == expected[1:]
            assert same(got[0], expected[0]), (got[0], expected[0])
    return backend


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_case(case: DynamicCase) -> None:
    backend = run(case.function, case.calls, dynamic=case.dynamic)
    assert case.graphs is None or backend.graphs == case.graphs
    if case.ops is not None:
        assert backend.operations == case.ops


# --- what the graph gets ----------------------------------------------------------------------------------


def graphs_of(function: Any, *args: Any, **settings: Any) -> list[tuple[torch.fx.GraphModule, list[Any]]]:
    """(graph, example inputs) of each backend call."""
    seen = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        seen.append((module, list(inputs)))
        return module.forward

    with config.patch(raise_on_error=True):
        capture.compile(function, backend=backend, **settings)(*args)
    return seen


def test_symbols_are_placeholders_before_their_tensor() -> None:
    [(module, inputs)] = graphs_of(
        lambda x, y: x.sum() + y * x.shape[0], tensor(3, 4), tensor(5, 4), dynamic=True
    )
    names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    assert names == ["s0", "s1", "l_x_", "s2", "l_y_"]
    assert [v if isinstance(v, int) else tuple(v.shape) for v in inputs] == [3, 4, (3, 4), 5, (5, 4)]
    example = next(node for node in module.graph.nodes if node.name == "l_x_").meta["example_value"]
    assert all(isinstance(size, torch.SymInt) for size in example.shape)


def test_unused_symbols_are_no_placeholders() -> None:
    [(module, inputs)] = graphs_of(lambda x, n: (x + 1, n), tensor(3), 7, dynamic=True)
    assert [v if isinstance(v, int) else tuple(v.shape) for v in inputs] == [3, (3,)]


def test_arithmetic_nodes() -> None:
    [(module, _)] = graphs_of(lambda x: x.new_zeros((x.shape[0] + 1) * 2, 3), tensor(5, 4), dynamic=True)
    assert [node.target for node in module.graph.nodes if node.op.startswith("call")] == [
        operator.add,
        operator.mul,
        "new_zeros",
    ]


class DimBounds(NamedTuple):
    dim: int
    min: int
    max: int


def mark_for_torch_compile(x: torch.Tensor, dim: int) -> None:
    x._dynamo_dynamic_indices = {dim}  # type: ignore[attr-defined]


def by_another_tensor(x: torch.Tensor) -> torch.Tensor:
    return x + torch.ones(5, 4)


def by_a_branch(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] == 5 else x


def by_a_loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(x.shape[0]):
        x = x + 1
    return x


def by_a_view(x: torch.Tensor) -> torch.Tensor:
    return x.view(5, 2, 2)


FIXING = (by_another_tensor, by_a_branch, by_a_loop, by_a_view)


# --- marks ------------------------------------------------------------------------------------------------


def test_mark_dynamic() -> None:
    x = tensor(5, 4)
    capture.mark_dynamic(x, 0)
    assert run(lambda x: x * 2, [(x,), *rows(6, 7)]).graphs == 1


def test_mark_dynamic_with_bounds() -> None:
    x = tensor(5, 4)
    capture.mark_dynamic(x, 0, min=2, max=6)
    calls = [(x,), *rows(6, 2)]
    assert run(lambda x: x * 2, calls).graphs == 1
    assert run(lambda x: x * 3, [*calls, *rows(7)]).graphs == 2


def test_mark_dynamic_beside_its_bounds() -> None:
    x = tensor(9, 4)
    capture.mark_dynamic(x, 0, max=6)
    assert run(lambda x: x * 2, [(x,), (x,), *rows(9)]).graphs == 1


@pytest.mark.parametrize("mark", [capture.mark_dynamic, mark_for_torch_compile])
@pytest.mark.parametrize("fixed", FIXING, ids=lambda f: f.__name__)
def test_a_marked_size_that_the_program_fixes(fixed: Any, mark: Any) -> None:
    x = tensor(5, 4)
    mark(x, 0)
    captured = capture.compile(fixed, backend="eager")
    with pytest.raises(
        capture.ConstraintViolation, match=r"x.size\(0\) is marked as dynamic.* fixes it to 5 .*maybe_mark"
    ):
        captured(x)
    assert torch.equal(captured(tensor(5, 4)), fixed(tensor(5, 4)))
    y = tensor(5, 4)
    capture.maybe_mark_dynamic(y, 0)
    assert torch.equal(captured(y), fixed(y))


def test_a_size_is_marked_under_dynamic_false() -> None:
    x = tensor(5, 4)
    capture.mark_dynamic(x, 0)
    assert run(lambda x: x * 2, [(x,), *rows(6, 7)], dynamic=False).graphs == 1


def test_marked_sizes_that_branches_and_other_sizes_bound() -> None:
    x, y = tensor(5, 4), tensor(5, 4)
    capture.mark_dynamic(x, 0)
    capture.mark_dynamic(y, 0)
    assert (
        run(lambda x, y: x + y if x.shape[0] > 3 else x, [(x, y), (tensor(6, 4), tensor(6, 4))]).graphs == 1
    )


def test_marked_sizes_of_one_stay_numbers() -> None:
    x = tensor(1, 4)
    capture.mark_dynamic(x, 0)
    assert run(lambda x: x * 2, [(x,), *rows(6)]).graphs == 2


def test_marks_that_were_made_for_torch_compile() -> None:
    x = tensor(5, 4)
    x._dynamo_dynamic_indices = {0}
    x._dynamo_dynamic_range = {DimBounds(0, 2, 6)}
    x._dynamo_weak_dynamic_indices = {1}
    assert run(lambda x: x * 2, [(x,), (tensor(6, 4),), (tensor(2, 9),)]).graphs == 1
    assert run(lambda x: x * 3, [(x,), (tensor(7, 4),)]).graphs == 2
    x._dynamo_static_indices = {0, 1}
    assert run(lambda x: x * 4, [(x,), (tensor(6, 4),)], dynamic=True).graphs == 2


def test_mark_static() -> None:
    x = tensor(5, 4)
    capture.mark_static(x, 0)
    assert [type(v) for v in graphs_of(lambda x: x * 2, x, dynamic=True)[0][1]] == [int, torch.Tensor]
    capture.mark_static(x)
    assert [type(v) for v in graphs_of(lambda x: x * 3, x, dynamic=True)[0][1]] == [torch.Tensor]


# --- modules ----------------------------------------------------------------------------------------------


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = 3
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("table", tensor(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.factor + self.table[: x.shape[0]]


def test_tensors_of_a_module_stay_static() -> None:
    module = Scaled()
    backend = Counting()
    captured = capture.compile(module, backend=backend, dynamic=True)
    for n in (2, 3, 5, 7):
        assert torch.equal(captured(tensor(n, 4)), module(tensor(n, 4)))
    assert backend.graphs == 1


def test_ints_of_a_module_are_constants() -> None:
    module = Scaled()
    backend = Counting()
    captured = capture.compile(module, backend=backend)
    for factor in (3, 4, 5):
        module.factor = factor
        assert torch.equal(captured(tensor(3, 4)), module(tensor(3, 4)))
    assert backend.graphs == 3


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_gradients(backend: str) -> None:
    def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return ((x @ w).tanh() / x.shape[0]).sum()

    captured = capture.compile(loss, backend=backend, dynamic=True)
    for n in (3, 5, 6, 3):
        w = tensor(4, 2).requires_grad_()
        (expected,) = torch.autograd.grad(loss(tensor(n, 4), w), w)
        (got,) = torch.autograd.grad(captured(tensor(n, 4), w), w)
        torch.testing.assert_close(got, expected)


def test_written_inputs() -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        x.add_(x.shape[0])
        return x * 2

    backend = Counting()
    captured = capture.compile(write, backend=backend, dynamic=True)
    for n in (2, 3, 5):
        x, y = tensor(n, 4), tensor(n, 4)
        assert torch.equal(captured(x), write(y))
        assert torch.equal(x, y)
    assert backend.graphs == 1


@pytest.mark.parametrize("backend", ["llvm", "aot_eager"])
def test_a_write_that_autograd_sees(backend: str) -> None:
    weight = torch.ones(4, requires_grad=True)

    def write(x: torch.Tensor) -> torch.Tensor:
        x[:2] *= weight
        return x

    captured = capture.compile(write, backend=backend, dynamic=True)
    for n in (3, 5, 6):
        x, y = tensor(n, 4), tensor(n, 4)
        (expected,) = torch.autograd.grad(write(y).sum(), weight)
        (got,) = torch.autograd.grad(captured(x).sum(), weight)
        assert x.requires_grad and torch.equal(got, expected)


def test_a_write_to_memory_that_inputs_share() -> None:
    def write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        before = y * 1
        x.add_(1)
        return before + y

    captured = capture.compile(write, dynamic=True)
    for n in (3, 5, 6):
        x, y = tensor(n, 4), tensor(n, 4)
        assert torch.equal(captured(x, x[1:]), write(y, y[1:]))
        assert torch.equal(x, y)


def test_the_storage_offset_is_guarded() -> None:
    base = tensor(9, 4)
    assert (
        run(
            lambda x: x + x.storage_offset(), [(base[2:4],), (base[3:5],), (base[2:4],)], dynamic=False
        ).graphs
        == 2
    )


# --- native code ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["views", "positions", "joining", "slicing", "arithmetic_that_reaches_the_graph", "an_int_argument"],
)
def test_native_code_for_each_size(name: str) -> None:
    case = next(case for case in CASES if case.function.__name__ == name)
    captured = capture.compile(case.function, dynamic=True)
    for args in [*case.calls, *case.calls]:
        torch.testing.assert_close(captured(*args), case.function(*args))


def test_one_compilation_for_a_float_beside_tensors() -> None:
    def scaled(x: torch.Tensor, s: float, w: torch.Tensor) -> torch.Tensor:
        return (x * (s + 1) - s * 2).add(w, alpha=s) / s

    [(module, inputs)] = graphs_of(scaled, tensor(3), 2.5, tensor(3), dynamic=True)
    compiled = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(module)
        return compile_fx(module, inputs)

    graph = compile_with_floats(module, inputs, compile_graph)
    for s in (2.5, 3.5, -1.0):
        floats = [v if isinstance(v, int) or v.ndim else torch.tensor(s, dtype=torch.float64) for v in inputs]
        torch.testing.assert_close(graph(*floats)[0], scaled(tensor(3), s, tensor(3)))
    assert len(compiled) == 1


def set_item(x: torch.Tensor, s: float) -> Any:
    x[1] = s
    x[2, torch.tensor([0, 2])] = s
    x[x > 5] = s
    return x * 1


#: A float that is put among the elements of a tensor, or that bounds them.
STORED = {
    "an item": set_item,
    "fill_": lambda x, s: x[1:].fill_(s),
    "masked_fill": lambda x, s: x.masked_fill(x > 2, s),
    "masked_fill_": lambda x, s: x.masked_fill_(x > 2, s) + 1,
    "where": lambda x, s: torch.where(x > 2, x, s),
    "where, first": lambda x, s: torch.where(x > 2, s, x),
    "where, a method": lambda x, s: x.where(x > 2, s),
    "where, of 0-d tensors": lambda x, s: torch.where(x[0, 0] > 2, x[0, 1].float(), s),
    "clamp": lambda x, s: x.clamp(min=s),
    "clamp_": lambda x, s: x.clamp_(-s, s + 1) * 1,
    "full": lambda x, s: x + torch.full((4,), s),
    "full of a dtype": lambda x, s: torch.full((2, 3), s, dtype=torch.bfloat16),
    "full_like": lambda x, s: torch.full_like(x.t(), s),
    "full_like of a dtype": lambda x, s: torch.full_like(x, s, dtype=torch.float64),
    "new_full": lambda x, s: x.new_full((3,), s),
}


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_one_compilation_for_a_float_among_elements(dtype: torch.dtype, name: str) -> None:
    function = STORED[name]
    [(module, inputs)] = graphs_of(function, tensor(3, 4).to(dtype), 2.5, dynamic=True)
    compiled = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(module)
        return compile_fx(module, inputs)

    graph = compile_with_floats(module, inputs, compile_graph)
    for s in (2.5, 1 / 3, -0.0, float("inf"), float("nan"), 16777217.0, 1.00390625):
        args = [tensor(3, 4).to(dtype) if isinstance(v, torch.Tensor) and v.ndim else v for v in inputs]
        args = [torch.tensor(s, dtype=torch.float64) if getattr(v, "ndim", 1) == 0 else v for v in args]
        got, expected = graph(*args)[0], function(tensor(3, 4).to(dtype), s)
        assert got.dtype == expected.dtype and got.stride() == expected.stride()
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
    assert len(compiled) == 1


#: A float that depends on a number, such as the count of steps.
OF_NUMBERS = {
    "a decay": lambda x, n: x * 0.9**n,
    "a corrected mean": lambda x, n: x / (1 - 0.9 ** (n + 1)) ** 0.5,
    "a corrected square": lambda x, n: x / math.sqrt(1 - math.pow(0.9, n + 1)) * -math.pow(1.1, -n),
    "a cosine": lambda x, n: x * (0.5 * (1 + math.cos(math.pi * n / 50))),
    "an exponential": lambda x, n: x + math.exp(-n / 7) * x.size(0),
    "an angle": lambda x, n: x * math.sin(n * 0.1) + math.tanh(n) - math.atan(n),
    "a logarithm": lambda x, n: (x - math.log(n + 1)).addcmul(x, x, value=math.log10(n + 2)),
    "a warm-up": lambda x, n: x * min(1.0, n / 20) + max(n / 9, 0.5),
    "a distance": lambda x, n: torch.where(x > 0, x, abs(n / 2 - 3)),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("number", [int, float])
def test_one_compilation_for_a_float_of_a_number(name: str, number: type) -> None:
    function = OF_NUMBERS[name]
    compiled = []

    def refuse(*_: Any) -> Any:
        raise AssertionError("compiled for one number")

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(module)
        graph = compile_for_sizes(module, inputs)
        assert graph is not None
        return sized_graph.SizedGraph(lambda: module, inputs, refuse, graph)

    backend = functools.partial(compile_with_floats, compile_graph=compile_graph)
    captured = capture.compile(function, backend=backend, dynamic=True)
    for n in (3, 5, 7, 30, 4, 1000, 2):
        x = torch.randn(n % 4 + 3, dtype=torch.float64, requires_grad=True)
        found, expected = captured(x, number(n)), function(x, number(n))
        torch.testing.assert_close(found, expected, rtol=1e-14, atol=1e-14)
        slopes = [torch.autograd.grad(result.sum(), x)[0] for result in (found, expected)]
        torch.testing.assert_close(*slopes, rtol=1e-14, atol=1e-14)
    assert len(compiled) == 1


@pytest.mark.parametrize("name", ["a cosine", "an angle", "an exponential"])
def test_a_float_without_a_result(name: str) -> None:
    """Python raises for an infinity, and for what is too large."""
    function = {"an exponential": lambda x, s: x * math.exp(s)}.get(name, OF_NUMBERS[name])
    captured = capture.compile(function, dynamic=True)
    for s in (0.5, 1.5, math.inf, -math.inf, math.nan, 800.0, 2.5):
        assert str(outcome(captured, (tensor(3), s))) == str(outcome(function, (tensor(3), s)))


@pytest.mark.parametrize("kind", [int, float])
def test_a_missing_attribute_fixes_no_number(kind: type) -> None:
    function = lambda x, n: x if hasattr(n, "values") else x * n + getattr(n, "device", 1)  # noqa: E731
    captured = capture.compile(function, dynamic=True)
    for n in map(kind, range(2, 6)):
        assert torch.equal(captured(tensor(3), n), function(tensor(3), n))
    assert not counters["recompiles"]


@config.patch(raise_on_error=True)
def test_arithmetic_on_a_float_that_a_guard_has_fixed() -> None:
    function = lambda x, base, n, s: x * (1 - base**n) * (1.0 - base) * -s  # noqa: E731
    captured = capture.compile(function, dynamic=True)
    for n in (2, 3, 17, 18):  # a base that changes has exponents up to 16
        arguments = tensor(3), 0.5, n, n / 4
        torch.testing.assert_close(captured(*arguments), function(*arguments))


@config.patch(raise_on_error=True)
def test_decays_of_bases_that_change() -> None:
    function = lambda x, base, n: x * (1 - math.pow(base, n)) + base**n - x / (1 - 0.0**n)  # noqa: E731
    captured = capture.compile(function, dynamic=True)
    for n in range(2, 40):
        arguments = tensor(3), 0.5 + n / 100, n
        torch.testing.assert_close(captured(*arguments), function(*arguments))
    assert not counters["recompiles"]
    for base, n in ((0.5, 0), (1.0, 3), (1.5, 2000), (-0.5, 3), (0.0, -1), (2.0, -3)):
        assert str(outcome(captured, (tensor(3), base, n))) == str(outcome(function, (tensor(3), base, n)))


def test_integers_times_a_float_of_a_number() -> None:
    """The operator takes the number itself."""
    function = lambda x, n: x * 0.9**n  # noqa: E731
    captured = capture.compile(function, dynamic=True)
    for n in range(2, 9):
        torch.testing.assert_close(captured(torch.arange(4), n), function(torch.arange(4), n))


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_a_float_that_is_too_large(dtype: torch.dtype, name: str) -> None:
    def outcome(function: Any, s: float) -> Any:
        x = tensor(3, 4).to(dtype)
        try:
            return function(x, s), x
        except RuntimeError as error:
            return str(error), x

    captured = capture.compile(STORED[name], dynamic=True)
    with config.patch(raise_on_error=True):
        for s in (2.5, 1e300, -1e300, 1e38, 1e5, float("-inf"), 0.5):
            assert str(outcome(captured, s)) == str(outcome(STORED[name], s))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool], ids=str)
def test_a_float_among_integers(dtype: torch.dtype) -> None:
    """torch converts the number itself, not a tensor of it."""
    for function in (set_item, STORED["where"], STORED["masked_fill"], STORED["full_like"]):
        captured = capture.compile(function, dynamic=True)
        for s in (2.5, 16777217.0, 0.0):
            x, y = tensor(3, 4).to(dtype), tensor(3, 4).to(dtype)
            expected = function(x, s)
            got = captured(y, s)
            assert got.dtype == expected.dtype and torch.equal(got, expected) and torch.equal(x, y)


def test_values_that_come_only_once_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def signed(x: torch.Tensor, s: float) -> torch.Tensor:
        return torch.copysign(x - 1, s)

    [(module, inputs)] = graphs_of(signed, tensor(9), 0.5, dynamic=True)
    compiled = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(module)
        return compile_fx(module, inputs)

    graph = compile_with_floats(module, inputs, compile_graph)

    def check(s: float) -> int:
        args = [v if isinstance(v, int) or v.ndim else torch.tensor(s, dtype=torch.float64) for v in inputs]
        torch.testing.assert_close(graph(*args)[0], signed(tensor(9), s))
        return len(compiled)

    assert [check(s / 100) for s in range(90)][-1] == float_arguments.PROMPT
    assert [check(2.0) for _ in range(10)][-1] == float_arguments.PROMPT + 1


@pytest.mark.parametrize("backend", ["llvm", "aot_eager"])
def test_a_compilation_for_each_value_that_an_operator_needs(backend: str, monkeypatch: Any) -> None:
    def signed(x: torch.Tensor, s: float, scale: float) -> torch.Tensor:
        return torch.copysign(x - 1, s + 1) * (scale - s)

    monkeypatch.setattr(float_arguments, "LIMIT", 2)
    captured = capture.compile(signed, backend=backend, dynamic=True, fullgraph=True)
    with config.patch(raise_on_error=True):
        for s in (0.5, 0.25, 0.5, 0.0, -0.0, 0.125):
            for scale in (2.0, 3.0):
                expected = signed(tensor(9), s, scale)
                torch.testing.assert_close(captured(tensor(9), s, scale), expected)
    assert len(_capture.entries(signed.__code__)) == 1


def test_floats_in_tensors_are_compiled_once() -> None:
    def made(x: torch.Tensor, f: float) -> tuple[torch.Tensor, ...]:
        return torch.tensor([f, 2]) * x[0, :2], torch.tensor([[f], [3]], dtype=torch.float64), torch.tensor(f)

    [(module, inputs)] = graphs_of(made, tensor(3, 4), 2.5, dynamic=True)
    compiled = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(module)
        return compile_fx(module, inputs)

    graph = compile_with_floats(module, inputs, compile_graph)
    for f in (1.5, 0.25, float("inf"), -0.0, 1e300):
        floats = [v if isinstance(v, int) or v.ndim else torch.tensor(f, dtype=torch.float64) for v in inputs]
        for got, expected in zip(graph(*floats), made(tensor(3, 4), f)):
            assert got.dtype == expected.dtype
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
    assert len(compiled) == 1


def test_ints_made_of_floats_are_compiled_for_each() -> None:
    captured = capture.compile(lambda f: torch.tensor([f], dtype=torch.int64) + 1, dynamic=True)
    for f in (1.5, -2.7, 8.0):
        assert captured(f).tolist() == [int(f) + 1]
    with pytest.raises(RuntimeError, match="without overflow"):
        captured(float("nan"))


@pytest.mark.parametrize("backend", ["llvm", "eager"])
def test_gradients_of_autograd_functions_that_read_sizes(backend: str) -> None:
    apply = dynamic_transforms.sizes_in_autograd_functions
    captured = capture.compile(apply, backend=backend, dynamic=True, fullgraph=True)
    with config.patch(raise_on_error=True):
        for n in (2, 3, 5, 4):
            theirs, ours = tensor(n, 4).requires_grad_(), tensor(n, 4).requires_grad_()
            for function, x in ((apply, theirs), (captured, ours)):
                (function(x)[0] ** 2).sum().backward()
            torch.testing.assert_close(ours.grad, theirs.grad)
    assert len(_capture.entries(apply.__code__)) == 1


def test_gradients_beside_a_float() -> None:
    def loss(w: torch.Tensor, s: float) -> torch.Tensor:
        return (torch.nn.functional.softplus(w, s) * s).sum()

    captured = capture.compile(loss, dynamic=True)
    for s in (0.5, 2.0, 3.5):
        w = tensor(4, 2).requires_grad_()
        (expected,) = torch.autograd.grad(loss(w, s), w)
        (got,) = torch.autograd.grad(captured(w, s), w)
        torch.testing.assert_close(got, expected)


def test_numbers_of_the_frames_own_closure() -> None:
    count, scale = 1, 0.5

    def step(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += 1
        return x * scale + count

    backend = Counting()
    captured = capture.compile(step, backend=backend)
    for expected in (2, 3, 4, 5):
        scale = 0.5 * expected
        assert torch.equal(captured(tensor(3)), tensor(3) * scale + expected)
        assert count == expected
    assert backend.graphs == 2


def doubling_graph() -> tuple[Any, list[int]]:
    """`x * 2` compiled for each size, and the list of those sizes."""
    compiled: list[int] = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        compiled.append(inputs[0])
        return module.forward

    [(module, inputs)] = graphs_of(lambda x: x * 2, tensor(3), dynamic=True)
    return sized_graph.SizedGraph(lambda: module, inputs, compile_graph), compiled


def test_sizes_past_the_limit_run_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sized_graph, "LIMIT", 2)
    graph, compiled = doubling_graph()
    for n in (3, 4, 5, 4, 6):
        assert torch.equal(graph(n, tensor(n))[0], tensor(n) * 2)
    assert compiled == [3, 4]


def test_sizes_that_come_back_are_compiled(caplog: pytest.LogCaptureFixture) -> None:
    graph, compiled = doubling_graph()
    with caplog.at_level("INFO", "capture.codegen"):
        for n in (*range(3, 30), *[20] * (sized_graph.AGAIN - 1), 40, 20, 3):
            assert torch.equal(graph(n, tensor(n))[0], tensor(n) * 2)
    assert compiled == [3, 4, 5, 6, 20]
    assert "operator by operator for the sizes (40,)" in caplog.text


class Odd:
    """A form for the ints with one remainder."""

    def __init__(self, remainder: int) -> None:
        self.remainder = remainder
        self.asked: list[int] = []

    def graph_for(self, key: tuple[int, ...], add_template: Any) -> Any:
        self.asked.append(key[0])
        fits = key[0] % 6 == self.remainder
        return (lambda *args: (self.remainder,)) if fits else None


def test_sizes_that_do_not_fit_a_form_get_another() -> None:
    made: list[Odd] = []

    def another(inputs: Any) -> Odd:
        made.append(Odd(inputs[0] % 6))
        return made[-1]

    [(module, inputs)] = graphs_of(lambda x: x * 2, tensor(3), dynamic=True)
    numbers: list[int] = []

    def compile_graph(module: Any, inputs: Any) -> Any:
        numbers.append(inputs[0])
        return lambda *args: ("a number",)

    graph = sized_graph.SizedGraph(lambda: module, inputs, compile_graph, Odd(3), another=another)
    results = [graph(n, tensor(n))[0] for n in (3, 9, 4, 10, 16, 5, 6, 12, 7, 8, 22)]
    assert results == [3, 3, 4, 4, 4, 5, 0, 0, "a number", "a number", 4]
    assert [form.remainder for form in made] == [4, 5, 0]
    assert numbers == [7, 8]
    assert made[0].asked[:3] == [4, 10, 16]
    assert graph.forms[0] is made[0], "the form that was right is asked first"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The sizes for which graphs with symbolic sizes are compiled."""
    found = []
    compile_graph = sized_graph.SizedGraph.compile

    def count(self: Any, key: tuple[int, ...], args: Any) -> Any:
        found.append(key)
        return compile_graph(self, key, args)

    monkeypatch.setattr(sized_graph.SizedGraph, "compile", count)
    return found


@pytest.mark.parametrize("wants_grad", [False, True])
def test_sizes_without_a_common_form(wants_grad: bool, compilations: list[tuple[int, ...]]) -> None:
    def function(x: torch.Tensor, n: int) -> torch.Tensor:
        return (x * torch.tensor([x.shape[0], n], dtype=torch.int32)[:, None]).sin()

    captured = capture.compile(function, dynamic=True)
    draw = random.Random(0)
    for _ in range(40):
        x, n = torch.randn(2, draw.randint(2, 9), requires_grad=wants_grad), draw.randint(2, 1000)
        got, expected = captured(x, n), function(x, n)
        assert torch.allclose(got, expected)
        if wants_grad:
            [left], [right] = (torch.autograd.grad(result.sum(), x) for result in (got, expected))
            assert torch.allclose(left, right)
    assert len(compilations) == sized_graph.PROMPT


TENSORS_OF_SIZES = {
    "ints": lambda n, k: torch.tensor([n, k, 3]),
    "a number": lambda n, k: torch.tensor(k),
    "nested": lambda n, k: torch.tensor([[n, k], [2 * k - 1, 4]]),
    "ints and floats": lambda n, k: torch.tensor([[n, k], [2 * k, 4.5]]),
    "float32": lambda n, k: torch.tensor([n, k * 16777217], dtype=torch.float32),
    "float64": lambda n, k: torch.tensor([n, k * 16777217], dtype=torch.float64),
    "written to": lambda n, k: torch.tensor([k, 0]).add_(n).mul_(2),
    "an index": lambda n, k: torch.arange(n)[torch.tensor([k - 2, 0])],
    "a mask": lambda n, k: torch.arange(n)[None] >= torch.tensor([k, k - 2])[:, None],
}


@pytest.mark.parametrize("name", TENSORS_OF_SIZES)
def test_tensors_of_sizes_compile_once(name: str, compilations: list[tuple[int, ...]]) -> None:
    def function(x: torch.Tensor, k: int) -> Any:
        return TENSORS_OF_SIZES[name](x.shape[0], k), x + 1

    captured = capture.compile(function, dynamic=True)
    for n in (3, 4, 5, 70, 700, 4):
        assert same(captured(tensor(n), n + 1), function(tensor(n), n + 1))
    assert not compilations


def test_lengths_of_padded_sequences(compilations: list[tuple[int, ...]]) -> None:
    def padded(*rows: torch.Tensor) -> Any:
        lengths = torch.tensor([len(row) for row in rows])
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).sin(), lengths

    captured = capture.compile(padded)
    draw = random.Random(0)
    for _ in range(40):
        rows = [torch.randn(draw.randint(2, 9), 3) for _ in range(4)]
        (got, lengths), (expected, wanted) = captured(*rows), padded(*rows)
        assert torch.allclose(got, expected) and same(lengths, wanted)
    assert not compilations


# --- hooks, texts, imports --------------------------------------------------------------------------------


def test_settrace_hook() -> None:
    assert (
        run(
            lambda x, n: x * n + x.shape[0],
            [(tensor(k, 4), k + 1) for k in (2, 3, 5)],
            dynamic=True,
            hook="settrace",
        ).graphs
        == 1
    )


def test_a_failure_names_the_expression_and_the_line() -> None:
    from guards.failure import explain_failure
    from guards.namespace import FrameNamespace

    def branching(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.shape[0] * 2 > 7 else x - 1

    backend = run(branching, rows(5), dynamic=True)  # entries live as long as their backend
    assert backend.graphs
    guards = _capture.entries(branching.__code__)[0].guard_set
    index = next(i for i, guard in enumerate(guards) if "7 <" in guard.text)
    frame = FrameNamespace({"x": tensor(3, 4)}, {}, {}, branching)
    text = explain_failure(guards, index, frame).text
    assert "7 < (2 * x.size(0))" in text and "now [3]" in text
    assert (
        f"{__file__}:{branching.__code__.co_firstlineno + 1}, return x + 1 if x.shape[0] * 2 > 7 else x - 1"
        in text
    )


PROGRAM = """
import sys, torch, capture

@capture.compile(backend="eager", dynamic=True)
def f(x, n):
    y = torch.cat([x, x]).view(x.shape[0], -1)
    if x.shape[0] * 2 > n:
        y = y.softmax(-1) @ torch.ones(y.shape[1], n)
    return torch.nn.functional.layer_norm(y, y.shape[-1:]), x.shape[0] / 2

f(torch.ones(5, 4), 3), f(torch.ones(6, 4), 4), f(torch.ones(2, 4), 9)
functorch = ("torch._functorch.aot_autograd", "torch._functorch.partitioners")
barred = ("torch._dynamo", "torch._inductor", *functorch)
print([name for name in sys.modules if name.startswith(barred)])
"""


def test_nothing_barred_is_imported() -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert output.stdout.splitlines()[0] == "[]"


def test_static_captures_do_not_import_sympy() -> None:
    program = """
import sys, torch, capture
f = capture.compile(lambda x: x.view(-1) * 2, backend='eager')
f(torch.ones(3, 4))
print('sympy' in sys.modules)
"""
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
def test_a_training_graph_at_several_sizes(backend):
    weight = torch.ones(3, requires_grad=True)
    compiled = capture.compile(lambda x: (x * weight).sum(), backend=backend)
    for size in (2, 5, 7, 2):
        x = torch.full((size, 3), 2.0)
        (gradient,) = torch.autograd.grad(compiled(x), weight)
        assert torch.equal(gradient, x.sum(0))


class CountingModule(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


GLOBAL_CALLS = 0


def counts_globally(x: torch.Tensor) -> torch.Tensor:
    global GLOBAL_CALLS
    GLOBAL_CALLS += 1
    return x * GLOBAL_CALLS


@pytest.mark.parametrize("make", [CountingModule, lambda: counts_globally])
def test_a_counter_becomes_a_symbol(make: Any) -> None:
    """Ints of modules and globals are settings, except those that the code itself counts up: these are
    symbols in the first capture.
    """
    expected, counted, x = make(), make(), torch.ones(2)
    captured = capture.compile(counted, backend="eager")
    counters.clear()
    with config.patch(raise_on_error=True):
        for number in range(1, 10):
            globals()["GLOBAL_CALLS"] = number - 1
            eager = expected(x)
            globals()["GLOBAL_CALLS"] = number - 1
            assert torch.equal(captured(x), eager)
            assert number == (GLOBAL_CALLS if make is not CountingModule else counted.calls)
    assert counters["graphs"]["compiled"] == 1


def asks_the_values(xs: torch.Tensor, mask: torch.Tensor, i: int) -> torch.Tensor:
    x = xs[i]
    if torch._nested_tensor_from_mask_left_aligned(x, mask):
        return x + 1
    return x


def test_an_operator_that_reads_values_leaves_sizes_symbols() -> None:
    """It has no kernel for fake tensors of any size: the graph breaks, and no index becomes a number."""
    xs, mask = torch.randn(9, 2, 3, 4), torch.tensor([[True, True, False], [False, True, True]])
    captured = capture.compile(asks_the_values, backend="eager")
    for i in range(9):
        given = mask if i % 2 else mask[:1].expand(2, 3)
        assert torch.equal(captured(xs, given, i), asks_the_values(xs, given, i))
    assert counters["frames"]["captured"] <= 6


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.eq, operator.ne, operator.ge])
def test_a_tensor_that_tells_whether_the_end_is_reached(compare: Any) -> None:
    """Generation asks so for its longest length: the last turn needs no graph of its own."""

    def turn(x: torch.Tensor, limit: int) -> tuple[torch.Tensor, ...]:
        x = torch.cat([x, x[:, -1:] + 1], 1)
        length = x.shape[1]
        ended = torch.full((x.shape[0],), compare(length, limit), device=x.device, dtype=torch.bool)
        return x, ended, torch.full((2, 1), compare(limit, length)), torch.full((3,), length > 2) & ended[:1]

    compiled = capture.compile(turn)
    for limit in (8, 9):
        x = y = torch.zeros(2, 3)
        for _ in range(8):
            expected, found = turn(x, limit), compiled(y, limit)
            x, y = expected[0], found[0]
            for first, second in zip(expected, found, strict=True):
                assert torch.equal(first, second) and first.dtype == second.dtype
                assert first.stride() == second.stride()
    assert capture.counters["recompiles"]["turn"] <= 2


def test_a_number_in_place_of_an_answer() -> None:
    def turn(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.full((2,), x.shape[0] > 3, dtype=torch.int64), torch.full((2,), x.shape[0])

    compiled = capture.compile(turn, dynamic=True)
    for size in (2, 3, 4, 5):
        for first, second in zip(turn(torch.ones(size)), compiled(torch.ones(size)), strict=True):
            assert torch.equal(first, second) and first.dtype == second.dtype
