"""Attributes of `threading.local()`: read from and stored in the dict of the thread that runs the code."""

from __future__ import annotations

import threading

import pytest
import torch

import capture


def in_thread(function):
    results = []

    def run():
        try:
            results.append(function())
        except Exception as error:
            results.append((type(error), str(error)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


def test_each_thread_has_its_own_attributes():
    local = threading.local()
    local.scale = torch.full((2,), 3.0)

    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    @capture.compile(backend=backend, fullgraph=True)
    def scaled(x):
        return x * local.scale

    def elsewhere():
        local.scale = torch.full((2,), 5.0)
        return scaled(torch.ones(2)).tolist()

    assert scaled(torch.ones(2)).tolist() == [3.0, 3.0]
    assert in_thread(elsewhere) == [5.0, 5.0]
    assert scaled(torch.ones(2)).tolist() == [3.0, 3.0]
    assert len(graphs) == 1
    local.scale = 7
    assert scaled(torch.ones(2)).tolist() == [7.0, 7.0]


def test_a_thread_without_the_attribute():
    local = threading.local()
    local.scale = 3

    def scaled(x):
        return x * local.scale

    compiled = capture.compile(scaled, backend="eager")
    assert compiled(torch.ones(2)).tolist() == [3.0, 3.0]
    error = AttributeError, "'_thread._local' object has no attribute 'scale'"
    assert in_thread(lambda: compiled(torch.ones(2))) == error == in_thread(lambda: scaled(torch.ones(2)))


@pytest.mark.parametrize("breaks", [False, True])
def test_stores_reach_the_thread(breaks):
    local = threading.local()

    def count(x):
        local.count = getattr(local, "count", 0) + 1
        local.last = x + local.count
        local.gone = 1
        if breaks:
            capture.graph_break()
        del local.gone
        return local.last * 2, hasattr(local, "gone"), sorted(vars(local))

    compiled = capture.compile(count, backend="eager")
    for call in (1, 2, 3):
        result, gone, names = compiled(torch.ones(2))
        assert result.tolist() == [2.0 + 2 * call] * 2 and not gone and names == ["count", "last"]
        assert vars(local)["count"] == call and local.last.tolist() == [1.0 + call] * 2
    assert in_thread(lambda: compiled(torch.ones(2))[0].tolist()) == [4.0, 4.0]
    assert local.count == 3


def test_a_class_on_top_is_left_to_python():
    class Own(threading.local):
        def __init__(self):
            self.scale = 3

    local = Own()

    def scaled(x):
        return x * local.scale

    compiled = capture.compile(scaled, backend="eager")
    assert compiled(torch.ones(2)).tolist() == [3.0, 3.0]
    local.scale = 4
    assert compiled(torch.ones(2)).tolist() == [4.0, 4.0]
    assert in_thread(lambda: compiled(torch.ones(2)).tolist()) == [3.0, 3.0]
