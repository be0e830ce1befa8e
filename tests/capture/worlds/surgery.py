"""Worlds of surgery on modules: hooks of all kinds, parametrizations, weight norm, state dicts, tied weights,
patched `forward`s, conversions of a part.

Each row: name, what makes the module, the called function (None: the module on X), the change.
"""

from __future__ import annotations

import copy
import types
import weakref

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from tests.capture.worlds.registry import X, add_rows

F = nn.functional


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))


class Block(nn.Module):
    scale = 1.0

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4, bias=False)
        self.register_buffer("mask", torch.ones(4))
        self.register_buffer("scratch", torch.zeros(4), persistent=False)
        self.steps = 0

    def forward(self, x, gain=1.0):
        return self.b(torch.relu(self.a(x))) * self.mask * self.scale * gain

    def extra(self, x):
        return x + 1


def block():
    """A block of its own class and base, which a world may change."""
    forward = types.FunctionType(Block.forward.__code__, globals(), "forward", Block.forward.__defaults__)
    base = type("Base", (Block,), {"forward": forward})
    return type("Own", (base,), {})()


class Half(nn.Module):
    def forward(self, w):
        return w * 0.5


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).T

    def right_inverse(self, w):
        return w.triu()


def halved():
    made = mlp()
    parametrize.register_parametrization(made[0], "weight", Half())
    return made


def normed():
    return parametrizations.weight_norm(mlp()[0])


def spectral():
    return parametrizations.spectral_norm(mlp()[0].eval())


def tied():
    made = block()
    made.b.weight = made.a.weight
    return made


def gradients(module, x=X):
    """The result, and the gradients of all parameters."""
    module.zero_grad()
    result = module(x)
    result.sum().backward()
    return [result.detach(), *[p.grad.clone() if p.grad is not None else None for p in module.parameters()]]


def zeros_of(module):
    return {key: torch.zeros_like(value) for key, value in module.state_dict().items()}


def both(*changes):
    """One change after the other, as one."""
    return lambda state: [change(state) for change in changes]


def swapped_children(m):
    m[0], m[2] = m[2], m[0]


def doubled_output(module, args, output):
    return output * 2


def shifted_input(module, args):
    return (args[0] + 1,)


def doubled_with_kwargs(module, args, kwargs, output):
    return output * kwargs.get("gain", 3.0)


def gain_with_kwargs(module, args, kwargs):
    return args, {**kwargs, "gain": 5.0}


def halved_gradient(module, grad_in, grad_out):
    return tuple(g * 0.5 if g is not None else None for g in grad_in)


def tripled_gradient(module, grad_out):
    return tuple(g * 3 for g in grad_out)


