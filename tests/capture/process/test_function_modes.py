"""Modes of torch around the captured call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import capture
from tests.capture.cases.torch.function_modes import Recording, Shifted, Subtracting


class Graphs:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, gm: Any, inputs: Any) -> Any:
        self.count += 1
        return gm.forward


@pytest.fixture(params=["eager", "llvm"])
def backend(request: Any) -> Any:
    return request.param


def test_modes_are_guarded(backend: str) -> None:
    fast, x = capture.compile(lambda x: torch.add(x, 1) * 2, backend=backend), torch.ones(3)
    for _ in range(2):
        assert fast(x).tolist() == [4.0] * 3
        with Subtracting():
            assert fast(x).tolist() == [0.0] * 3
        with Recording(), Subtracting():
            assert fast(x).tolist() == [0.0] * 3
    assert torch._C._len_torch_function_stack() == 0


def test_what_a_mode_reads_is_guarded(backend: str) -> None:
    fast, x = capture.compile(lambda x: torch.sin(x), backend=backend), torch.zeros(2)
    mode = Shifted(1.0)
    with mode:
        assert fast(x).tolist() == [1.0, 1.0]
    mode.by = 5.0
    with mode:
        assert fast(x).tolist() == [5.0, 5.0]
    with Shifted(1.0):
        assert fast(x).tolist() == [1.0, 1.0]


def test_a_mode_sees_each_operation_once(backend: str) -> None:
    fast = capture.compile(lambda x: (torch.sin(x) * 2).sum(), backend=backend)
    x = torch.ones(3, requires_grad=True)
    z = torch.tensor(1.0)
    for _ in range(3):
        with Recording() as mode:
            y = fast(x) * z
        assert [name for name, _, _ in mode.seen] == ["sin", "mul", "sum", "mul"]
        y.backward()


def test_one_graph_under_a_default_device() -> None:
    graphs = Graphs()
    fast = capture.compile(lambda x: (x + torch.ones(4), torch.get_default_device()), backend=graphs)
    x = torch.zeros(4)
    torch.set_default_device("cpu")
    try:
        first, second = fast(x), fast(x)
    finally:
        torch.set_default_device(None)
    assert first[0].tolist() == second[0].tolist() == [1.0] * 4
    assert first[1] == torch.device("cpu") and graphs.count == 1
    with torch.device("meta"):
        assert torch.ones(2).device.type == "meta"
        assert capture.compile(lambda: torch.ones(4))().device.type == "meta"


def test_a_broken_frame_under_a_mode(capsys: Any) -> None:
    def broken(x):
        with torch.no_grad():
            y = torch.sin(x)
            print("a break")
            return torch.cos(y)

    seen = []
    for wrap in (lambda f: f, lambda f: capture.compile(f, backend="eager")):
        with Recording() as mode:
            wrap(broken)(torch.ones(2, requires_grad=True))
        seen.append([name for name, _, _ in mode.seen])
    assert seen[0] == seen[1]


def test_a_mode_that_fails_leaves_the_stack_alone() -> None:
    class Failing(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError(func.__name__)

    fast, x = capture.compile(lambda x: torch.sin(x), backend="eager"), torch.ones(2)
    for _ in range(2):
        with Failing(), pytest.raises(KeyError, match="sin"):
            fast(x)
    assert torch._C._len_torch_function_stack() == 0
    assert torch.equal(fast(torch.zeros(2)), torch.zeros(2))


def test_dispatch_modes_are_left_to_python() -> None:
    class Dispatched(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    fast = capture.compile(lambda x: torch.sin(x) * 2)
    fast(torch.ones(2))
    with Dispatched() as mode:
        fast(torch.ones(2))
    assert mode.seen[-2:] == ["aten.sin.default", "aten.mul.Tensor"]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_what_keeps_operations_from_modes_is_left_to_python(backend: str) -> None:
    """Fake tensors do not get these modes either, so nothing is captured while they are set."""

    def shielded(x):
        y = x * 2
        guard = torch._C._DisableTorchDispatch()
        y = y + 1
        del guard
        return y.sin()

    fast = capture.compile(shielded, backend=backend)
    for _ in range(2):
        assert torch.equal(fast(torch.ones(2)), shielded(torch.ones(2)))


def test_the_ways_to_arrays_and_back_are_not_seen(backend: str) -> None:
    def function(x: torch.Tensor) -> Any:
        array = (x * 2).numpy()
        return array, array.sum(), torch.from_numpy(array) + 1, torch.as_tensor(array)

    seen = []
    for called in (function, capture.compile(function, backend=backend)):
        x = torch.ones(3)
        with Recording() as mode:
            called(x)
        seen.append(mode.seen)
    assert seen[0] == seen[1]
