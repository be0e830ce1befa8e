"""Results of graphs with symbolic sizes share memory with the arguments, or are them, as in eager."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import capture

Function = Callable[[torch.Tensor], torch.Tensor]
PROGRAMS: dict[str, Function] = {
    "flatten": lambda x: x.flatten(),
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(-1),
    "slice": lambda x: x[1:],
    "hsplit": lambda x: torch.hsplit(x, 2)[1],
    "tensor_split": lambda x: torch.tensor_split(x, 3, -1)[1],
    "split": lambda x: torch.split(x, 2)[1],
    "view of a view": lambda x: x[1:].view(-1)[2:],
    "dropout of nothing": lambda x: F.dropout(x, 0.0),
    "dropout in evaluation": lambda x: torch.dropout(x, 0.5, False),
    "the argument": lambda x: x.to(torch.float32),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_result_shares_memory(name: str) -> None:
    fn = PROGRAMS[name]
    compiled = capture.compile(fn, dynamic=True)
    for size in ((4, 6, 5), (6, 4, 3)):
        x = torch.arange(float(torch.Size(size).numel())).reshape(size)
        expected, found = fn(x), compiled(x)
        assert (found is x) == (expected is x)
        assert found.storage_offset() == expected.storage_offset()
        assert found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert torch.equal(found, expected) and found.stride() == expected.stride()


def test_two_results_share_memory() -> None:
    def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x + 1
        return y, y.view(-1)

    compiled = capture.compile(both, dynamic=True)
    for size in ((4, 6, 5), (6, 4, 3)):
        y, flat = compiled(torch.zeros(size))
        flat.add_(1)
        assert torch.equal(y, torch.full(size, 2.0))


@pytest.mark.parametrize("grad", [False, True])
def test_results_negated_by_a_bit(grad: bool) -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (torch.complex(x, y).conj().imag * x).sin().sum()

    def bare(x: torch.Tensor) -> torch.Tensor:
        return x.conj().imag

    arguments = [torch.randn(5, requires_grad=grad) for _ in range(2)]
    results = []
    for fn in (program, capture.compile(program)):
        value = fn(*arguments)
        results.append([value, *(torch.autograd.grad(value, arguments) if grad else [])])
    for expected, found in zip(*results):
        torch.testing.assert_close(found, expected)
    z = torch.randn(3, dtype=torch.complex64)
    found = capture.compile(bare)(z)
    assert found.is_neg() and torch.equal(found, bare(z))
    assert found.untyped_storage().data_ptr() == z.untyped_storage().data_ptr()


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_dropout_draws_as_often_as_eager(p: float) -> None:
    """No draw if nothing or everything is dropped."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, p) + torch.rand(3)

    compiled = capture.compile(program, dynamic=True)
    for rows in (4, 6):
        results = []
        for fn in (program, compiled):
            torch.manual_seed(0)
            results.append(fn(torch.ones(rows, 3)))
        assert torch.equal(*results)


CONJUGATED: dict[str, Function] = {
    "twice": lambda x: x.conj().conj(),
    "real part": lambda x: x.conj().real,
    "real part of a view": lambda x: x.conj()[1:].mT.real,
    "a piece": lambda x: x.conj().split(1)[1].conj(),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CONJUGATED)
def test_conjugated_twice_is_the_memory_itself(name: str, dynamic: bool) -> None:
    def written(x: torch.Tensor) -> torch.Tensor:
        y = CONJUGATED[name](x)
        y.mul_(2)
        return y + y.sum()

    for size in ((4, 6), (6, 4)):
        x = torch.randn(size, dtype=torch.complex64)
        expected, found = CONJUGATED[name](x), capture.compile(CONJUGATED[name], dynamic=dynamic)(x)
        if name != "a piece":
            assert found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert torch.equal(found, expected) and found.stride() == expected.stride()
        twin = x.clone()
        torch.testing.assert_close(capture.compile(written, dynamic=dynamic)(twin), written(x))
        torch.testing.assert_close(twin, x)
        twin.requires_grad_()
        grads = [
            torch.autograd.grad(function(twin).abs().sum(), twin)[0]
            for function in (CONJUGATED[name], capture.compile(CONJUGATED[name], dynamic=dynamic))
        ]
        torch.testing.assert_close(*grads)
