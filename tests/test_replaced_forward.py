"""Programs that replace methods of a compiled module, and call what they have replaced."""

from __future__ import annotations

import copy
import types

import pytest
import torch

import capture

x = torch.linspace(-1, 1, 8).reshape(2, 4)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, a):
        return self.linear(a).relu()


def wraps(module):
    forward = module.forward
    module.forward = lambda a: forward(a) * 2


def wraps_twice(module):
    wraps(module)
    wraps(module)


def puts_back(module):
    forward = module.forward
    wraps(module)
    module.forward = forward


def binds_a_function(module):
    """As accelerate does, for autocast."""
    function = module.forward.__func__
    module.forward = types.MethodType(lambda self, a: function(self, a) * 3, module)


def keeps_the_original(module):
    module._original_forward = module.forward
    module.forward = lambda a: module._original_forward(a) - 1


def sets_call(module):
    module.__call__ = lambda a: None


def of_the_class(module):
    type(module).forward = lambda self, a: self.linear(a) * 5


def sub_module(module):
    forward = module.linear.forward
    module.linear.forward = lambda a: forward(a) + 7


CHANGES = (
    wraps, wraps_twice, puts_back, binds_a_function, keeps_the_original, sets_call, of_the_class, sub_module,
)  # fmt: skip
FORMS = {
    "compile": lambda net: capture.compile(net, backend="eager"),
    "fullgraph": lambda net: capture.compile(net, backend="eager", fullgraph=True),
    "settrace": lambda net: capture.compile(net, backend="eager", hook="settrace"),
    "disable": capture.disable,
    "twice": lambda net: capture.compile(capture.compile(net, backend="eager"), backend="eager"),
}


@pytest.fixture(autouse=True)
def fresh():
    """All classes share the code of one `forward`."""
    capture.reset()


def new_net():
    """Of a class of its own, which a change may change."""
    return type("Own", (Net,), {"forward": Net.forward})()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("called_before", [False, True])
def test_a_change_of_a_compiled_module(form, change, called_before):
    net = new_net()
    expected_net = new_net()
    fast = form(net)
    if called_before:
        fast(x)
    changed = net if change is of_the_class else fast
    change(changed)
    change(expected_net)
    expected = expected_net(x)
    for _ in range(2):
        assert torch.equal(fast(x), expected)
        assert torch.equal(fast.forward(x), expected)
        assert torch.equal(net(x), expected)


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_module_in_a_captured_frame(change):
    net, expected_net = new_net(), new_net()
    fast = capture.compile(net, backend="eager")
    change(net if change is of_the_class else fast)
    change(expected_net)

    def calls(a):
        return fast(a) + 1

    for _ in range(2):
        assert torch.equal(capture.compile(calls, backend="eager", fullgraph=True)(x), expected_net(x) + 1)


def test_the_wrapped_forward_is_captured():
    graphs = []

    def count(gm, inputs):
        graphs.append(gm)
        return gm.forward

    fast = capture.compile(new_net(), backend=count)
    wraps(fast)
    fast(x)
    fast(x)
    assert len(graphs) == 1


def test_a_static_forward():
    class Static(torch.nn.Module):
        @staticmethod
        def forward(a):
            return a * 2

    fast = FORMS["compile"](Static())
    wraps(fast)
    assert torch.equal(fast(x), x * 4)


def test_a_copy_of_a_changed_module():
    fast = FORMS["compile"](new_net())
    binds_a_function(fast)
    assert torch.equal(copy.copy(fast)(x), fast(x))
