"""Hooks of modules: before and after forward, with keywords, with effects, with breaks."""

from __future__ import annotations

from torch import nn

from tests.capture.cases.registry import case, show
from tests.capture.cases.torch.modules import with_net


class Hooked(nn.Module):
    def __init__(self, **hooks):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.log = []

    def forward(self, x, scale=1):
        return self.inner(x) * scale


def forward_hook(module, args, output):
    return output + 1


def pre_hook(module, args):
    return (args[0] * 2,)


def pre_hook_value(module, args):
    return args[0] * 3


def pre_hook_none(module, args):
    return None


def kwargs_pre_hook(module, args, kwargs):
    return args, {**kwargs, "scale": 5}


def kwargs_hook(module, args, kwargs, output):
    return output * kwargs["scale"]


def hooked(*registrations):
    def make():
        net = Hooked()
        for register, hook, options in registrations:
            getattr(net, register)(hook, **options)
        return net

    return make


@case(1, 3, with_net(hooked(("register_forward_hook", forward_hook, {}))))
def hook_forward(x, net):
    return net(x)


@case(1, 3, with_net(hooked(("register_forward_pre_hook", pre_hook, {}))))
def hook_pre(x, net):
    return net(x)


@case(1, 3, with_net(hooked(("register_forward_pre_hook", pre_hook_value, {}))))
def hook_pre_single_value(x, net):
    return net(x)


@case(1, 2, with_net(hooked(("register_forward_pre_hook", pre_hook_none, {}))))
def hook_pre_none(x, net):
    return net(x)


@case(1, 2, with_net(hooked(("register_forward_pre_hook", kwargs_pre_hook, {"with_kwargs": True}))))
def hook_pre_kwargs(x, net):
    return net(x)


@case(1, 3, with_net(hooked(("register_forward_hook", kwargs_hook, {"with_kwargs": True}))))
def hook_forward_kwargs(x, net):
    return net(x, scale=3)


@case(
    1,
    5,
    with_net(
        hooked(
            ("register_forward_hook", forward_hook, {}),
            ("register_forward_hook", forward_hook, {"prepend": True}),
            ("register_forward_pre_hook", pre_hook, {}),
        )
    ),
)
def hook_several(x, net):
    return net(x)


@case(1, 3, with_net(hooked(("register_forward_hook", forward_hook, {"always_call": True}))))
def hook_always_call(x, net):
    return net(x)


def logging_hook(module, args, output):
    module.log.append(tuple(output.shape))


@case(1, 2, with_net(hooked(("register_forward_hook", logging_hook, {}))))
def hook_with_effect(x, net):
    return net(x), net.log


def printing_hook(module, args, output):
    show("hook", output.shape)


@case(2, 3, with_net(hooked(("register_forward_hook", printing_hook, {}))))
def hook_that_breaks(x, net):
    return net(x) + 1


class Child(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Hooked()
        self.net.inner.register_forward_hook(forward_hook)

    def forward(self, x):
        return self.net(x)


@case(1, 3, with_net(Child))
def hook_on_child(x, net):
    return net(x)
