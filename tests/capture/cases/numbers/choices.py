"""`max` and `min` of tensors: the value stays in the graph, and they return the same object as in Python."""

from __future__ import annotations

import torch

import capture
from tests.capture.cases.registry import case


def vectors():
    torch.manual_seed(0)
    return torch.randn(5), torch.randn(5)


@case(graphs=1, ops=4, args=vectors)
def of_two_tensors(a, b):
    return max(a[0], b[0]) * a, a


@case(graphs=1, ops=4, args=vectors)
def returned_object(a, b):
    s, t = a.sum(), b.sum()
    m = max(s, t)
    return m, s, t, [m], min(s, t)


@case(graphs=1, ops=11, args=vectors)
def with_numbers(a, b):
    c = a + b
    a, b = a.sum(), b.sum()
    a = min(max(a, 0), 1)
    b = max(0, min(1, b))
    return max(a, b) - min(a, b) + c


@case(graphs=1, ops=9, args=vectors)
def number_or_tensor_returned(a, b):
    return max(a[0], 100), max(a[0], -100), min(0.5, b[1]), a * max(a[0], 0.25)


@case(graphs=1, ops=12, args=vectors)
def of_a_list_and_of_rows(a, b):
    return torch.stack([max([a[0], a[1], b[0]]), min(b[:3])])


@case(graphs=1, args=lambda: (torch.tensor([0.0, 1.0, 2.0]),))
def of_nan(x):
    a, b = x[0] / x[0], x[1]
    return [v != v for v in (max(a, b), max(b, a), min(a, 1.0), min(1.0, a))]


@case(graphs=1, ops=7, args=lambda: (torch.tensor([3, 1, 2]),))
def of_integers(x):
    return x * max(x[1], 2), x / max(x[0], x[2])


@case(graphs=2, ops=3, args=vectors)
def across_a_break(a, b):
    m = max(a.sum(), 3)
    capture.graph_break()
    return m, a * m, b


# --- what would tell the value from the object breaks -----------------------------------------------------


@case(graphs=2, args=vectors)
def written_to(a, b):
    m = max(a[0], b[0])
    m.add_(1)
    return a * 2, b, m


@case(graphs=2, args=vectors)
def added_to_in_place(a, b):
    m = max(a[0], -100)
    m += 3
    return a * 2, m


@case(graphs=1, ops=5, args=vectors)
def arguments_written_to(a, b):
    m = max(a[0], b[0])
    a.add_(10)
    b.mul_(2)
    return a, b, m


@case(graphs=2, args=vectors)
def read_after_arguments_were_written_to(a, b):
    m = max(a[0], b[0])
    a.add_(10)
    return a, m * 2 + b


@case(graphs=2, args=vectors)
def identity_asked(a, b):
    s, t = a.sum(), b.sum()
    m = max(s, t)
    return (a + 1 if m is s else a - 1), m is t


@case(graphs=2, args=vectors)
def viewed(a, b):
    m = max(a[:1], b[:1])
    view = m.view(-1)
    view.add_(1)
    return m * 2, a


@case(graphs=2, args=lambda: (torch.arange(3.0, requires_grad=True), torch.ones(3, requires_grad=True)))
def with_gradients(a, b):
    return max(a.sum(), b.sum()) * 2


@case(graphs=2, args=vectors)
def written_to_in_a_list(a, b):
    s, t = a.sum(), b.sum()
    m = max(s, t)
    torch._foreach_add_([m], 1.0)
    return s * 2, t, m


@case(graphs=2, args=vectors)
def attribute_of_the_object(a, b):
    s, t = a.sum(), b.sum()
    s.name_of = t.name_of = "sum"
    m = max(s, t)
    return m.name_of, m, (a, b), a * 2


@case(graphs=None)
def of_inference_tensors(x):
    with torch.inference_mode():
        a, b = x.sum(), x.mean()
        c = max(a, b) + 1
    return c, x + 1
