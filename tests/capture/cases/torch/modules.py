"""nn.Module: calls, containers, traversal, modes, shared weights, modules as arguments and globals."""

from __future__ import annotations

import collections

import torch
import torch.nn.functional as F
from torch import nn

from tests.capture.cases.registry import case


def with_net(make, *shape):
    def args():
        torch.manual_seed(0)
        return torch.randn(*(shape or (3, 4))), make()

    return args


@case(1, 1, with_net(lambda: nn.Linear(4, 4)))
def linear(x, net):
    return net(x)


class SharedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4, bias=False)
        self.b = nn.Linear(4, 4, bias=False)
        self.b.weight = self.a.weight
        self.again = self.a

    def forward(self, x):
        return self.again(self.b(self.a(x)))


@case(1, 3, with_net(SharedWeights))
def weight_sharing(x, net):
    return net(x), len(list(net.parameters())), net.b.weight is net.a.weight


class Delegates(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x):
        return self.inner(x) + self.in_features


@case(1, 2, with_net(Delegates))
def getattr_override(x, net):
    return net(x), net.out_features, hasattr(net, "nothing")


class PlainListed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(2)]
        self.table = {"act": nn.ReLU(), "id": nn.Identity()}
        self.pair = (nn.Tanh(), nn.Sigmoid())

    def forward(self, x, key="act"):
        for layer in self.layers:
            x = layer(x)
        return self.pair[1](self.table[key](x))


@case(1, 4, with_net(PlainListed))
def submodules_in_plain_containers(x, net):
    return net(x)


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(4) * i) for i in range(3)])
        self.named = nn.ParameterDict({"a": nn.Parameter(torch.ones(4)), "b": nn.Parameter(torch.zeros(4))})
        self.blocks = nn.ModuleDict(collections.OrderedDict(one=nn.ReLU(), two=nn.Tanh()))
        self.stack = nn.ModuleList([nn.Identity(), nn.Linear(4, 4)])

    def forward(self, x):
        for w in self.weights:
            x = x * w
        for name, p in self.named.items():
            x = x + p
        for name, block in self.blocks.items():
            x = block(x)
        for i in range(len(self.stack)):
            x = self.stack[i](x)
        return x + self.weights[-1] + self.named["a"]


@case(1, 3 + 2 + 2 + 1 + 2, with_net(Containers))
def containers(x, net):
    return net(x)


@case(1, 1, with_net(Containers))
def container_questions(x, net):
    return (
        x + len(net.weights) + 0 if False else x + len(net.weights),
        list(net.blocks.keys()),
        "one" in net.blocks,
        "a" in net.named,
        len(net.stack),
        [type(m).__name__ for m in net.stack[::-1]],
        list(net.named.keys()),
        [n for n, _ in net.named_children()],
    )


@case(1, 1, with_net(Containers))
def traversal(x, net):
    return (
        x + 1,
        [n for n, _ in net.named_modules()],
        [n for n, _ in net.named_parameters()],
        [n for n, _ in net.named_buffers()],
        sum(p.numel() for p in net.parameters() if p.requires_grad),
        len(list(net.modules())),
        [type(m).__name__ for m in net.children()],
        net.get_submodule("stack.1").in_features,
    )


class Sequenced(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2), nn.Tanh()))

    def forward(self, x):
        for module in self.seq:
            x = module(x)
        return x


@case(1, 4, with_net(Sequenced))
def sequential_iteration(x, net):
    return net(x)


@case(1, 2, with_net(Sequenced))
def sequential_indexing(x, net):
    return net.seq[-1](x), len(net.seq), net.seq[0] is net.seq._modules["0"], type(net.seq[1:]).__name__


@case(1, 2, with_net(lambda: nn.Sequential(collections.OrderedDict(fc=nn.Linear(4, 4), act=nn.ReLU()))))
def sequential_named(x, net):
    return net.act(net.fc(x))


class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.bn = nn.BatchNorm1d(4)

    def forward(self, x):
        if self.training:
            return self.bn(x)
        return self.drop(self.bn(x)) * 2


@case(1, 3, with_net(lambda: Modes().eval()))
def eval_mode(x, net):
    return net(x), net.training, net.drop.training


@case(1, None, with_net(Modes))
def train_mode(x, net):
    return net(x), net.bn.running_mean, net.bn.num_batches_tracked


@case(None, None, with_net(Modes))
def eval_inside(x, net):
    net.eval()
    y = net(x)
    net.train()
    return y, net.training, net.bn.training


class MethodsAsForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.step(self.step(x), times=2)

    def step(self, x, times=1):
        for _ in range(times):
            x = self.fc(x)
        return x

    @property
    def width(self):
        return self.fc.in_features

    @staticmethod
    def double(x):
        return x * 2

    @classmethod
    def label(cls):
        return cls.__name__


