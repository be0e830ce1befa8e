"""Worlds in which a name, an attribute, a setting or an argument changes: one of each kind.

`change` is called between two calls of the function.
"""

from __future__ import annotations

import collections
import math

import torch

from tests.capture.worlds.registry import X, arguments_world, module_world, thing_world, with_globals, world


@world
def global_number():
    return with_globals("K = 2\ndef f(): return X * K", "K = 3")


@world
def global_number_type():
    return with_globals("K = 2\ndef f(): return X.long() + K", "K = 2.0")


@world
def global_bool_for_int():
    return with_globals("K = 1\ndef f(): return X + 1, type(K)", "K = True")


@world
def global_zero_sign():
    return with_globals("K = 0.0\ndef f(): return X * 0 + math.copysign(1.0, K)", "K = -0.0")


@world
def global_nan():
    return with_globals("K = float('nan')\ndef f(): return X + 1, K != K", "K = 1.0")


@world
def global_string():
    return with_globals("K = 'a'\ndef f(): return X + len(K)", "K = 'abc'")


@world
def global_function():
    return with_globals("def g(x): return x + 1\ndef f(): return g(X)", "def g(x): return x + 2")


@world
def global_function_code():
    return with_globals(
        "def g(x): return x + 1\ndef h(x): return x + 5\ndef f(): return g(X)", "g.__code__ = h.__code__"
    )


@world
def global_function_defaults():
    return with_globals("def g(x, k=1): return x + k\ndef f(): return g(X)", "g.__defaults__ = (7,)")


@world
def global_function_keyword_defaults():
    return with_globals("def g(x, *, k=1): return x + k\ndef f(): return g(X)", "g.__kwdefaults__ = {'k': 7}")


@world
def global_deleted():
    return with_globals("len = lambda x: 77\ndef f(): return X + len([1])", "del len")


@world
def builtin_hidden():
    return with_globals("def f(): return X + len([1])", "len = lambda x: 9")


@world
def global_tensor():
    return with_globals("T = torch.ones(4)\ndef f(): return X + T", "T = torch.zeros(4)")


@world
def global_tensor_shape():
    return with_globals("T = torch.ones(4)\ndef f(): return X + T", "T = torch.ones(1)")


@world
def global_becomes_none():
    return with_globals("T = torch.ones(4)\ndef f(): return X if T is None else X + T", "T = None")


@world
def list_grows():
    return with_globals("L = [1, 2]\ndef f(): return X + sum(L)", "L.append(3)")


@world
def list_item():
    return with_globals("L = [1, [2]]\ndef f(): return X + L[1][0]", "L[1][0] = 5")


@world
def dict_key_added():
    return with_globals("D = {'a': 1}\ndef f(): return X + sum(D.values())", "D['b'] = 4")


@world
def dict_key_appears():
    return with_globals("D = {'a': 1}\ndef f(): return X + D.get('b', 10)", "D['b'] = 4")


@world
def dict_order():
    return with_globals("D = {'a': 1, 'b': 2}\ndef f(): return X + 1, list(D)", "D = {'b': 2, 'a': 1}")


@world
def set_contents():
    return with_globals("S = {1, 2}\ndef f(): return X + (3 in S)", "S.add(3)")


@world
def closure_cell():
    k = 1

    def f():
        return X + k

    def change():
        nonlocal k
        k = 2

    return f, change


@world
def closure_of_helper():
    k = 1

    def g(x):
        return x + k

    def f():
        return g(X)

    def change():
        nonlocal k
        k = 2

    return f, change


@world
def attribute():
    return thing_world(lambda t: X + t.k, lambda t, c: setattr(t, "k", 5))


@world
def attribute_type():
    return thing_world(lambda t: X.long() + t.k, lambda t, c: setattr(t, "k", 1.0))


@world
def class_attribute():
    return thing_world(lambda t: X + t.level, lambda t, c: setattr(c, "level", 5))


@world
def instance_hides_class():
    return thing_world(lambda t: X + t.level, lambda t, c: setattr(t, "level", 5))


@world
def method_patched():
    return thing_world(lambda t: t.g(X), lambda t, c: setattr(c, "g", lambda self, x: x * 100))