HOOKS = [
    ("forward", mlp, None, lambda m: m[0].register_forward_hook(doubled_output)),
    ("forward_on_the_root", mlp, None, lambda m: m.register_forward_hook(doubled_output)),
    ("pre", mlp, None, lambda m: m[2].register_forward_pre_hook(shifted_input)),
    ("pre_on_the_root", mlp, None, lambda m: m.register_forward_pre_hook(shifted_input)),
    ("with_kwargs", block, lambda m: m(X, gain=2.0),
     lambda m: m.register_forward_hook(doubled_with_kwargs, with_kwargs=True)),
    ("with_kwargs_none_given", block, None,
     lambda m: m.register_forward_hook(doubled_with_kwargs, with_kwargs=True)),
    ("pre_with_kwargs", block, lambda m: m(X, gain=2.0),
     lambda m: m.register_forward_pre_hook(gain_with_kwargs, with_kwargs=True)),
    ("pre_with_kwargs_adds", block, None,
     lambda m: m.register_forward_pre_hook(gain_with_kwargs, with_kwargs=True)),
    ("two_in_order", mlp, None,
     both(lambda m: m[0].register_forward_hook(doubled_output),
          lambda m: m[0].register_forward_hook(lambda mod, a, o: o + 1))),
    ("second_prepended", mlp, None,
     both(lambda m: m[0].register_forward_hook(doubled_output),
          lambda m: m[0].register_forward_hook(lambda mod, a, o: o + 1, prepend=True))),
    ("pre_prepended", mlp, None,
     both(lambda m: m[0].register_forward_pre_hook(shifted_input),
          lambda m: m[0].register_forward_pre_hook(lambda mod, a: (a[0] * 2,), prepend=True))),
    ("returns_nothing", mlp, None, lambda m: m[0].register_forward_hook(lambda mod, a, o: None)),
    ("counts", block, lambda m: (m(X), m.steps),
     lambda m: m.a.register_forward_hook(lambda mod, a, o: setattr(m, "steps", m.steps + 1))),
    ("collects", block, lambda m: (m(X), [t.clone() for t in m.__dict__.get("seen", [])]),
     both(lambda m: setattr(m, "seen", []),
          lambda m: m.a.register_forward_hook(lambda mod, a, o: m.seen.append(o.detach())))),
    ("removes_itself", block, lambda m: (m(X), len(m.a._forward_hooks)),
     lambda m: m.__dict__.update(
         handle=m.a.register_forward_hook(lambda mod, a, o: (m.handle.remove(), o * 2)[1]))),
    ("always_called", mlp, None, lambda m: m[0].register_forward_hook(doubled_output, always_call=True)),
    ("on_every_child", mlp, None, lambda m: [c.register_forward_hook(doubled_output) for c in m.children()]),
    ("put_in_the_table", mlp, None, lambda m: m[0]._forward_hooks.update({77: doubled_output})),
    ("full_backward", mlp, gradients, lambda m: m[0].register_full_backward_hook(halved_gradient)),
    ("full_backward_of_the_last", mlp, gradients,
     lambda m: m[2].register_full_backward_hook(halved_gradient)),
    ("full_backward_pre", mlp, gradients, lambda m: m[2].register_full_backward_pre_hook(tripled_gradient)),
    ("backward_both", mlp, gradients,
     both(lambda m: m[2].register_full_backward_pre_hook(tripled_gradient),
          lambda m: m[2].register_full_backward_hook(halved_gradient))),
    ("of_a_parameter", mlp, gradients, lambda m: m[0].weight.register_hook(lambda g: g * 2)),
    ("after_accumulation", mlp, lambda m: (gradients(m), getattr(m, "seen", 0)),
     lambda m: m[0].weight.register_post_accumulate_grad_hook(
         lambda p: setattr(m, "seen", getattr(m, "seen", 0) + 1))),
    ("of_the_state_dict", mlp, lambda m: (m(X), sorted(m.state_dict())),
     lambda m: m.register_state_dict_post_hook(lambda mod, d, *a: d.update(extra=torch.ones(1)))),
    ("of_the_load", mlp, lambda m: (m(X), m.load_state_dict(zeros_of(m), strict=False).missing_keys),
     lambda m: m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.append("added"))),
]  # fmt: skip