@case(1, 4, with_net(MethodsAsForward))
def module_methods(x, net):
    return net.double(net(x)), net.width, net.label()


@case(1, 1, with_net(MethodsAsForward))
def forward_of_child_directly(x, net):
    return net.fc.forward(x)


@case(1, 1, with_net(MethodsAsForward))
def functional_with_weight(x, net):
    return F.linear(x, net.fc.weight, net.fc.bias)


@case(1, 3, with_net(MethodsAsForward))
def weight_arithmetic(x, net):
    w = net.fc.weight * 2
    return x @ w.t()


class Optional_(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = None
        self.register_parameter("scale", None)
        self.register_buffer("mask", None)
        self.norm = None

    def forward(self, x):
        if self.bias is not None:
            x = x + self.bias
        if self.scale is None and self.mask is None:
            x = x * 2
        return x if self.norm is None else self.norm(x)


@case(1, 1, with_net(Optional_))
def optional_parts(x, net):
    return net(x)


class Nested(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.child = Nested(depth - 1) if depth else None

    def forward(self, x):
        x = torch.relu(self.fc(x))
        return x if self.child is None else self.child(x)


@case(1, 8, with_net(lambda: Nested(3)))
def recursive_modules(x, net):
    return net(x)


class WithKwargs(nn.Module):
    def forward(self, x, *args, scale=1, **kwargs):
        for a in args:
            x = x + a
        return x * scale + sum(kwargs.values())


@case(1, 4, with_net(WithKwargs))
def module_call_forms(x, net):
    return net(x, 1, 2, scale=3, **{"a": 1, "b": 2})


class ReturnsMany(nn.Module):
    def forward(self, x):
        return {"out": x + 1, "aux": [x * 2, (x - 1, None)]}


@case(1, 3, with_net(ReturnsMany))
def nested_outputs(x, net):
    out = net(x)
    return out, out["aux"][1][1]


class CallOverride(nn.Module):
    def forward(self, x):
        return x + 1

    def __call__(self, x):
        return super().__call__(x) * 2


@case(1, 2, with_net(CallOverride))
def call_override(x, net):
    return net(x)


class SuperForward(MethodsAsForward):
    def forward(self, x):
        return super().forward(x) + 1


@case(1, 4, with_net(SuperForward))
def super_forward(x, net):
    return net(x)


@case(1, 1, with_net(lambda: [nn.ReLU(), nn.Tanh()]))
def modules_in_list_argument(x, nets):
    return nets[0](x)


@case(1, 2, with_net(lambda: {"a": nn.ReLU(), "b": nn.Linear(4, 4)}))
def modules_in_dict_argument(x, nets):
    for name in sorted(nets):
        x = nets[name](x)
    return x


GLOBAL_NET = nn.Linear(4, 4)


@case(1, 1)
def global_module(x):
    return GLOBAL_NET(x)


@case(1, 1)
def module_in_closure(x):
    net = GLOBAL_NET

    def run(t):
        return net(t)

    return run(x)


@case(
    1,
    2,
    with_net(lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dropout=0.0), 2, 3, 4)
    if False
    else with_net(lambda: nn.Linear(4, 4)),
)
def isinstance_dispatch(x, net):
    if isinstance(net, (nn.Linear, nn.Conv2d)):
        x = net(x)
    return torch.relu(x) if isinstance(net, nn.Module) and not isinstance(net, nn.Sequential) else x


@case(1, 1, with_net(lambda: nn.Linear(4, 4)))
def module_type_name(x, net):
    return net(x), net.__class__.__name__, type(net) is nn.Linear, net._get_name()


class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        outs = []
        for layer in self.layers:
            x = layer(x)
            outs.append(x)
            if x.sum() > 1e9:
                break
        return outs


@case(None, None, with_net(EarlyExit))
def data_dependent_layer_loop(x, net):
    return net(x)


@case(1, 2, with_net(lambda: nn.ModuleList([nn.ReLU(), nn.Tanh()])))
def module_list_unpacked(x, nets):
    first, second = nets
    return second(first(x))


@case(1, 2, with_net(lambda: nn.Sequential(nn.ReLU(), nn.Tanh())))
def modules_zipped(x, net):
    for i, (name, m) in zip(range(5), net.named_children()):
        x = m(x)
    return x, i, name


@case(1, 3, with_net(lambda: nn.Linear(4, 4)))
def parameters_in_loss(x, net):
    return (
        net(x).sum() + next(net.parameters())[0, 0]
        if False
        else (net(x).sum() + next(iter(net.parameters())).sum(0)[0], 1)[0]
        if False
        else net(x).sum() * net.bias
    )
