"""No mode of torch's dispatcher stays on behind a capture."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _python_dispatch

import capture
from capture.process import dispatch_modes
from codegen.fake.fake import FakeMode


def test_a_mode_that_could_not_be_left_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: FakeTensorMode, *error: object) -> None:
        raise MemoryError("no frame for this call")

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    captured = capture.compile(f, backend="eager")
    x = torch.ones(3)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(FakeTensorMode, "__exit__", fails)
        captured(x)
    assert torch._C._len_torch_dispatch_stack() == 0
    assert not _python_dispatch.is_in_torch_dispatch_mode()
    assert not torch._C._only_lift_cpu_tensors()
    result = captured(x)
    assert not isinstance(result, FakeTensor)
    assert torch.equal(result, f(x))


def test_all_modes_of_a_block_are_left() -> None:
    with dispatch_modes.all_left():
        FakeMode().__enter__()
        FakeMode().__enter__()
        assert isinstance(torch.ones(2), FakeTensor)
    assert not isinstance(torch.ones(2), FakeTensor)
