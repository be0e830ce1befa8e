"""The operators of recurrent layers, against the steps of torch one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import _capture
import pytest
import torch

from codegen.kernel import recurrent  # noqa: F401  defines the operators

operators: Any = torch.ops._capture
WIDTHS = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
TOLERANCES = {torch.float32: {"rtol": 1e-4, "atol": 2e-5}, torch.float64: {"rtol": 1e-11, "atol": 1e-12}}
#: steps, batch, width: less than a vector, whole vectors, and some with a rest; one tile of rows and several;
#: products with packed weights forward, backward, in both, and in none
SIZES = [
    (4, 3, 1),
    (1, 2, 5),
    (5, 1, 16),
    (3, 4, 33),
    (3, 9, 64),
    (5, 10, 80),
    (8, 7, 33),
    (40, 1, 9),
    (4, 31, 3),
]


@pytest.fixture(params=[16, 32, 64], ids="{} bytes".format)
def vectors(request: pytest.FixtureRequest) -> Iterator[None]:
    """The vectors of older processors, too."""
    before = _capture.limit_cells(request.param)
    yield
    _capture.limit_cells(before)


def by_steps(kind: str, gates: Any, first: Any, weight: Any, bias: Any, reverse: bool) -> list[torch.Tensor]:
    """The states, and of an LSTM the last cell. `first`: the state before, and of an LSTM the cell."""
    made: dict[int, torch.Tensor] = {}
    state, *cells = first
    for step in sorted(range(len(gates)), reverse=reverse):
        products = state @ weight.t() + bias
        if kind == "lstm":
            given, forget, candidate, output = (gates[step] + products).chunk(4, 1)
            cells = [torch.sigmoid(forget) * cells[0] + torch.sigmoid(given) * torch.tanh(candidate)]
            state = torch.sigmoid(output) * torch.tanh(cells[0])
        elif kind == "gru":
            given, own = gates[step].chunk(3, 1), products.chunk(3, 1)
            reset, update = torch.sigmoid(given[0] + own[0]), torch.sigmoid(given[1] + own[1])
            new = torch.tanh(given[2] + reset * own[2])
            state = (state - new) * update + new
        else:
            state = getattr(torch, kind)(gates[step] + products)
        made[step] = state
    return [torch.stack([made[step] for step in range(len(gates))]), *cells]


def by_operators(
    kind: str, gates: Any, first: Any, weight: Any, bias: Any, reverse: bool, grads: Any, rows: Any = None
) -> list[torch.Tensor]:
    """The results, and the gradients of the gates, of the first state (and cell), and of the bias."""
    if kind == "lstm":
        states, cell, kept = operators.lstm_layer(gates + bias, *first, weight, reverse, True, rows)
        of_gates, *of_first = operators.lstm_layer_backward(*grads, first[1], kept, weight, reverse, rows)
        return [states, cell, of_gates, *of_first, of_gates.flatten(0, -2).sum(0)]
    if kind == "gru":
        states, kept = operators.gru_layer(gates, *first, weight, bias, reverse, True, rows)
        of_gates, of_products, of_first = operators.gru_layer_backward(
            *grads, states, *first, kept, weight, reverse, rows
        )
        return [states, of_gates, of_first, of_products.flatten(0, -2).sum(0)]
    relu = kind == "relu"
    states = operators.rnn_layer(gates + bias, *first, weight, relu, reverse, rows)
    of_gates, of_first = operators.rnn_layer_backward(*grads, states, *first, weight, relu, reverse, rows)
    return [states, of_gates, of_first, of_gates.flatten(0, -2).sum(0)]


def arguments(kind: str, sizes: tuple[int, ...], dtype: torch.dtype) -> tuple[Any, ...]:
    """Gates, what is before the first step, weight, bias, and gradients of the results."""
    torch.manual_seed(0)
    steps, batch, width = sizes
    rows, states = width * WIDTHS[kind], 2 if kind == "lstm" else 1
    first = [torch.randn(batch, width, dtype=dtype) for _ in range(states)]
    grads = [torch.randn(steps, batch, width, dtype=dtype), torch.randn(batch, width, dtype=dtype)]
    weight = torch.randn(rows, width, dtype=dtype) / width**0.5
    gates, bias = torch.randn(steps, batch, rows, dtype=dtype), torch.randn(rows, dtype=dtype)
    return gates, first, weight, bias, grads[:states]


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", WIDTHS)
def test_states_and_gradients(kind: str, sizes: tuple[int, ...], reverse: bool, dtype: torch.dtype) -> None:
    gates, first, weight, bias, grads = arguments(kind, sizes, dtype)
    found = by_operators(kind, gates, first, weight, bias, reverse, grads)
    learning = [tensor.requires_grad_() for tensor in (gates, *first, bias)]
    expected = by_steps(kind, gates, first, weight, bias, reverse)
    expected += torch.autograd.grad(expected, learning, grads)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **TOLERANCES[dtype])


#: rows of each step, width: sequences that end together and alone, one that goes on alone, all of one length;
#: products with packed weights and without
PACKED = [
    ((3, 3, 2, 2, 1), 5),
    ((4, 1, 1, 1, 1, 1), 33),
    ((2, 2, 2), 4),
    ((1,), 3),
    ((9, 8, 8, 5, 5, 5, 3), 16),
    ((60, 31, 2), 7),
]


def padded_and_packed(rows: tuple[int, ...]) -> tuple[Any, Any]:
    """Functions between [steps, batch, ...] and all rows: without what stands behind the ends, or zeros."""
    mask = torch.arange(rows[0]) < torch.tensor(rows)[:, None]

    def padded(packed: torch.Tensor) -> torch.Tensor:
        made = packed.new_zeros(*mask.shape, packed.shape[-1])
        return made.masked_scatter(mask[..., None].expand(made.shape), packed)

    return padded, lambda padded: padded[mask]


def by_sequences(kind: str, gates: Any, first: Any, weight: Any, bias: Any, reverse: bool, rows: Any) -> Any:
    """The states, and of an LSTM the last cells, of each sequence alone."""
    padded, packed = padded_and_packed(rows)
    states, cells, whole = [], [], padded(gates)
    for place in range(rows[0]):
        length = sum(count > place for count in rows)
        own = [before[place : place + 1] for before in first]
        found = by_steps(kind, whole[:length, place : place + 1], own, weight, bias, reverse)
        states.append(torch.nn.functional.pad(found[0], (0, 0, 0, 0, 0, len(rows) - length)))
        cells += found[1:]
    return [packed(torch.cat(states, 1)), *([torch.cat(cells)] if cells else [])]


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows, width", PACKED)
@pytest.mark.parametrize("kind", WIDTHS)
def test_packed_sequences(
    kind: str, rows: tuple[int, ...], width: int, reverse: bool, dtype: torch.dtype
) -> None:
    gates, first, weight, bias, grads = arguments(kind, (len(rows), rows[0], width), dtype)
    packed = padded_and_packed(rows)[1]
    gates, grads[0] = packed(gates), packed(grads[0])
    found = by_operators(kind, gates, first, weight, bias, reverse, grads, torch.tensor(rows))
    learning = [tensor.requires_grad_() for tensor in (gates, *first, bias)]
    expected = by_sequences(kind, gates, first, weight, bias, reverse, rows)
    expected += torch.autograd.grad(expected, learning, grads)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **TOLERANCES[dtype])


@pytest.mark.parametrize("reverse", [False, True])
def test_places_of_packed_sequences(reverse: bool) -> None:
    rows = torch.tensor([3, 2, 2])
    checked, last, before = operators.packed_places(rows, 7, 3, reverse)
    assert checked.equal(rows)
    if reverse:
        assert last.tolist() == [0, 1, 2]
        assert before.tolist() == [3 + 3, 3 + 4, 2, 3 + 5, 3 + 6, 0, 1]
    else:
        assert last.tolist() == [5, 6, 2]
        assert before.tolist() == [0, 1, 2, 3 + 0, 3 + 1, 3 + 3, 3 + 4]


@pytest.mark.parametrize("rows", [[3, 2, 3], [2, 2], [3, 2, 0], [3, -1, 3], [3, 3], [4, 1], [3, 1, 1, 1]])
def test_rows_that_fit_no_packed_sequences(rows: list[int]) -> None:
    given = torch.tensor(rows)
    with pytest.raises(ValueError, match="batch sizes"):
        operators.packed_places(given, 5, 3, False)
    gates, first, weight = torch.zeros(5, 2), torch.zeros(3, 2), torch.zeros(2, 2)
    with pytest.raises(ValueError, match="batch sizes"):
        operators.rnn_layer(gates, first, weight, False, False, given)


#: rows are divided between threads, and panels of the weight in each turn
@pytest.mark.parametrize("sizes", [(8, 10, 130), (12, 3, 520)])
@pytest.mark.parametrize("kind", WIDTHS)
def test_threads_change_nothing(kind: str, sizes: tuple[int, ...]) -> None:
    given = arguments(kind, sizes, torch.float32)
    steps, batch, _ = sizes
    rows = tuple(max(1, batch - step) for step in range(steps))
    packed = padded_and_packed(rows)[1]
    gates, grads = packed(given[0]), [packed(given[-1][0]), *given[-1][1:]]
    before, found = torch.get_num_threads(), []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        found.append(by_operators(kind, *given[:-1], True, given[-1]))
        found[-1] += by_operators(kind, gates, *given[1:-1], True, grads, torch.tensor(rows))
    torch.set_num_threads(before)
    torch.testing.assert_close(*found)


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_functions_are_right_to_a_few_places(dtype: torch.dtype) -> None:
    x = torch.cat((torch.linspace(-20, 20, 4000), torch.logspace(-30, 0, 1000))).to(dtype)
    nothing = torch.zeros(1, 1, dtype=dtype)
    first = torch.zeros(len(x), 1, dtype=dtype)
    tanh = operators.rnn_layer(x.view(1, -1, 1), first, nothing, False, False)
    gates = x.view(1, -1, 1).expand(1, len(x), 3)
    _, kept = operators.gru_layer(gates, first, nothing.expand(3, 1), None, False, True)
    for found, exact in ((tanh.view(-1), x.double().tanh()), (kept[0, :, 0], x.double().sigmoid())):
        error = (found.double() - exact).abs() / exact.abs()
        assert error.max() <= 3 * torch.finfo(dtype).eps


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_values_that_are_no_numbers(dtype: torch.dtype) -> None:
    nan, inf = float("nan"), float("inf")
    gates = torch.tensor([nan, inf, -inf, 0.0, 3.0], dtype=dtype)
    zeros = torch.zeros(5, 1, dtype=dtype), torch.zeros(1, 1, dtype=dtype)
    for relu, function in ((True, torch.relu), (False, torch.tanh)):
        found = operators.rnn_layer(gates.view(1, 5, 1), *zeros, relu, False).view(-1)
        torch.testing.assert_close(found, function(gates), equal_nan=True)


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gates_that_are_no_numbers(kind: str, dtype: torch.dtype) -> None:
    """An infinite gate has a gradient of exactly 0: what it is multiplied with may be infinite, too."""
    gates, first, weight, bias, grads = arguments(kind, (2, 4, 3), dtype)
    gates[0, :3, :] = torch.tensor([float("nan"), float("inf"), -float("inf")], dtype=dtype)[:, None]
    found = by_operators(kind, gates, first, weight, bias, False, grads)
    learning = [tensor.requires_grad_() for tensor in (gates, *first, bias)]
    expected = by_steps(kind, gates, first, weight, bias, False)
    expected += torch.autograd.grad(expected, learning, grads)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **TOLERANCES[dtype], equal_nan=True)
    assert not found[-3 if kind == "gru" else -4][0, 1:3].any()


def test_layouts_do_not_matter() -> None:
    torch.manual_seed(0)
    gates, first = torch.randn(12, 4, 5).transpose(1, 2).transpose(0, 2), torch.randn(4, 5).t()
    weight = torch.randn(4, 12).t()
    found = operators.gru_layer(gates, first, weight, None, False, False)[0]
    zeros = torch.zeros(12)
    torch.testing.assert_close(found, by_steps("gru", gates, [first], weight, zeros, False)[0])


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="without elements"):
        _capture.rnn_forward((False, False, False, 0, 2, 2, None), (0, 0, 0, 0))
    with pytest.raises(ValueError, match="too large"):
        _capture.lstm_forward((False, False, False, 1, 2, 2**30, None), (0,) * 7)
    with pytest.raises(ValueError, match="matrices"):
        _capture.rnn_forward((False, False, False, 1, 2, 2, None), (0, 0))
