"""Arguments as programs written for torch.compile pass them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture


class Counting:
    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        self.graphs += 1
        return module.forward


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@pytest.mark.parametrize("mode", [None, "default", "max-autotune"])
def test_modes_change_nothing(mode: str | None) -> None:
    counting = Counting()
    compiled = capture.compile(plus_one, backend=counting, mode=mode)
    assert torch.equal(compiled(torch.zeros(2)), torch.ones(2))
    assert counting.graphs == 1


def test_unknown_mode() -> None:
    with pytest.raises(capture.UsageError, match="did you mean 'default'"):
        capture.compile(plus_one, mode="defaul")


def test_disable_gives_the_function_back() -> None:
    assert capture.compile(plus_one, disable=True) is plus_one
    assert capture.compile(disable=True)(plus_one) is plus_one


@pytest.mark.parametrize(
    "function", [torch.add, torch.ops.aten.add, torch.ops.aten.add.Tensor, torch.Tensor.add]
)
def test_functions_without_a_frame(function: Any) -> None:
    counting = Counting()
    compiled = capture.compile(function, backend=counting, fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(2), torch.ones(2)), torch.full((2,), 2.0))
    assert counting.graphs == 1


def test_a_disabled_class_is_made_by_python() -> None:
    @capture.disable
    class Scale:
        def __init__(self) -> None:
            self.scale = 3 if not capture.is_capturing() else 5

    @capture.disable
    class Empty:
        pass

    counting = Counting()

    @capture.compile(backend=counting)
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return y * Scale().scale

    assert torch.equal(run(torch.zeros(2)), torch.full((2,), 3.0))
    assert counting.graphs == 2
    assert isinstance(Empty(), Empty)


def test_reasons_are_for_readers() -> None:
    @capture.disable(reason="slow")
    def left_alone(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    counting = Counting()

    @capture.compile(backend=counting)
    def run(x: torch.Tensor) -> torch.Tensor:
        y = left_alone(x + 1)
        capture.graph_break(msg="here")
        return y + 1

    assert torch.equal(run(torch.zeros(2)), torch.full((2,), 3.0))
    assert counting.graphs == 2


def test_settings_are_patched_by_name_and_by_dict() -> None:
    limit = capture.config.recompile_limit
    with capture.config.patch("recompile_limit", 2):
        assert capture.config.recompile_limit == 2
        with capture.config.patch({"recompile_limit": 3, "dynamic": True}):
            assert (capture.config.recompile_limit, capture.config.dynamic) == (3, True)
    assert capture.config.recompile_limit == limit
