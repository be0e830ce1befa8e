"""capture.check finds what tests plant, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import capture
from capture.report.errors import UsageError


def planting(name: str, change: Callable[[torch.Tensor], Any]) -> Callable[..., Any]:
    """A backend in which the results of the operation `name` are changed."""

    def planted(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        graph, copies = torch.fx.Graph(), {}
        for node in gm.graph.nodes:
            copies[node] = graph.node_copy(node, copies.__getitem__)
            target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
            if target == name:
                copies[node] = graph.call_function(change, (copies[node],))
        return torch.fx.GraphModule(gm, graph).forward

    return planted


class Scaled(torch.autograd.Function):
    """The identity, with a wrong gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * 1.01


def chain(x: torch.Tensor) -> torch.Tensor:
    y = torch.sin(x) + 1
    y = y.exp()
    return (y * 2).log().sum(1)


def data(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_a_right_program() -> None:
    found = capture.check(chain)(data(3, 5).requires_grad_())
    assert found.ok and found.stage is None and found.graphs == 1
    assert str(found) == "ok: 1 graph, as exact as eager"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("sin", "y = torch.sin(x) + 1"),
        ("exp", "y = y.exp()"),
        ("log", "return (y * 2).log().sum(1)"),
    ],
)
def test_a_wrong_forward(name: str, line: str) -> None:
    backend = planting(name, lambda y: y * 1.0001)
    found = capture.check(chain, backends=["eager", backend])(data(3, 5))
    assert (found.stage, found.graph) == ("planted", "1 (chain)")
    assert found.operation is not None and found.operation.call == name
    assert found.operation.source == line
    assert "elements; at" in found.report() and "the truth is" in found.report()


def test_a_wrong_backward() -> None:
    found = capture.check(chain, backends=[planting("exp", lambda y: Scaled.apply(y))])(
        data(3, 5).requires_grad_()
    )
    assert found.operation is not None and found.operation.call == "exp"
    assert [difference.name for difference in found.differences] == ["gradient of input 0"]


def test_rounding_is_not_wrong() -> None:
    backend = planting("exp", lambda y: (y.double() * (1 + 1e-7)).float())
    assert capture.check(chain, backends=[backend])(data(3, 5).requires_grad_()).ok


def on_the_edge(x: torch.Tensor) -> torch.Tensor:
    y = x * 3
    z = F.relu6(y)
    return z * z


def test_an_edge_is_told_apart() -> None:
    """y is 6 or a rounding beside it: the gradient of relu6 is 1 or 0, and both are right."""
    x = torch.full((4,), 2.0).nextafter(torch.tensor(0.0)).requires_grad_()
    found = capture.check(on_the_edge, backends=[planting("mul", lambda y: y * (1 + 3e-7))])(x)
    assert found.ok
    assert [edge.call for edge in found.edges] == ["relu6"]
    assert "on an edge, rounding decides: relu6" in found.report()


def test_an_error_behind_an_edge_is_found() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.exp(F.relu6(x * 3))

    def change(y: torch.Tensor) -> torch.Tensor:
        return y * (1 + 3e-7)

    inner = planting("mul", change)

    def planted(gm: Any, example_inputs: list[Any]) -> Any:
        first = inner(gm, example_inputs).__self__
        return planting("exp", lambda y: y * 1.01)(first, example_inputs)

    x = torch.full((4,), 2.0).nextafter(torch.tensor(0.0)).requires_grad_()
    found = capture.check(program, backends=[planted])(x)
    assert [edge.call for edge in found.edges] == ["relu6"]
    assert found.operation is not None and found.operation.call == "exp"


def test_ties_are_an_edge() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x * 3).argmax(1)

    def other(y: torch.Tensor) -> torch.Tensor:
        return y + torch.tensor([0.0, 0.0, 1e-6])

    found = capture.check(program, backends=[planting("mul", other)])(torch.ones(2, 3))
    assert found.ok and [edge.call for edge in found.edges] == ["argmax"]


def test_a_wrong_index_is_no_edge() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x * 3).argmax(1)

    found = capture.check(program, backends=[planting("argmax", lambda y: y * 0)])(data(4, 3))
    assert found.operation is not None and found.operation.call == "argmax"