@world
def method_on_instance():
    return thing_world(lambda t: t.g(X), lambda t, c: setattr(t, "g", lambda x: x * 100))


@world
def property_patched():
    return thing_world(lambda t: X + t.p, lambda t, c: setattr(c, "p", property(lambda self: 9)))


@world
def attribute_appears():
    return thing_world(lambda t: X + getattr(t, "new", 1), lambda t, c: setattr(t, "new", 5))


@world
def attribute_deleted():
    return thing_world(lambda t: X + (t.k if hasattr(t, "k") else 50), lambda t, c: delattr(t, "k"))


@world
def getattr_appears():
    return thing_world(
        lambda t: X + getattr(t, "zzz", 1), lambda t, c: setattr(c, "__getattr__", lambda self, n: 9)
    )


@world
def class_changed():
    other = type("Other", (), {"g": lambda self, x: x - 1})
    return thing_world(lambda t: t.g(X), lambda t, c: setattr(t, "__class__", other))


@world
def len_dunder_patched():
    return thing_world(lambda t: X + bool(t), lambda t, c: setattr(c, "__bool__", lambda self: False))


@world
def nested_list_attribute():
    return thing_world(lambda t: X + len(t.items), lambda t, c: t.items.append(1))


@world
def module_train():
    return module_world(lambda n: n.train())


@world
def module_parameter_replaced():
    return module_world(lambda n: setattr(n[0], "weight", torch.nn.Parameter(torch.zeros(4, 4))))


@world
def module_bias_removed():
    return module_world(lambda n: setattr(n[0], "bias", None))


@world
def module_submodule_replaced():
    return module_world(lambda n: n.__setitem__(0, torch.nn.Identity()))


@world
def module_appended():
    return module_world(lambda n: n.append(torch.nn.ReLU()))


@world
def module_hook():
    return module_world(lambda n: n[0].register_forward_hook(lambda m, i, o: o * 0))


@world
def module_pre_hook():
    return module_world(lambda n: n[0].register_forward_pre_hook(lambda m, i: (i[0] * 0,)))


@world
def module_forward_patched():
    return module_world(lambda n: setattr(n[0], "forward", lambda x: x * 7))


@world
def module_constant():
    return module_world(lambda n: setattr(n[2], "eps", 100.0))


@world
def module_requires_grad():
    return module_world(lambda n: n.requires_grad_(False))


@world
def module_weight_data():
    return module_world(lambda n: setattr(n[0].weight, "data", torch.ones(4, 4)))


@world
def library_constant():
    saved = math.pi

    def change():
        math.pi = 3.0

    def f():
        return X + math.pi

    f.restore = lambda: setattr(math, "pi", saved)
    return f, change


@world
def argument_one_true():
    return arguments_world((1, None), (True, None))


@world
def argument_float_int():
    return arguments_world((1, 2), (1.0, 2))


@world
def argument_shapes():
    return arguments_world((X, X[0]), (X, X[:, :1].clone()))


@world
def argument_strides():
    return arguments_world((X, X + 1), (X.T.contiguous().T, X + 1))


@world
def argument_dtype():
    return arguments_world((X, X + 1), (X.double(), X + 1))


@world
def argument_aliases():
    return arguments_world((X, X + 1), (X, X))


@world
def argument_requires_grad():
    return arguments_world((X, X + 1), (X.clone().requires_grad_(), X + 1))


@world
def argument_tensor_to_number():
    return arguments_world((X, X + 1), (X, 3))


@world
def argument_subclass():
    return arguments_world((X, X + 1), (X, torch.nn.Parameter(X + 1)))


@world
def argument_named_tuple():
    p = collections.namedtuple("p", "a b")
    q = collections.namedtuple("q", "a b")
    return arguments_world((p(1, 2), 0), (q(1, 2), 0))


@world
def grad_mode():
    w = torch.ones(4, requires_grad=True)
    return (lambda: (X * w).requires_grad), (lambda: torch.set_grad_enabled(False))


@world
def default_dtype():
    return (lambda: X + torch.ones(4)), (lambda: torch.set_default_dtype(torch.float64))


@world
def inference_or_autocast():
    w = torch.ones(4, 4)
    return (lambda: (X @ w).dtype), (lambda: torch.set_autocast_enabled("cpu", True))
