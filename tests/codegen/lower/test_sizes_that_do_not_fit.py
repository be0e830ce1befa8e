"""Operators on tensors whose sizes do not fit each other: eager's errors, and no reads beyond a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture

Shape = tuple[int, ...]
Program = Callable[..., torch.Tensor]


def places(*shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=torch.int64)


def index_reduce(reduce: str) -> Program:
    return lambda x, i, s: x.index_reduce(0, i, s, reduce)


def softmax_backward(grad: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten._softmax_backward_data(grad, output, -1, torch.float32)


def statistics(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x, mean, variance)


FIRST = torch.tensor([0])
CASES: dict[str, tuple[Program, list[Any], list[Any]]] = {  # arguments that fit, and that do not
    "gather": (lambda x, i: x.gather(0, i), [(10, 5), places(5, 5)], [(10, 2), places(5, 5)]),
    "gather from nothing": (lambda x, i: x.gather(0, i), [(10, 5), places(5, 5)], [(10, 0), places(5, 5)]),
    "gather -1": (lambda x, i: x.gather(-1, i), [(5, 10), places(5, 5)], [(2, 10), places(5, 5)]),
    "index_reduce": (index_reduce("amax"), [(5, 6), places(4), (4, 6)], [(5, 6), places(7), (4, 6)]),
    "index_reduce rows": (index_reduce("prod"), [(5, 6), places(4), (4, 6)], [(5, 3), places(4), (4, 6)]),
    "index_reduce nothing": (index_reduce("amin"), [(5, 6), places(4), (4, 6)], [(5, 0), places(9), (9, 6)]),
    "index_reduce a number": (index_reduce("amin"), [(), FIRST, ()], [(), FIRST, (1,)]),
    "index_reduce by rows": (index_reduce("amin"), [(), FIRST, ()], [(), FIRST[None], ()]),
    "index_copy": (
        lambda x, i, s: x.index_copy(0, i, s),
        [(5, 6), places(4), (4, 6)],
        [(5, 6), places(7), (3, 6)],
    ),
    "put": (lambda x, i, s: x.put(i, s), [(5, 6), places(4), (4,)], [(5, 6), places(7), (3,)]),
    "bias": (
        lambda x, w, b: F.conv2d(x, w, b),
        [(1, 3, 8, 8), (4, 3, 3, 3), (4,)],
        [(1, 3, 8, 8), (4, 3, 3, 3), (5,)],
    ),
    "places": (
        lambda x, i, j: x.index_put((i, j), torch.ones(5)),
        [(6, 6, 5), places(9, 1), places(1, 3)],
        [(6, 6, 5), places(9, 0), places(8, 3)],
    ),
    "_unsafe places": (
        lambda x, i, j: torch.ops.aten._unsafe_index_put(x, (i, j), torch.ones(5), True),
        [(6, 6, 5), places(9, 1), places(1, 3)],
        [(6, 6, 5), places(9, 0), places(8, 3)],
    ),
    "_unsafe values": (
        lambda x, i, s: torch.ops.aten._unsafe_index_put(x, (i,), s, True),
        [(6, 5), places(9), (9, 5)],
        [(6, 5), places(9), (4, 5)],
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4, 3), w, b),
        [(2, 4, 3), (4, 3), (4, 3)],
        [(2, 4, 3), (3,), (4, 3)],
    ),
    "bias of layer_norm": (
        lambda x, w, b: F.layer_norm(x, (3,), w, b),
        [(2, 4, 3), (3,), (3,)],
        [(2, 4, 3), (3,), (1,)],
    ),
    "nll_loss": (
        lambda x, i, w: F.nll_loss(x, i, w),
        [(2, 4), places(2), (4,)],
        [(2, 4), places(2), (1,)],
    ),
    "nll_loss of images": (
        lambda x, i, w: F.nll_loss(x, i, w),
        [(2, 4, 3, 5), places(2, 3, 5), (4,)],
        [(2, 4, 3, 5), places(2, 3, 5), (1,)],
    ),
    "broadcast_to": (lambda x: torch.broadcast_to(x, (5, 5)), [(5,)], [(1, 5, 1)]),
    "expand": (lambda x, y: x.expand(y.shape[0], y.shape[1]), [(1, 5), (4, 5)], [(1, 1, 5), (4, 5)]),
    "softmax": (lambda x: x.softmax(1), [(4, 5)], [(5,)]),
    "cumsum": (lambda x: x.cumsum(1), [(4, 5)], [(5,)]),
    "softmax backward": (softmax_backward, [(4, 5), (4, 5)], [(4, 5), (1, 5)]),
    "softmax backward of rows": (softmax_backward, [(4, 5), (4, 5)], [(4, 5), (5,)]),
    "mean of batch_norm": (statistics, [(2, 1, 3), (1,), (1,)], [(2, 1, 3), (), (1,)]),
    "mean of batch_norm, two dims": (statistics, [(2, 3), (3,), (3,)], [(2, 3), (1, 3), (3,)]),
    "variance of batch_norm": (statistics, [(2, 1), (1,), (1,)], [(2, 1), (1,), ()]),
}


def outcome(program: Program, given: list[Any]) -> Any:
    try:
        return program(*(torch.ones(one) if isinstance(one, tuple) else one for one in given))
    except (RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dynamic", [None, True])
def test_as_eager(name: str, dynamic: bool | None) -> None:
    program, fitting, others = CASES[name]
    expected = outcome(program, others)
    assert isinstance(expected, str)
    compiled = capture.compile(program, dynamic=dynamic)
    torch.testing.assert_close(outcome(compiled, fitting), outcome(program, fitting))
    assert outcome(compiled, others) == expected
    capture.reset()
    assert outcome(compiled, others) == expected


@pytest.mark.parametrize("function", [torch.var, torch.std, lambda *x, **k: torch.var_mean(*x, **k)[0]])
@pytest.mark.parametrize("correction", [-5, 0, 1])
def test_nothing_has_no_variance(function: Callable[..., torch.Tensor], correction: int) -> None:
    nothing = torch.zeros(3, 0, 2)
    for dims in (None, 1, (0, 1)):
        expected = function(nothing, dims, correction=correction)
        found = capture.compile(lambda x, d=dims: function(x, d, correction=correction))(nothing)
        torch.testing.assert_close(found, expected, equal_nan=True)
        assert found.isnan().all()


def test_no_places_of_a_tensor() -> None:
    """A constant without elements has no least one: nothing is read."""

    def nothing(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._unsafe_index(x, [torch.tensor([], dtype=torch.int64)]) + 1

    with capture.config.patch(raise_on_error=True):
        assert capture.compile(nothing)(torch.ones(3)).shape == (0,)


def test_no_places_of_another_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager accepts that: the result has the shape of the places."""

    def nothing(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return x.gather(0, places) + 1

    monkeypatch.setattr("codegen.launch.assembly.strict", True)
    with capture.config.patch(raise_on_error=True):
        for shape in [(0,), (3, 0, 2)]:
            assert capture.compile(nothing)(torch.ones(1, 5), places(*shape)).shape == shape


#: programs that take a part of their last argument: its size is another expression than those it has to fit
PARTS: dict[
    str, tuple[Program, list[Any], list[list[Any]]]
] = {  # fitting arguments, and some that do not fit
    name: (
        program,
        [(5, 6, 4), places(10), (6, 10, 4)],
        [[(4, 6, 4), places(10), (6, 10, 4)], [(8, 6, 4), places(10), (6, 10, 4)]],
    )
    for name, program in {
        "index_add": lambda x, i, s: x.index_add(1, i, s[1:]),
        "index_copy": lambda x, i, s: x.index_copy(1, i, s[1:]),
        "index_reduce": lambda x, i, s: x.index_reduce(1, i, s[1:], "amax"),
        "index_reduce, mean": lambda x, i, s: x.index_reduce(1, i, s[1:], "mean"),
    }.items()
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_arguments(name: str) -> None:
    program, fitting, others = PARTS[name]
    compiled = capture.compile(program, dynamic=True)
    torch.testing.assert_close(outcome(compiled, fitting), outcome(program, fitting))
    for other in others:
        expected = outcome(program, other)
        assert isinstance(expected, str)
        assert outcome(compiled, other) == expected


@pytest.mark.parametrize("dynamic", [None, True])
def test_views_by_strides_that_memory_may_not_hold(dynamic: bool | None) -> None:
    """The same tensor may have more memory behind it, or none."""

    def viewed(x: torch.Tensor, count: int) -> torch.Tensor:
        return x.as_strided((count, 2), (2, 1)) + 1

    compiled = capture.compile(viewed, dynamic=dynamic)
    whole, alone = torch.arange(200.0)[:24].view(4, 6), torch.arange(24.0).view(4, 6)
    for x, count in ((whole, 50), (alone, 3), (alone, 12)):
        torch.testing.assert_close(compiled(x, count), viewed(x, count))
    for count in (13, 50):
        with pytest.raises(RuntimeError, match="setStorage"):
            compiled(alone, count)


@pytest.mark.parametrize("dynamic", [None, True])
def test_places_of_a_number(dynamic: bool | None) -> None:
    def selected(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return x.index_select(0, places[1:]) + 1

    compiled = capture.compile(selected, dynamic=dynamic)
    assert compiled(torch.tensor(1.0), places(2) - 1) == 2
    for count in (1, 3):
        with pytest.raises(RuntimeError, match="can have only 1 value"):
            compiled(torch.tensor(1.0), places(count) - 1)


WINDOWS: dict[str, Callable[..., torch.Tensor]] = {
    "padding": lambda x, n: F.conv1d(x, torch.ones(2, 4, 3), padding=n),
    "dilation": lambda x, n: F.conv2d(x[None], torch.ones(2, 1, 3, 3), padding=3, dilation=(1, n)),
    "padding of a pool": lambda x, n: F.max_pool2d(x, 2, padding=n),
    "dilation of a pool": lambda x, n: F.max_pool2d(x, 2, dilation=n),
    "padding of a mean": lambda x, n: F.avg_pool1d(x, 2, padding=n),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_that_do_not_go_forwards(name: str, dynamic: bool | None) -> None:
    program, x = WINDOWS[name], torch.arange(24.0).view(1, 4, 6)
    compiled = capture.compile(program, dynamic=dynamic)
    for number in (1, -1, 0, -2):
        expected = outcome(lambda x, n=number: program(x, n), [x])
        found = outcome(lambda x, n=number: compiled(x, n), [x])
        if isinstance(expected, str):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected)


CHANGED: dict[str, Program] = {  # fits four rows alone
    "select_scatter": lambda x: x.select_scatter(torch.ones(4), 1, 3),
    "select_scatter, a row": lambda x: x.select_scatter(torch.ones(6), 0, 3),
    "slice_scatter": lambda x: x.slice_scatter(torch.ones(4, 2), 1, 1, 3),
    "slice_scatter, rows": lambda x: x.slice_scatter(torch.ones(3, 6), 0, 1, 4),
    "slice_scatter, steps": lambda x: x.slice_scatter(torch.ones(2, 6), 0, 0, 4, 2),
    "diagonal_scatter": lambda x: x.diagonal_scatter(torch.ones(4)),
    "diagonal_scatter, below": lambda x: x.diagonal_scatter(torch.ones(3), -1),
}


@pytest.mark.parametrize("name", CHANGED)
def test_parts_of_other_sizes(name: str) -> None:
    program, rows = CHANGED[name], torch.arange(42.0).view(7, 6)
    compiled = capture.compile(lambda x: program(x * 2) + 1, dynamic=True)
    for count in (4, 3, 7, 2, 1, 0):
        expected = outcome(lambda x: program(x * 2) + 1, [rows[:count]])
        found = outcome(compiled, [rows[:count]])
        if isinstance(expected, str):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected)
