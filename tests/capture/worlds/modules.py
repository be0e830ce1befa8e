"""Worlds of nn.Module: attributes at any depth, registries, hooks, classes, torch's own methods replaced."""

from __future__ import annotations

import copy
import types

import torch
from torch import nn

from tests.capture.worlds.registry import WORLDS, World, X, world


class Model(nn.Module):
    k = 1

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.items = [nn.Linear(4, 4)]
        self.cfg = {"a": 1, "n": [1, {"z": 2}]}
        self.register_buffer("b", torch.ones(4))
        self.w = nn.Parameter(torch.ones(4))
        self.pl = nn.ParameterList([nn.Parameter(torch.ones(4))])
        self.pd = nn.ParameterDict({"a": nn.Parameter(torch.ones(4))})
        self.md = nn.ModuleDict({"a": nn.ReLU()})
        self.ml = nn.ModuleList([nn.ReLU()])
        self.sub = nn.Sequential(nn.Linear(4, 4))
        self.act = torch.relu
        self.p = 0.5
        self.opt = None

    def forward(self, x):
        return self.l(x) * self.cfg["a"] * self.cfg["n"][1]["z"] + self.b * self.w + self.k + self.items[0](x)

    def helper(self, x):
        return x * 2

    @property
    def prop(self):
        return self.k


def model():
    """A module of its own class, which a world may change."""
    torch.manual_seed(0)
    return type("Model", (Model,), {})()


def layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0), nn.BatchNorm1d(4))


#: name, change, the called function (left out: the module itself, on X)
MODEL_ROWS = [
    ("cfg", lambda m:m.cfg.__setitem__("a",3)),
    ("cfg_deep", lambda m:m.cfg["n"][1].__setitem__("z",3)),
    ("class_attr", lambda m:setattr(type(m),"k",3)),
    ("base_attr", lambda m:setattr(m,"k",3)),
    ("item", lambda m:m.items.__setitem__(0,nn.Identity())),
    ("item_weight", lambda m:setattr(m.items[0],"weight",nn.Parameter(torch.zeros(4,4)))),
    ("item_eval_hook", lambda m:m.items[0].register_forward_hook(lambda *a:a[2]*0)),
    ("buffer_replaced", lambda m:setattr(m,"b",torch.zeros(4))),
    ("buffer_dtype", lambda m:setattr(m,"b",torch.zeros(4,dtype=torch.float64))),
    ("buffer_none", lambda m:setattr(m,"b",None),lambda m: X if m.b is None else X+m.b),
    ("buffer_inplace", lambda m:m.b.fill_(7)),
    ("buffer_data", lambda m:setattr(m.b,"data",torch.full((4,),7.))),
    ("param_data_shape", lambda m:setattr(m.w,"data",torch.full((1,),7.))),
    ("param_reqgrad", lambda m:m.w.requires_grad_(False),
     lambda m:((m(X)).requires_grad, (X*m.w).requires_grad)),
    ("param_to_buffer", lambda m:(delattr(m,"w"),m.register_buffer("w",torch.zeros(4)))),
    ("param_to_attr", lambda m:(delattr(m,"w"),setattr(m,"w",5.0))),
    ("attr_shadow_dict", lambda m:m.__dict__.__setitem__("w",torch.zeros(4))),
    ("module_shadow_dict", lambda m:m.__dict__.__setitem__("l",lambda x:x*0)),
    ("class_shadow_param", lambda m:setattr(type(m),"w",9.0)),
    ("class_prop_shadow_param", lambda m:setattr(type(m),"w",property(lambda s:9.0))),
    ("getattr_patched",
     lambda m:setattr(type(m),"__getattr__",lambda s,n: 9.0 if n=="w" else nn.Module.__getattr__(s,n))),
    ("forward_class", lambda m:setattr(type(m),"forward",lambda s,x:x*9)),
    ("forward_inst", lambda m:setattr(m,"forward",lambda x:x*9)),
    ("call_class", lambda m:setattr(type(m),"__call__",lambda s,x:x*9)),
    ("call_impl", lambda m:setattr(type(m),"_call_impl",lambda s,x:x*9)),
    ("class_assign", lambda m:setattr(m,"__class__",type("Z",(Model,),{"forward":lambda s,x:x*9}))),
    ("child_class", lambda m:setattr(m.l,"__class__",type("Z",(nn.Linear,),{"forward":lambda s,x:x*9}))),
    ("helper", lambda m:setattr(type(m),"helper",lambda s,x:x*9),lambda m:m.helper(X)),
    ("prop", lambda m:setattr(type(m),"k",8),lambda m:X+m.prop),
    ("pl", lambda m:m.pl.append(nn.Parameter(torch.ones(4))),lambda m:X*len(m.pl)+sum(m.pl)),
    ("pl_item", lambda m:m.pl.__setitem__(0,nn.Parameter(torch.zeros(4))),lambda m:X+m.pl[0]),
    ("pd", lambda m:m.pd.__setitem__("b",nn.Parameter(torch.ones(4)*3)),lambda m:X+sum(m.pd.values())),
    ("pd_in", lambda m:m.pd.__setitem__("b",nn.Parameter(torch.ones(4)*3)),lambda m:X+("b" in m.pd)),
    ("md", lambda m:m.md.__setitem__("a",nn.Tanh()),lambda m:m.md["a"](X)),
    ("md_add", lambda m:m.md.__setitem__("b",nn.Tanh()),lambda m:sum(v(X) for v in m.md.values())),
    ("md_pop", lambda m:m.md.pop("a"),lambda m:X+len(m.md)),
    ("ml_insert", lambda m:m.ml.insert(0,nn.Tanh()),lambda m:m.ml[0](X)),
    ("ml_len", lambda m:m.ml.append(nn.Tanh()),lambda m:X+len(m.ml)),
    ("sub_append", lambda m:m.sub.append(nn.Tanh()),lambda m:m.sub(X)),
    ("act", lambda m:setattr(m,"act",torch.tanh),lambda m:m.act(X-5)),
    ("p", lambda m:setattr(m,"p",0.7),lambda m:X*m.p),
    ("opt", lambda m:setattr(m,"opt",torch.ones(4)),lambda m:X if m.opt is None else X+m.opt),
    ("training_child", lambda m:m.l.eval(),lambda m:X+m.l.training),
    ("named_params", lambda m:m.register_parameter("zz",nn.Parameter(torch.ones(4))),
     lambda m:X+len(list(m.named_parameters()))),
    ("named_params_sum", lambda m:m.register_parameter("zz",nn.Parameter(torch.ones(4))),
     lambda m:X+sum(p.sum() for p in m.parameters())),
    ("modules_count", lambda m:m.add_module("zz",nn.ReLU()),lambda m:X+len(list(m.modules()))),
    ("children_deep", lambda m:m.sub.append(nn.ReLU()),lambda m:X+len(list(m.modules()))),
    ("hasattr", lambda m:setattr(m,"qq",1),lambda m:X+hasattr(m,"qq")),
    ("hasattr_param", lambda m:m.register_parameter("qq",nn.Parameter(torch.ones(1))),
     lambda m:X+hasattr(m,"qq")),
    ("hasattr_class", lambda m:setattr(type(m),"qq",1),lambda m:X+hasattr(m,"qq")),
    ("getattr_default", lambda m:m.register_buffer("qq",torch.ones(4)),lambda m:X+getattr(m,"qq",5)),
    ("share", lambda m:setattr(m.sub[0],"weight",m.l.weight),lambda m:(X+1,m.l.weight is m.sub[0].weight)),
    ("double", lambda m:m.double(),lambda m:m.l(X.to(m.l.weight.dtype))),
    ("hook_remove", lambda m:m.l._forward_hooks.clear(),lambda m:m.l(X)),
]  # fmt: skip

