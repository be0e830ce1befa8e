"""Tensors with their own operations over several calls: other classes, classes that change, gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import capture
from capture.report.counters import counters


class Plain(Tensor):
    pass


def test_the_class_is_guarded() -> None:
    fast = capture.compile(lambda x: x + 1)
    x = torch.ones(3)
    for value in (x, x.as_subclass(Plain), x, nn.Parameter(x)):
        assert type(fast(value)) is type(value + 1)


def test_handler_and_what_it_reads_are_guarded() -> None:
    class Changing(Tensor):
        factor = 1.0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs or {})
            return result.as_subclass(Tensor) * cls.factor

    fast, x = capture.compile(lambda x: torch.add(x, 1.0)), torch.ones(3).as_subclass(Changing)
    assert fast(x).tolist() == [2.0] * 3
    Changing.factor = 3.0
    assert fast(x).tolist() == [6.0] * 3

    def other(cls, func, types, args=(), kwargs=None):
        return "other"

    Changing.__torch_function__ = classmethod(other)
    assert fast(x) == "other"


def test_state_of_the_thread_is_guarded() -> None:
    class Negating(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunctionSubclass():
                return -func(*args, **(kwargs or {}))

    fast, x = capture.compile(lambda x: torch.add(x, 1.0)), torch.ones(2).as_subclass(Negating)
    assert fast(x).tolist() == [-2.0] * 2
    with torch._C.DisableTorchFunctionSubclass():
        assert fast(x).tolist() == [2.0] * 2
    assert fast(x).tolist() == [-2.0] * 2


def test_gradients_reach_the_tensor_behind() -> None:
    x = torch.randn(3, requires_grad=True)
    fast = capture.compile(lambda y: (y * 2).sin().sum())
    fast(x.as_subclass(Plain)).backward()
    assert torch.allclose(x.grad, 2 * (2 * x).cos())


def test_module_with_such_a_parameter_trains() -> None:
    class Weight(nn.Parameter):
        pass

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Weight(torch.ones(4, 4))

        def forward(self, x):
            return nn.functional.linear(x, self.weight).sin().sum()

    losses = []
    for wrap in (lambda m: m, capture.compile):
        model, x = Model(), torch.ones(2, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        run = wrap(model)
        for _ in range(3):
            optimizer.zero_grad()
            loss = run(x)
            loss.backward()
            optimizer.step()
        losses.append((loss.item(), model.weight.detach().clone()))
    assert abs(losses[0][0] - losses[1][0]) < 1e-5
    assert torch.allclose(losses[0][1], losses[1][1], atol=1e-5)


def test_properties_named_like_torchs_do_not_mislead_guards() -> None:
    class Shaped(Tensor):
        @property
        def shape(self):
            return (7, 7)

    fast = capture.compile(lambda x: x * x.shape[0])
    before = counters["frames"]["failed"]
    assert fast(torch.ones(2).as_subclass(Shaped)).as_subclass(Tensor).tolist() == [7.0, 7.0]
    assert counters["frames"]["failed"] == before


class Held:
    def ask(self, x):
        return x + 1


class Asking(Held):
    def ask(self, x):
        print("a break")
        return super().ask(x) * 2

    def ask_from_a_cell(self, x):
        def me():
            return self

        print("a break")
        first = super().ask(x)
        print("another")
        return me() is self, super().ask(first)


def test_super_without_arguments_behind_a_break(capsys) -> None:
    x = torch.ones(2)
    assert capture.compile(lambda o, x: o.ask(x))(Asking(), x).tolist() == [4.0, 4.0]
    same, value = capture.compile(lambda o, x: o.ask_from_a_cell(x))(Asking(), x)
    assert same and value.tolist() == [3.0, 3.0]
    assert capsys.readouterr().out == "a break\na break\nanother\n"


def test_sizes_stay_symbolic() -> None:
    fast = capture.compile(lambda x: x.sum(0) * x.shape[0] + x.reshape(x.shape)[0], backend="eager")
    before = counters["graphs"]["compiled"]
    for rows in (3, 5, 7, 9):
        x = torch.randn(rows, 4).as_subclass(Plain)
        assert torch.allclose(fast(x), x.sum(0) * rows + x[0])
    assert counters["graphs"]["compiled"] - before == 2