FORWARDS = [
    ("of_the_instance", block, None, lambda m: setattr(m, "forward", lambda x: x * 7)),
    ("of_the_instance_as_a_method", block, None,
     lambda m: setattr(m, "forward", types.MethodType(lambda s, x: s.a(x), m))),
    ("of_the_class", block, None, lambda m: setattr(type(m), "forward", lambda s, x: s.a(x))),
    ("of_the_base", block, None, lambda m: setattr(type(m).__base__, "forward", lambda s, x: s.b(x))),
    ("of_the_base_hidden_by_the_class", block, None,
     both(lambda m: setattr(type(m), "forward", lambda s, x: x + 2),
          lambda m: setattr(type(m).__base__, "forward", lambda s, x: x + 3))),
    ("around_the_old_one", block, None,
     lambda m: setattr(m, "forward", (lambda old: lambda x: old(x) * 2)(m.forward))),
    ("around_the_old_one_twice", block, None,
     both(*[lambda m: setattr(m, "forward", (lambda old: lambda x: old(x) + 1)(m.forward))] * 2)),
    ("of_a_child", block, None, lambda m: setattr(m.a, "forward", lambda x: x - 1)),
    ("calls_super", block, None,
     lambda m: setattr(type(m), "forward", lambda s, x: super(type(m), s).forward(x) + 1)),
    ("with_another_default", block, None, lambda m: setattr(type(m).forward, "__defaults__", (2.0,))),
    ("that_calls_another_method", block, lambda m: m(m.extra(X)),
     lambda m: setattr(type(m), "extra", lambda s, x: x * 5)),
    ("deleted_from_the_instance", lambda: (lambda m: (setattr(m, "forward", lambda x: x * 7), m)[1])(block()),
     None, lambda m: delattr(m, "forward")),
    ("a_module_as_forward", block, None, lambda m: m.__dict__.__setitem__("forward", m.a)),
    ("call_of_the_class", block, None, lambda m: setattr(type(m), "__call__", lambda s, x: s.a(x))),
    ("call_impl_of_the_instance", block, None, lambda m: m.__dict__.__setitem__("_call_impl", lambda x: x)),
    ("constant_of_the_base", block, None, lambda m: setattr(type(m).__base__, "scale", 4.0)),
    ("constant_of_the_instance", block, None, lambda m: setattr(m, "scale", 4.0)),
    ("property_over_a_constant", block, None,
     lambda m: setattr(type(m), "scale", property(lambda s: 6.0))),
    ("class_of_the_module", block, None,
     lambda m: setattr(m, "__class__", type("New", (Block,), {"forward": lambda s, x: s.b(x)}))),
    ("class_of_a_child", block, None,
     lambda m: setattr(m.a, "__class__", type("New", (nn.Linear,), {"forward": lambda s, x: x * 2}))),
    ("getattr_of_the_class", block, lambda m: m(X) + getattr(m, "missing", 1),
     lambda m: setattr(type(m), "__getattr__",
                       lambda s, n: 8 if n == "missing" else nn.Module.__getattr__(s, n))),
]  # fmt: skip

