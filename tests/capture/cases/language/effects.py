"""Side effects: changed arguments, aliases and views, closures and globals.

Also the order of effects across breaks, and state that is restored.
"""

from __future__ import annotations

import warnings

import torch

from tests.capture.cases.registry import case, show


def pair():
    torch.manual_seed(0)
    return torch.randn(3, 4), torch.randn(3, 4)


def base_and_view():
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    return x, x[1]


class Box:
    def __init__(self, value=None):
        self.value = value
        self.items = []
        self.table = {}


def boxed():
    torch.manual_seed(0)
    return torch.randn(3, 4), Box(2)


@case(1, 3, pair)
def two_inputs_written(x, y):
    x.add_(1)
    y.mul_(2)
    return x + y


@case(1, 3, pair)
def copy_between_inputs(x, y):
    x.copy_(y)
    y.zero_()
    return x + 1


@case(None, None, base_and_view)
def write_seen_through_view(x, v):
    x.add_(1)
    return v * 2


@case(None, None, base_and_view)
def write_through_view(x, v):
    v.fill_(7)
    return x + 1


@case(1, 3, pair)
def write_through_own_view(x, y):
    v = x[0]
    v.add_(5)
    return x * 1


@case(None, None, lambda: (lambda t: (t, t))(torch.ones(3)))
def same_tensor_twice(x, y):
    x.add_(1)
    return x is y, y * 2


@case(1, 1, lambda: (lambda t: (t, t))(torch.ones(3)))
def same_tensor_twice_read(x, y):
    return x + y, x is y


@case(1, 2, pair)
def out_argument(x, y):
    r = torch.add(x, 1, out=y)
    return r is y, y * 2