def test_a_backend_that_raises() -> None:
    def broken(gm: Any, example_inputs: Any) -> Any:
        if any(node.target == "exp" for node in gm.graph.nodes):
            raise ValueError("no exp here")
        return gm.forward

    found = capture.check(chain, backends=[broken])(data(3, 5))
    assert found.stage == "broken" and found.operation is not None and found.operation.call == "exp"
    assert "ValueError: no exp here" in found.report()


def test_random_numbers_are_the_same_in_each_stage() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, 0.5) * torch.randn(x.shape) + torch.rand_like(x)

    before = torch.get_rng_state()
    assert capture.check(program)(data(4, 8).requires_grad_()).ok
    assert torch.equal(before, torch.get_rng_state())


def test_inputs_and_state_are_put_back() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters())
    seen: list[int] = []

    def step(x: torch.Tensor) -> float:
        seen.append(1)
        loss = model(x.mul_(2)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    before = {name: value.clone() for name, value in model.state_dict().items()}
    x = data(5, 4)
    was = x.clone()
    assert capture.check(step)(x).ok
    assert torch.equal(x, was) and not seen and not optimizer.state
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_aliases_stay_aliases() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 2

    x = data(4, 4)
    assert capture.check(program)(x, x[0]).ok
    found = capture.check(program, backends=[planting("add_", lambda y: y.mul_(1.01))])(x, x[0])
    assert found.operation is not None and found.operation.call == "add_"


def test_autocast_and_half_precision() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2))

    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return model(x).float().softmax(1)

    assert capture.check(program)(data(4, 8)).ok


HALVES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)


@HALVES
def test_a_right_program_in_half_precision(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 8)).to(dtype)

    def program(x: torch.Tensor) -> torch.Tensor:
        loss = model(x).softmax(1).square().sum()
        loss.backward()
        return loss

    found = capture.check(program)(data(16, 32).to(dtype))
    assert found.ok and not found.edges, found.report()


@HALVES
@pytest.mark.parametrize("name", ["sin", "exp", "log"])
def test_a_wrong_operation_in_half_precision(name: str, dtype: torch.dtype) -> None:
    """Wrong by a fifth, or by a half where the operations behind it round as much as a tenth of it."""
    factor = 1.5 if name == "sin" else 1.2
    found = capture.check(chain, backends=[planting(name, lambda y: y * factor)])(data(3, 5).to(dtype))
    assert found.operation is not None and found.operation.call == name


@HALVES
def test_a_wrong_gradient_in_half_precision(dtype: torch.dtype) -> None:
    class Doubled(Scaled):
        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * 1.2

    backend = planting("exp", lambda y: Doubled.apply(y))
    found = capture.check(chain, backends=[backend])(data(3, 5).to(dtype).requires_grad_())
    assert found.operation is not None and found.operation.call == "exp"


@HALVES
def test_an_edge_in_half_precision(dtype: torch.dtype) -> None:
    rounding = torch.finfo(dtype).eps
    x = torch.full((4,), 2.0 * (1 - rounding / 2), dtype=dtype).requires_grad_()
    found = capture.check(on_the_edge, backends=[planting("mul", lambda y: y * (1 + rounding))])(x)
    assert found.ok
    assert [edge.call for edge in found.edges] == ["relu6"]


def test_a_wrong_capture_without_a_wrong_graph() -> None:
    """The program asks whether it is captured: no graph is wrong alone."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if capture.is_capturing() else x * 3

    found = capture.check(program)(data(3))
    assert (found.ok, found.stage, found.graph, found.operation) == (False, "eager", None, None)


def test_wrong_use() -> None:
    with pytest.raises(UsageError, match=r"write capture\.check\(fn\)\(\*args\)"):
        capture.check(chain, data(3))
    with pytest.raises(UsageError, match="only callables"):
        capture.check(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"write backends=\['llvm'\]"):
        capture.check(chain, backends="llvm")


def test_check_of_each_new_graph(caplog: pytest.LogCaptureFixture) -> None:
    x = data(3, 5)
    with capture.config.patch(check=True):
        result = capture.compile(chain, backend=planting("exp", lambda y: y * 1.01))(x)
    assert torch.allclose(result, chain(x) + 5 * torch.tensor(1.01).log())  # the program's own result
    assert "wrong: stage planted, exp (" in caplog.text


def test_check_of_what_cannot_be_checked(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("capture.checking.watch.Search", refuse)
    x = data(3, 5)
    with capture.config.patch(check=True):
        assert torch.allclose(capture.compile(chain)(x), chain(x))
    assert "could not be checked: RuntimeError: out of luck" in caplog.text