LAYER_ROWS = [
    ("bwd_hook", lambda m:m[0].register_full_backward_hook(lambda mod,gi,go:None),
     lambda m:type(m(X).grad_fn).__name__ and m(X)),
    ("kwhook", lambda m:m[0].register_forward_hook(lambda mod,a,k,o:o*2,with_kwargs=True)),
    ("always", lambda m:m[0].register_forward_hook(lambda mod,a,o:o*2,always_call=True)),
    ("prepend", lambda m:m[0].register_forward_hook(lambda mod,a,o:o*2,prepend=True)),
    ("bn_momentum", lambda m:setattr(m[2],"momentum",0.9)),
    ("bn_momentum_none", lambda m:setattr(m[2],"momentum",None)),
    ("bn_eps", lambda m:setattr(m[2],"eps",9.)),
    ("bn_track", lambda m:setattr(m[2],"track_running_stats",False)),
    ("bn_stats", lambda m:m[2].reset_running_stats()),
    ("dropout_p", lambda m:setattr(m[1],"p",0.9)),
    ("dropout_inplace", lambda m:setattr(m[1],"inplace",True)),
    ("eval", lambda m:m.eval()),
    ("eval_child", lambda m:m[2].eval()),
    ("reverse", lambda m:setattr(m,"_modules",dict(reversed(list(m._modules.items()))))),
    ("modules_dict_swap", lambda m:m._modules.__setitem__("0",nn.Identity())),
    ("delitem", lambda m:m.__delitem__(2)),
    ("params_dict", lambda m:m[0]._parameters.__setitem__("weight",nn.Parameter(torch.zeros(4,4)))),
    ("params_dict_new",
     lambda m:setattr(m[0],"_parameters",{"weight":nn.Parameter(torch.zeros(4,4)),"bias":None})),
    ("weight_transposed", lambda m:setattr(m[0],"weight",nn.Parameter(torch.arange(16.).reshape(4,4).t()))),
    ("load_state", lambda m:m.load_state_dict({k:torch.zeros_like(v) for k,v in m.state_dict().items()})),
    ("load_state_assign",
     lambda m:m.load_state_dict({k:torch.zeros_like(v) for k,v in m.state_dict().items()},assign=True)),
    ("parametrize",
     lambda m:torch.nn.utils.parametrize.register_parametrization(m[0],"weight",
                                                                  type("P",(nn.Module,),
                                                                      {"forward":lambda s,w:w*0})())),
    ("weight_norm", lambda m:torch.nn.utils.parametrizations.weight_norm(m[0])),
    ("deepcopy_other", lambda m:m.__dict__.update(copy.deepcopy(m).__dict__)),
    ("linear_forward_global",
     lambda m:setattr(m[0],"forward",types.MethodType(lambda s,x:x+s.in_features,m[0]))),
    ("swap_tensors", lambda m: torch.utils.swap_tensors(m[0].weight, nn.Parameter(torch.zeros(4, 4)))),
]  # fmt: skip