WEIGHTS = [
    ("parametrized", mlp, gradients,
     lambda m: parametrize.register_parametrization(m[0], "weight", Half())),
    ("parametrized_twice", halved, gradients,
     lambda m: parametrize.register_parametrization(m[0], "weight", Half())),
    ("parametrized_with_inverse", mlp, gradients,
     lambda m: parametrize.register_parametrization(m[0], "weight", Symmetric())),
    ("parametrization_removed", halved, lambda m: m(X),
     lambda m: parametrize.remove_parametrizations(m[0], "weight")),
    ("parametrization_removed_original_kept", halved, lambda m: m(X),
     lambda m: parametrize.remove_parametrizations(m[0], "weight", leave_parametrized=False)),
    ("parametrized_weight_assigned", lambda: (lambda m: (
        parametrize.register_parametrization(m[0], "weight", Symmetric()), m)[1])(mlp()), lambda m: m(X),
     lambda m: setattr(m[0], "weight", torch.ones(4, 4))),
    ("parametrization_cached", halved, lambda m: parametrize_cached(m), lambda m: m[0].double().float()),
    ("parametrization_patched", halved, None,
     lambda m: setattr(m[0].parametrizations["weight"][0], "forward", lambda w: w * 9)),
    ("weight_norm", lambda: mlp()[0], gradients, parametrizations.weight_norm),
    ("weight_norm_dim", lambda: mlp()[0], gradients, lambda m: parametrizations.weight_norm(m, dim=None)),
    ("weight_norm_removed", normed, lambda m: m(X),
     lambda m: parametrize.remove_parametrizations(m, "weight")),
    ("weight_norm_direction", normed, gradients,
     lambda m: m.parametrizations["weight"].original1.data.mul_(-1)),
    ("weight_norm_of_old", lambda: mlp()[0], gradients, lambda m: nn.utils.weight_norm(m)),
    ("weight_norm_of_old_removed", lambda: nn.utils.weight_norm(mlp()[0]), gradients,
     lambda m: nn.utils.remove_weight_norm(m)),
    ("spectral_norm", lambda: mlp()[0].eval(), lambda m: m(X), lambda m: spectral_in_eval(m)),
    ("spectral_norm_trained", spectral, lambda m: m(X), lambda m: m.train()),
    ("orthogonal", lambda: mlp()[0], lambda m: m(X) * 0, parametrizations.orthogonal),
    ("pruned", lambda: mlp()[0], lambda m: m(X),
     lambda m: prune.l1_unstructured(m, "weight", amount=0.5)),
    ("pruned_and_removed", lambda: prune.l1_unstructured(mlp()[0], "weight", amount=0.5),
     lambda m: m(X), lambda m: prune.remove(m, "weight")),
    ("state_loaded", mlp, gradients, lambda m: m.load_state_dict(zeros_of(m))),
    ("state_loaded_in_part", mlp, gradients,
     lambda m: m.load_state_dict({"0.weight": torch.ones(4, 4)}, strict=False)),
    ("state_assigned", mlp, gradients, lambda m: m.load_state_dict(zeros_of(m), assign=True)),
    ("state_assigned_in_double", block, lambda m: m(X.to(m.mask.dtype)),
     lambda m: m.load_state_dict({k: v.double() for k, v in m.state_dict().items()}, assign=True)),
    ("state_of_a_copy", mlp, gradients,
     lambda m: m.load_state_dict(copy.deepcopy(m).apply(doubled_weights).state_dict())),
    ("state_loaded_under_hooks_of_keys", mlp, gradients,
     both(lambda m: m.register_load_state_dict_pre_hook(
             lambda mod, d, *a: d.update({k: v + 1 for k, v in d.items()})),
          lambda m: m.load_state_dict(zeros_of(m)))),
    ("buffer_loaded", block, gradients,
     lambda m: m.load_state_dict({**m.state_dict(), "mask": torch.tensor([1.0, 0, 1, 0])})),
    ("buffer_not_kept", block, lambda m: m(X) + m.scratch, lambda m: m.scratch.fill_(3)),
    ("buffer_becomes_parameter", block, gradients,
     both(lambda m: delattr(m, "mask"),
          lambda m: m.register_parameter("mask", nn.Parameter(torch.full((4,), 2.0))))),
    ("parameter_becomes_buffer", block, gradients,
     lambda m: (lambda w: (delattr(m.b, "weight"), m.b.register_buffer("weight", w)))(m.b.weight.data)),
    ("tied", block, gradients, lambda m: setattr(m.b, "weight", m.a.weight)),
    ("untied", tied, gradients, lambda m: setattr(m.b, "weight", nn.Parameter(m.a.weight.detach() * 2))),
    ("untied_with_equal_values", tied, gradients,
     lambda m: setattr(m.b, "weight", nn.Parameter(m.a.weight.detach().clone()))),
    ("tied_data", block, gradients, lambda m: setattr(m.b.weight, "data", m.a.weight.data)),
    ("tied_transposed", block, gradients, lambda m: setattr(m.b.weight, "data", m.a.weight.data.T)),
    ("tied_modules", mlp, gradients, lambda m: m.__setitem__(2, m[0])),
    ("untied_modules", lambda: nn.Sequential(*[mlp()[0]] * 2), gradients,
     lambda m: m.__setitem__(1, copy.deepcopy(m[0]))),
    ("frozen", mlp, lambda m: ([p.requires_grad for p in m.parameters()], gradients(m)),
     lambda m: m[0].requires_grad_(False)),
    ("unfrozen", lambda: (lambda m: (m[0].requires_grad_(False), m)[1])(mlp()), gradients,
     lambda m: m[0].requires_grad_()),
    ("bias_only", mlp, gradients, lambda m: m[2].weight.requires_grad_(False)),
    ("bias_gone", mlp, gradients, lambda m: setattr(m[2], "bias", None)),
    ("bias_back", lambda: (lambda m: (setattr(m[2], "bias", None), m)[1])(mlp()), gradients,
     lambda m: setattr(m[2], "bias", nn.Parameter(torch.ones(4)))),
    ("converted_in_part", mlp, lambda m: m[2](m[0](X).to(m[2].weight.dtype)), lambda m: m[2].double()),
    ("converted_and_back", mlp, gradients, lambda m: m.double().float()),
    ("converted_to_bfloat16", mlp, lambda m: m(X.to(m[0].weight.dtype)), lambda m: m.to(torch.bfloat16)),
    ("converted_buffers_only", block, lambda m: m(X).dtype,
     lambda m: setattr(m, "mask", m.mask.double())),
    ("converted_by_apply", block, lambda m: m(X), lambda m: m._apply(lambda t: t * 2)),
    ("emptied_and_filled", mlp, lambda m: m(X) * 0,
     lambda m: m.to_empty(device="cpu").apply(doubled_weights) and [p.data.fill_(1) for p in m.parameters()]),
    ("initialised_anew", mlp, gradients, lambda m: m.apply(filled_weights)),
    ("swapped_children", mlp, gradients, swapped_children),
    ("child_inserted", mlp, gradients, lambda m: m.insert(1, nn.ReLU())),
    ("child_popped", mlp, gradients, lambda m: m.pop(1)),
    ("child_extended", mlp, gradients, lambda m: m.extend([nn.ReLU(), nn.Dropout(0.0)])),
    ("child_none", block, lambda m: (X if m._modules["b"] is None else m(X)),
     lambda m: setattr(m, "b", None)),
    ("child_is_the_module_of_another", block, gradients, lambda m: setattr(m, "b", block().b)),
    ("child_wrapped", mlp, gradients, lambda m: m.__setitem__(0, nn.Sequential(m[0], nn.ReLU()))),
    ("child_by_a_path", block, gradients, lambda m: m.set_submodule("b", nn.Identity())),
    ("children_in_another_order", mlp, lambda m: m(X),
     lambda m: setattr(m, "_modules", {k: m._modules[k] for k in ("2", "1", "0")})),
    ("copied_dict", mlp, gradients, lambda m: m.__dict__.update(copy.deepcopy(m).__dict__)),
    ("restored_from_a_copy", mlp, gradients, lambda m: m.__setstate__(copy.deepcopy(m).__dict__)),
    ("meta_gone_real", lambda: nn.Linear(4, 4, device="meta"), lambda m: m(X.to(m.weight.device)).shape,
     lambda m: m.to_empty(device="cpu")),
    ("functional_call", mlp, lambda m: torch.func.functional_call(m, m.__dict__.get("given", {}), (X,)),
     lambda m: m.__dict__.update(given={"0.weight": torch.zeros(4, 4)})),
    ("weakly_held", block, lambda m: m.__dict__["other"]()(X) if m.__dict__.get("other") else m(X),
     lambda m: m.__dict__.update(kept=(kept := mlp()), other=weakref.ref(kept))),
]  # fmt: skip


def parametrize_cached(module):
    with parametrize.cached():
        return module(X) + module[0].weight.sum()


def spectral_in_eval(module):
    return parametrizations.spectral_norm(module).eval()


def doubled_weights(module):
    for parameter in module.parameters(recurse=False):
        parameter.data.mul_(2)


def filled_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.constant_(module.weight, 0.25)
        nn.init.zeros_(module.bias)


def on_x(module):
    return module(X)


for prefix, rows in (("hook", HOOKS), ("forward", FORWARDS), ("weight", WEIGHTS)):
    add_rows(prefix, [(name, make, body or on_x, change) for name, make, body, change in rows])
