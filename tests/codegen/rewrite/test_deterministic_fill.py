"""`codegen.rewrite.deterministic_fill`: eager's values in memory that nothing wrote to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import capture
from codegen.trace.recorder import Recorder

MAKERS = {
    "empty": lambda x: torch.empty(2, 3),
    "empty of sizes": lambda x: torch.empty(x.size(0), x.size(1)),
    "empty without elements": lambda x: torch.empty(0),
    "empty_like": lambda x: torch.empty_like(x),
    "new_empty": lambda x: x.new_empty(2, 3),
    "empty_strided": lambda x: torch.empty_strided((2, 3), (3, 1)),
    "new_empty_strided": lambda x: x.new_empty_strided((2, 3), (3, 1)),
    "empty_permuted": lambda x: torch.empty_permuted((2, 3), (1, 0)),
    "channels last": lambda x: torch.empty(2, 3, 2, 2, memory_format=torch.channels_last),
    "Tensor": lambda x: torch.Tensor(2, 3),
    "new": lambda x: x.new(2, 3),
    "resize_": lambda x: torch.zeros(1).resize_(2, 3),
    "resize_as_": lambda x: torch.zeros(0).resize_as_(x),
    "read": lambda x: torch.empty(2, 3) + x,
    "written": lambda x: torch.empty(2, 3).copy_(x),
    "written in part": lambda x: torch.empty(2, 3).index_put((torch.tensor([0]),), x[0]),
    "weight": lambda x: torch.nn.functional.linear(x, torch.empty(4, 3)),
}
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
          torch.bfloat16, torch.float32, torch.float64, torch.complex64]  # fmt: skip
X = torch.ones(2, 3)


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    fill = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = fill


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (
        one.stride() == other.stride()
        and torch.equal(one.isnan(), other.isnan())
        and bool((one.nan_to_num() == other.nan_to_num()).all())
    )


def check(make: Any) -> None:
    def program(x: torch.Tensor) -> Any:
        return make(x), (x + 1) * 2

    assert same(capture.compile(program)(X)[0], program(X)[0])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("maker", MAKERS)
def test_values_are_those_of_eager(maker: str, dynamic: bool) -> None:
    with capture.config.patch(dynamic=dynamic):
        check(MAKERS[maker])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: torch.dtype) -> None:
    check(lambda x: torch.empty(3, dtype=dtype))


def test_settings_that_change_between_calls() -> None:
    captured = capture.compile(lambda x: torch.empty(2, 3).mul(0).add(x).isnan().any())
    assert captured(X)
    torch.utils.deterministic.fill_uninitialized_memory = False
    captured(X)
    torch.utils.deterministic.fill_uninitialized_memory = True
    assert captured(X)


def test_the_frame_switches_it_on() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        torch.use_deterministic_algorithms(True)
        return torch.empty(2, 3) + x

    torch.use_deterministic_algorithms(False)
    assert capture.compile(program)(X).isnan().all()


def test_what_lays_a_result_out_is_not_filled_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be laid out, too, without an end."""
    calls: list[Any] = []
    restrided = Recorder.restrided
    monkeypatch.setattr(Recorder, "restrided", lambda *args: calls.append(args) or restrided(*args))
    captured = capture.compile(lambda x: torch.empty(2, 5, 3, 2, memory_format=torch.channels_last))
    with capture.config.patch(disk_cache=False):
        assert captured(X).is_contiguous(memory_format=torch.channels_last)
    assert len(calls) == 1