def call(module):
    return module(X)


def make_world(make, change, body):
    module = make()
    return (lambda: body(module)), (lambda: change(module))


def add_rows(prefix, make, rows):
    for name, change, *body in rows:
        use = body[0] if body else call
        made = lambda change=change, use=use: make_world(make, change, use)
        WORLDS.append(World(f"{prefix}_{name}", made))


add_rows("model", model, MODEL_ROWS)
add_rows("layers", layers, LAYER_ROWS)


@world
def hook_removed():
    net = layers()
    handle = net[0].register_forward_hook(lambda *a: a[2] * 3)
    return (lambda: net(X)), handle.remove


@world
def hook_replaced():
    net = layers()
    handle = net[0].register_forward_hook(lambda *a: a[2] * 3)

    def change():
        handle.remove()
        net[0].register_forward_hook(lambda *a: a[2] * 5)

    return (lambda: net(X)), change


@world
def hook_closure():
    net, factors = layers(), [1]
    net[0].register_forward_hook(lambda *a: a[2] * factors[0])
    return (lambda: net(X)), (lambda: factors.__setitem__(0, 4))


def with_restore(function, change, restore):
    def f():
        return function()

    f.restore = restore
    return f, change


def global_hook_world(register, hook):
    net, handles = layers(), []
    return with_restore(
        lambda: net(X), lambda: handles.append(register(hook)), lambda: [h.remove() for h in handles]
    )


@world
def global_forward_hook():
    hook = lambda module, args, output: output * 3 if isinstance(module, nn.Linear) else None
    return global_hook_world(nn.modules.module.register_module_forward_hook, hook)


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


@world
def global_forward_hook_around_bodies():
    """A function of autograd and a mapped function have graphs of their own, which are no modules."""
    net = layers()

    def run():
        y = Squared.apply(net(X))
        y = torch.vmap(lambda row: row * row.sum())(y)
        return y, *torch.autograd.grad(y.sum(), list(net.parameters()))

    def hook(module, args, output):
        return tuple(part * 3 for part in output) if isinstance(output, tuple) else output * 3

    handles: list = []
    return with_restore(
        run,
        lambda: handles.append(nn.modules.module.register_module_forward_hook(hook)),
        lambda: [handle.remove() for handle in handles],
    )


@world
def global_forward_pre_hook():
    return global_hook_world(
        nn.modules.module.register_module_forward_pre_hook, lambda m, args: (args[0] * 3,)
    )


def patched_world(owner, name, new, function):
    """An attribute of torch itself is replaced."""
    real = getattr(owner, name)
    return with_restore(function, lambda: setattr(owner, name, new(real)), lambda: setattr(owner, name, real))


@world
def functional_linear_patched():
    net = layers()
    return patched_world(nn.functional, "linear", lambda real: lambda x, w, b=None: x * 0, lambda: net(X))


@world
def torch_function_patched():
    return patched_world(torch, "relu", lambda real: lambda x: x * 0 + 7, lambda: torch.relu(X - 5))


@world
def linear_forward_patched():
    net = layers()
    return patched_world(nn.Linear, "forward", lambda real: lambda self, x: x * 0, lambda: net(X))


@world
def module_call_patched():
    net = layers()
    return patched_world(nn.Module, "__call__", lambda real: lambda self, x: x * 0, lambda: net(X))


@world
def module_getattr_patched():
    net = layers()
    return patched_world(
        nn.Module,
        "__getattr__",
        lambda real: lambda self, name: real(self, name) * 2,
        lambda: net[0].weight * 1,
    )
