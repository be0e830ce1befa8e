"""Operators over lists of tensors: kernels, and eager's behaviour one tensor after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from codegen.kernel.foreach import FOREACH
from codegen.launch import assembly

pytest.importorskip("_capture")


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    capture.reset()
    yield
    capture.reset()


def lists(count: int = 3, shift: float = 0.5) -> list[torch.Tensor]:
    return [torch.rand(3 + i, 2) * 0.9 + shift for i in range(count)]


def operands(name: str, overload: str) -> tuple[Any, ...]:
    """The arguments after the first list."""
    if name in ("addcmul", "addcdiv"):
        return (lists(), lists(), *({"Scalar": (0.5,), "ScalarList": ([0.5, 2.0, -1.0],)}[overload]))
    last = {"List": lists(), "Scalar": 0.7, "ScalarList": [0.7, 2.0, -1.0], "Tensor": torch.tensor(1.5)}
    if overload == "default":
        return (lists(),) if name == "copy" else ()
    return (lists(), last[overload]) if name == "lerp" else (last[overload],)


def assert_like_eager(function: Callable[..., Any], *args: Any) -> None:
    copied = torch.utils._pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, args)
    actual, expected = capture.compile(function, fullgraph=True)(*copied), function(*args)
    for have, want in zip(
        torch.utils._pytree.tree_leaves((actual, copied)), torch.utils._pytree.tree_leaves((expected, args))
    ):
        torch.testing.assert_close(have, want)


CASES = [
    op
    for op in sorted(FOREACH, key=str)  # the same order, and names, in every process
    if hasattr(torch, op._schema.name.removeprefix("aten::"))
    and not any(name in str(op) for name in ("norm", "zero", "unscale"))
]


@pytest.mark.parametrize("op", CASES, ids=str)
def test_as_in_eager(op: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name = op._schema.name.removeprefix("aten::")
    made: list[Any] = []
    link = assembly.link
    monkeypatch.setattr(assembly, "link", lambda *args: made.append(link(*args)) or made[-1])
    rest = operands(name.removeprefix("_foreach_").rstrip("_"), op._overloadname)
    function = getattr(torch, name)
    domain = -0.45 if "sin" in name or "cos" in name else 0.1
    assert_like_eager(lambda items, *rest: function(items, *rest), lists(shift=domain), *rest)
    assert made and not any("foreach" in call for graph in made for call in graph.extern_calls)


def test_alpha_and_norms() -> None:
    assert_like_eager(lambda x, y: torch._foreach_add(x, y, alpha=0.5), lists(), lists())
    assert_like_eager(lambda x, y: torch._foreach_sub_(x, y, alpha=2), lists(), lists())
    assert_like_eager(lambda x: torch._foreach_norm(x) + torch._foreach_norm(x, float("inf")), lists())
    assert_like_eager(lambda x: torch._foreach_zero_(x), lists())


def test_tensors_that_share_memory_see_each_other() -> None:
    def function(memory: torch.Tensor, other: torch.Tensor) -> None:
        parts = [memory[:6], memory[3:9], memory]
        torch._foreach_mul_(parts, 2.0)
        torch._foreach_addcmul_(parts, [other[:6], other[:6], other], [part.clone() for part in parts], 0.5)

    assert_like_eager(function, torch.rand(10), torch.rand(10))


def test_one_tensor_twice() -> None:
    def function(x: torch.Tensor) -> None:
        torch._foreach_add_([x, x], 1.0)

    assert_like_eager(function, torch.rand(4))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: torch._foreach_add(x, y[:2]),
        lambda x, y: torch._foreach_mul_(x, [1.0, 2.0]),
        lambda x, y: torch._foreach_addcmul_(x, y, y[:1]),
        lambda x, y: torch._foreach_sqrt([]),
    ],
)
def test_lists_that_do_not_fit_raise_eagers_error(function: Callable[..., Any]) -> None:
    x, y = lists(), lists()
    with pytest.raises(RuntimeError) as eager:
        function(x, y)
    with pytest.raises(RuntimeError) as ours:
        capture.compile(function)(x, y)
    assert str(ours.value) == str(eager.value)


def test_integers_and_mixed_dtypes() -> None:
    assert_like_eager(
        lambda x: torch._foreach_add(x, 1.5), [torch.arange(3), torch.rand(2), torch.rand(2).double()]
    )
    assert_like_eager(
        lambda x, y: torch._foreach_mul(x, y),
        [torch.arange(3), torch.rand(3)],
        [torch.rand(3), torch.arange(3)],
    )


NOT_FINITE = (None, float("inf"), float("-inf"), float("nan"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", NOT_FINITE, ids=str)
def test_gradients_of_a_scaler(value: float | None, dtype: torch.dtype) -> None:
    def unscale(grads: list[torch.Tensor], found: torch.Tensor, factor: torch.Tensor) -> Any:
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, factor)
        return [grad + 1 for grad in grads], found * 2

    for before in (0.0, 1.0):
        grads = [grad.to(dtype) for grad in lists()]
        if value is not None:
            grads[1][0] = value
        scalars = torch.full((), before), torch.tensor(1 / 3)
        own = [grad.clone() for grad in grads], *(scalar.clone() for scalar in scalars)
        actual, expected = capture.compile(unscale, fullgraph=True)(*own), unscale(grads, *scalars)
        found, wanted = (actual, *own), (expected, grads, *scalars)
        torch.testing.assert_close(found, wanted, equal_nan=True, rtol=0, atol=0)
    assert capture.explain(unscale)(grads, *scalars).graph_count == 1


def test_gradients_of_a_scaler_are_native_code(caplog: pytest.LogCaptureFixture) -> None:
    weights = [torch.ones(3, requires_grad=True) for _ in range(2)]
    scalers = [torch.amp.GradScaler("cpu") for _ in weights]

    def step(x: torch.Tensor, number: int) -> torch.Tensor:
        weight, scaler = weights[number], scalers[number]
        optimizer = optimizers[number]
        optimizer.zero_grad()
        scaler.scale((weight * x).square().sum()).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_([weight], 1.0)
        scaler.step(optimizer)
        scaler.update()
        return norm

    optimizers = [torch.optim.AdamW([weight], lr=0.1) for weight in weights]
    captured = capture.compile(step)
    with caplog.at_level("INFO", "capture.codegen"):
        for k in range(4):
            x = torch.full((3,), float("inf") if k == 2 else 0.5 + k)
            torch.testing.assert_close(captured(x, 0), step(x, 1), equal_nan=True)
    torch.testing.assert_close(*weights)
    assert [scaler.get_scale() for scaler in scalers] == [2.0**15] * 2
    assert "through eager" not in caplog.text
