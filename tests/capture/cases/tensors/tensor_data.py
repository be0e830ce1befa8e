"""`tensor.data = ...` in captured code, and tensors as ints."""

from __future__ import annotations

import operator

import torch

from tests.capture.cases.registry import case
from tests.capture.cases.torch.autograd import one_leaf


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 5), torch.randn(3, 4)


def two_tensors():
    torch.manual_seed(0)
    return torch.randn(3, 4), torch.randn(3, 4)


@case(1, 5, one_leaf)
def data_of_a_leaf(x):
    x.data = x.data * 2
    return x.sin(), x.is_leaf


@case(1, 9, one_leaf)
def data_of_a_leaf_twice(x):
    x.data = x.data * 2
    x.data = x.data + 1
    return x.sin()


@case(1, None, one_leaf)
def data_of_a_leaf_is_written_to(x):
    x.data = x.data * 2
    x.data.add_(1)
    with torch.no_grad():
        x.mul_(3)
    return x.sin()


@case(2, None, one_leaf)
def data_of_a_leaf_that_was_used(x):
    y = x.sin()
    x.data = torch.zeros_like(x)
    return y + x.cos()


@case(2, None, one_leaf)
def data_of_another_shape(x):
    y = x.detach() * 2
    try:
        x.data = torch.ones(3)
    except RuntimeError:
        return y
    return y, x * 3


@case(1, 5, linear)
def data_of_a_parameter(model, x):
    model.weight.data = model.weight.data * 2
    return model(x)


@case(1, 6, linear)
def module_moved_to_where_it_is(model, x):
    return model.to(torch.float32)(x)


@case(1, None, linear)
def parameters_from_a_vector(model, x):
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(torch.arange(25.0), model.parameters())
    return model(x)


@case(1, 3)
def data_of_an_argument(x):
    x.data = torch.ones(5)
    return x + 1, x.shape


@case(1, 4, two_tensors)
def data_is_another_argument(x, y):
    x.data = y
    x.add_(1)
    return x + 1, y * 2


@case(1, 6, two_tensors)
def data_is_swapped(x, y):
    held = x.data
    x.data = y.data
    y.data = held
    return x * 2, y * 3


@case(1, 4)
def a_view_keeps_the_old_data(x):
    row = x[0]
    x.data = torch.ones(3, 4)
    row.add_(1)
    return row, x


@case(2, None)
def data_that_is_no_tensor(x):
    y = x * 2
    try:
        x.data = 5
    except TypeError:
        return y + 1


@case(1, None)
def data_of_a_result(x):
    t = torch.ones(3, 4)
    same = t
    t.data = x
    t.mul_(2)
    return t, x, same is t


@case(1, None)
def data_of_a_result_with_a_view(x):
    t = x * 2
    row = t[0]
    t.data = (x + 1)[:2]
    row.add_(5)
    return t, row, t.shape


@case(1, None)
def data_of_another_dtype(x):
    t = x * 2
    try:
        t.data = x.double()
    except RuntimeError:
        return t + 1
    return t


@case(1, None)
def index_of_a_constant_tensor(x):
    return x * operator.index(torch.tensor(2)), x[operator.index(torch.tensor([1]))]


@case(1, None)
def constant_tensors_as_indices(x):
    rows, last = [x, x * 2], torch.tensor(1) + 1
    return rows[torch.tensor(1)], rows[: torch.tensor(1, dtype=torch.uint8)], [1, 2, 3][last]


@case(None, None)
def constant_tensors_that_are_no_indices(x):
    found = []
    for wrong in (torch.tensor(1.0), torch.tensor([1, 2]), torch.tensor(True)):
        try:
            found.append((1, 2, 3)[wrong])
        except TypeError:
            found.append("no index")
    return x * 2, found


@case(None, None)
def constant_tensors_that_were_written_to(x):
    first, second, third = torch.tensor(0), torch.tensor(0), torch.tensor(0)
    first.add_(1)
    second.data.add_(1)
    third.view(1)[0] = 1
    return x * 2, [(1, 2)[index] for index in (first, second, third)]


@case(1, None)
def numbers_of_constant_tensors(x):
    three, four = torch.tensor(3), torch.tensor([4.5])
    sign = 1 if torch.tensor(True) and three > 2 else -1
    return x * sign, three.item(), float(three), int(four), bool(four), (three + 1).item(), "ab" * three


@case(1, None)
def functions_that_ask_constant_tensors_for_an_index(x):
    n = torch.tensor(5)
    return x + len(range(n)), list(range(n - 4, n, torch.tensor(2))), hex(n), oct(n), bin(n), chr(n + 60)


@case(None, None)
def constant_tensors_that_are_no_such_numbers(x):
    found = []
    wrong = [torch.tensor(float("nan")), torch.tensor([1, 2]), torch.tensor(1j), torch.tensor(2.0)]
    for ask in (int, range, hex, bool, lambda t: "a" * t):
        for tensor in wrong:
            try:
                found.append(ask(tensor))
            except (TypeError, ValueError, RuntimeError) as error:
                found.append(type(error))
    return x * 2, found


@case(None, None)
def numbers_of_constant_tensors_that_were_written_to(x):
    one, other = torch.tensor(3), torch.tensor([3, 4])
    one.add_(1)
    other[0].mul_(5)
    copied = one.clone()
    copied += x.shape[0]
    return x * one.item(), int(other[0]), float(copied), hex(one)
