"""ConvertedInputs: a graph is called with tensors in the place of the frame's values."""

import gc
import math
import sys
import weakref

import _capture
import pytest
import torch

_capture.calibrate()


def from_float(value):
    return torch.tensor(value, dtype=torch.float64)


def doubled(value):
    return value * 2


def graph(*args):
    return args


@pytest.mark.parametrize("value", [0.5, -0.0, math.inf, 1e308, 5e-324])
def test_a_float_becomes_a_tensor(value):
    call = _capture.ConvertedInputs(graph, ((1, from_float),), from_float)
    for _ in range(3):
        x, number, rest = call("x", value, 3)
        expected = from_float(value)
        assert (x, rest) == ("x", 3)
        assert (number.dtype, number.shape, number.stride()) == (torch.float64, (), ())
        assert number.view(torch.int64).item() == expected.view(torch.int64).item()
    assert math.isnan(call("x", math.nan)[1].item())


def test_tensors_of_two_calls_are_two_tensors():
    call = _capture.ConvertedInputs(graph, ((0, from_float), (1, from_float)), from_float)
    first, second = call(1.0, 2.0), call(3.0, 4.0)
    assert [t.item() for t in (*first, *second)] == [1.0, 2.0, 3.0, 4.0]


def test_other_conversions_are_called():
    call = _capture.ConvertedInputs(graph, ((0, doubled), (2, from_float)), from_float)
    assert call(3, 4, 5) == (6, 4, from_float(5))
    assert call(1.5, 4, True)[0] == 3.0
    many = _capture.ConvertedInputs(graph, tuple((i, doubled) for i in range(40)), from_float)
    assert many(*range(40), "rest") == (*range(0, 80, 2), "rest")


def test_errors_come_through_and_nothing_is_kept():
    def fails(value):
        raise KeyError(value)

    value = object()
    before = sys.getrefcount(value)
    call = _capture.ConvertedInputs(graph, ((0, from_float), (1, fails)), from_float)
    with pytest.raises(KeyError, match="mine"):
        call(1.0, "mine", value)
    with pytest.raises(TypeError, match="called with 1 arguments, the one at 1 is missing"):
        call(1.0)
    with pytest.raises(TypeError, match="no keyword arguments"):
        call(1.0, 2.0, x=3)
    with pytest.raises(ZeroDivisionError):
        _capture.ConvertedInputs(lambda x: 1 / 0, ((0, from_float),), from_float)(1.0)
    assert sys.getrefcount(value) == before


def test_may_fail_is_the_graphs():
    class Sure:
        may_fail = False

    assert _capture.ConvertedInputs(Sure(), (), from_float).may_fail is False
    assert _capture.ConvertedInputs(graph, (), from_float).may_fail is True
    assert _capture.ConvertedInputs(graph, (), from_float).graph is graph


def test_it_is_collected():
    class Graph:
        pass

    held = Graph()
    held.call = _capture.ConvertedInputs(held, (), from_float)
    gone = weakref.ref(held)
    del held
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("places", [[], (3,), ((1, 2),), ((1,),), (("a", len),)])
def test_wrong_places(places):
    with pytest.raises(TypeError):
        _capture.ConvertedInputs(graph, places, from_float)