@case(1, 1, lambda: (torch.ones(3), torch.ones(5)))
def out_argument_of_another_size(x, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        r = torch.add(x, 1, out=y)
    return r is y, y * 2, y.shape, [str(warning.message)[:75] for warning in found]


@case(2, 2, lambda: (torch.ones(2, 3), torch.empty(0)))
def out_argument_without_elements(x, y):
    values, _ = torch.max(x, 1, out=(y, torch.empty(0, dtype=torch.long)))
    return values is y, y * 2


@case(1, 3)
def out_without_elements_made_by_the_frame(x):
    y = torch.empty(0)
    torch.add(x, 1, out=y)
    return y * 2


@case(2, 3, lambda: (torch.ones(4, 3).t(),))
def out_without_elements_gets_the_order_of_dims(x):
    y = torch.add(x, 1, out=torch.empty(0))
    return y * 2, y.stride(), y.flatten()


@case(1, 2, lambda: (torch.ones(4, 3).t(),))
def out_of_none(x):
    y = torch.add(x, 1, out=None)
    return y * 2, y.stride()


@case(1, 2)
def in_place_on_intermediate(x):
    y = x + 1
    y.relu_()
    return y


@case(1, 2)
def returned_input_and_alias(x):
    return x, x.view(4, 3), x.t(), x is x


@case(1, 1)
def detached_alias(x):
    d = x.detach()
    return d, d.data_ptr() == x.data_ptr() if False else d.shape


@case(1, 3, pair)
def indexed_writes(x, y):
    x[0, 1:] = y[0, 1:]
    x[x.shape[0] - 1] = 0
    return x


@case(1, 2)
def masked_write(x):
    x[x > 0] = 0
    return x


@case(2, 2)
def write_before_break(x):
    x.add_(1)
    show("written")
    return x * 2


@case(2, 2)
def write_after_break(x):
    y = x * 2
    show("not written yet", float(x[0, 0]) != 77.0 if False else "")
    x.fill_(77)
    return y


@case(1, 2, boxed)
def object_changed(x, box):
    box.value += 1
    box.items.append(box.value)
    box.table["k"] = box.items
    box.new = box.table
    del box.table["k"]
    return x + box.value


@case(2, 2, boxed)
def object_changed_across_break(x, box):
    box.value += 1
    box.items.append(x + 1)
    show("value", box.value, len(box.items))
    box.value *= 10
    box.items.append(box.items[0] * 2)
    return box.value


@case(2, 2, boxed)
def effects_before_error(x, box):
    box.items.append(1)
    y = x + 1
    box.table["a"] = y
    show("before")
    box.items.append(2)
    z = y * 2
    raise KeyError(len(box.items))


@case(1, 1, boxed)
def effects_before_error_in_one_graph(x, box):
    box.items.append(1)
    box.value = x + 1
    box.items.append(2)
    raise KeyError(len(box.items))


@case(1, 2, boxed)
def tensor_attribute_replaced(x, box):
    box.value = x + 1
    old = box.value
    box.value = box.value * 2
    return old is box.value, box.value.shape


@case(1, 1, lambda: (torch.ones(2), [[1], [2]]))
def inner_list_changed(x, lists):
    lists[0].append(3)
    lists.append(lists[0])
    lists[1] = lists[0]
    return x + len(lists), lists[1] is lists[0], lists[2] is lists[0]


@case(1, 1, lambda: (lambda l: (torch.ones(2), l, {"same": l}))([1]))
def one_list_two_ways(x, l, d):
    l.append(2)
    d["same"].append(3)
    return x + len(l), l is d["same"]


@case(1, 1, lambda: (torch.ones(2), {"a": {"b": [1]}}))
def nested_dict_changed(x, d):
    d["a"]["b"].append(2)
    d["a"]["c"] = d
    inner = d.pop("a")
    return x + len(inner["b"]), len(d), list(inner)


@case(1, 2)
def list_with_itself(x):
    l = [x + 1]
    l.append(len(l))
    return l[0] * 2, l[1:]


@case(None, None)
def list_containing_itself(x):
    l = [x + 1]
    l.append(l)
    return l[1] is l, l[0]


def counter():
    count = 0

    def bump(x):
        nonlocal count
        count += 1
        return x + count

    def read():
        return count

    return bump, read


BUMP, READ = counter()


@case(None, None)  # the count goes on from call to call, and so does the number of operations
def closure_state_outside(x):
    start = READ()
    y = BUMP(BUMP(x)) - 0 if False else BUMP(BUMP(x))
    return READ() - start


@case(1, 2)
def cells_shared_by_two_functions(x):
    value = x

    def write(v):
        nonlocal value
        value = v

    def read():
        return value

    write(x + 1)
    first = read()
    write(read() * 2)
    return first, read(), value is read()


@case(2, 2)
def returned_closure_after_break(x):
    scale = 2

    def f(v):
        return v * scale

    y = f(x)
    show("made")
    scale = 3
    return f(y), scale


@case(1, 1)
def returned_function(x):
    k = 3

    def f(v):
        return v + k

    return f(x), f


SETTINGS = {"mode": "a", "n": 1}
STATE = Box(1)


@case(1, 1)
def global_dict_changed(x):
    SETTINGS["n"] += 1
    SETTINGS["new"] = "x"
    y = x * SETTINGS["n"]
    keys = list(SETTINGS)
    SETTINGS["n"] = 1
    del SETTINGS["new"]
    return y, keys


@case(1, 1)
def global_object_changed(x):
    STATE.value += 1
    y = x * STATE.value
    STATE.value = 1
    return y


@case(1, None, lambda: (torch.ones(2, requires_grad=True),))
def gradient_flags(x):
    y = x * 2
    with torch.no_grad():
        z = y + 1
    d = y.detach()
    return y.requires_grad, z.requires_grad, d.requires_grad, x.is_leaf, y.is_leaf, y, z, d


@case(None, None, lambda: (torch.ones(2, requires_grad=True),))
def backward_inside(x):
    y = (x * 3).sum()
    y.backward()
    return x.grad


@case(None, None, lambda: (torch.ones(2),))
def requires_grad_inside(x):
    x.requires_grad_(True)
    y = x * 2
    return y, y.requires_grad, x.requires_grad


@case(None, None, lambda: (torch.ones(2, requires_grad=True),))
def hook_on_intermediate(x):
    log = []
    y = x * 2
    y.register_hook(lambda g: log.append(g))
    (y * 3).sum().backward()
    return log, x.grad


@case(None, None, lambda: (torch.ones(2, requires_grad=True),))
def autograd_grad_inside(x):
    y = (x**2).sum()
    (g,) = torch.autograd.grad(y, x)
    return g


@case(None, None, lambda: (torch.ones(2),))
def attribute_on_tensor(x):
    x.tag = "t"
    y = x + 1
    y.note = 5
    return x.tag, y.note, hasattr(x, "missing")


@case(None, None, lambda: (torch.ones(2),))
def data_replaced(x):
    x.data = torch.zeros(2)
    return x + 1


@case(1, 3)
def chained_in_place(x):
    return x.clone().add_(1).mul_(2)


@case(1, 2)
def augmented_local_alias(x):
    y = x.clone()
    z = y
    z += 1
    return y is z, y


@case(1, 3)
def swap_and_update(x):
    a, b = x + 1, x + 2
    a, b = b, a
    a += b
    return a, b


@case(1, 4)
def unpacked_tensor_identity(x):
    a, b = x.split(2, dim=1)
    c = [a, b, a]
    return c[0] is c[2], c.index(a), a + b
