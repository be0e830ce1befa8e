"""`__torch_dispatch__` in C: the device is answered at once, everything else by the function in Python.

The twin in Python does the same.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import _capture
import pytest

from capture.hooks import python_capture

DEVICE, META = object(), object()

pytestmark = pytest.mark.parametrize(
    "kind", [_capture.FakeDispatch, python_capture.FakeDispatch], ids=["native", "twin"]
)


def otherwise(mode: Any, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return (mode, operator, types, args, kwargs)


def test_the_device_of_a_fake_tensor(kind: Any):
    dispatch = kind(DEVICE, META, otherwise)
    mode, fake = SimpleNamespace(in_kernel_invocation=False), SimpleNamespace(_fake_device=object())
    assert dispatch(mode, DEVICE, (), (fake,)) is fake._fake_device
    mode.in_kernel_invocation = True
    assert dispatch(mode, DEVICE, (), (fake,), None) is META
    with pytest.raises(AttributeError, match="in_kernel_invocation"):
        dispatch(fake, DEVICE, (), (fake,))


def test_a_mode_that_holds_the_mode(kind: Any):
    dispatch = kind(DEVICE, META, otherwise, "mode")
    outer = SimpleNamespace(mode=SimpleNamespace(in_kernel_invocation=True))
    assert dispatch(outer, DEVICE, (), (None,)) is META
    with pytest.raises(AttributeError, match="mode"):
        dispatch(outer.mode, DEVICE, (), (None,))


def test_other_operators_go_to_the_function(kind: Any):
    class Mode:
        __torch_dispatch__ = kind(DEVICE, META, otherwise)

    mode, operator = Mode(), object()
    assert mode.__torch_dispatch__.__self__ is mode
    assert mode.__torch_dispatch__(operator, (), (1,), {"a": 2}) == (mode, operator, (), (1,), {"a": 2})
    assert mode.__torch_dispatch__(operator, (), kwargs=None) == (mode, operator, (), (), None)
    with pytest.raises(TypeError):
        mode.__torch_dispatch__()


def test_references(kind: Any):
    def own(*args: Any) -> None: ...

    counts = [sys.getrefcount(value) for value in (DEVICE, META, own)]
    for _ in range(3):
        dispatch = kind(DEVICE, META, own)
        dispatch(SimpleNamespace(in_kernel_invocation=True), DEVICE, (), (None,))
    del dispatch
    assert [sys.getrefcount(value) for value in (DEVICE, META, own)] == counts
