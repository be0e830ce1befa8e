"""Sizes that change: which ones are symbols, branches on them, breaks and errors (see dynamic_registry)."""

from __future__ import annotations

from types import SimpleNamespace

import torch

import capture
from tests.capture.cases.sizes.dynamic_registry import calls, rows, tensor, with_int

# --- which sizes are symbols --------------------------------------------------------------------------------


@calls(rows(2, 3, 4, 5, 60), graphs=1, ops=1)
def one_graph_for_many_sizes(x):
    return x * 2


@calls(rows(2, 3, 4, 5), graphs=2, dynamic=None)
def automatic_after_one_change(x):
    return x * 2


@calls(rows(2, 3, 4, 5), graphs=4, dynamic=False)
def never(x):
    return x * 2


@calls(rows(2, 3, 2, 1, 1, 4), graphs=3, dynamic=None)
def size_one_is_a_number(x):
    return x + 1


@calls([(tensor(0, 4),), (tensor(3, 4),), (tensor(5, 4),), (tensor(0, 4),)], graphs=2)
def size_zero_is_a_number(x):
    return x.sum(0)


@calls(
    [(tensor(2, 4),), (tensor(2, 5),), (tensor(2, 6),), (tensor(3, 6),), (tensor(4, 6),)],
    graphs=3,
    dynamic=None,
)
def dims_change_one_after_another(x):
    return x.cos()


@calls(
    [(tensor(2, 4), tensor(2, 3)), (tensor(5, 4), tensor(5, 3)), (tensor(7, 4), tensor(7, 3))],
    graphs=2,
    dynamic=None,
)
def two_tensors_change_together(x, y):
    return torch.cat([x, y], dim=1)


@calls([(tensor(3, 3),), (tensor(5, 5),), (tensor(4, 5),), (tensor(6, 7),)], graphs=2)
def equal_sizes_share_a_symbol(x):
    return x @ torch.ones(x.shape[1], 2)


@calls(
    [(tensor(3, 4),), (tensor(3),), (tensor(5, 4),), (tensor(7),), (tensor(6, 4),), (tensor(9),)],
    graphs=3,
    dynamic=None,
)
def rank_changes(x):
    return x + 1


@calls([(tensor(5, 6)[:, :n],) for n in (2, 3, 4)], graphs=1)
def slices_of_a_larger_tensor(x):
    return x + 1


@calls([(tensor(n, 4).t(),) for n in (3, 5, 6)], graphs=1)
def transposed_inputs(x):
    return x.contiguous() + x


@calls([(tensor(n, 3, m),) for n, m in ((4, 5), (6, 7), (5, 9))], graphs=1)
def three_dims(x):
    return x.transpose(1, 2).reshape(x.size(0), -1)


@calls([(tensor(9, 4)[n:],) for n in (1, 2, 5)], graphs=1)
def storage_offsets(x):
    return x * 3


# --- branches -----------------------------------------------------------------------------------------------


@calls(rows(2, 3, 9, 10, 2, 12), graphs=2)
def a_branch_flips_once(x):
    if x.shape[0] > 5:
        return x + 1
    return x - 1


@calls(rows(10, 6, 8, 5, 7), graphs=2)
def a_branch_on_divisibility(x):
    return x.view(2, -1) if x.shape[0] % 2 == 0 else x.flatten()


@calls([(tensor(3, 4), tensor(3, 4)), (tensor(5, 4), tensor(5, 4)), (tensor(3, 4), tensor(5, 4))], graphs=2)
def a_branch_on_two_sizes(x, y):
    if x.shape == y.shape:
        return x + y
    return x.sum() + y.sum()


@calls(rows(2, 3, 20), graphs=2)
def a_chained_comparison(x):
    return x + 1 if 1 < x.size(0) <= 10 else x - 1


@calls(rows(2, 3, 5), graphs=1)
def a_comparison_is_returned(x):
    return x + 1, x.shape[0] > 1, x.shape[0] >= 100


@calls(rows(5, 6, 9), graphs=1)
def a_condition_that_sizes_imply(x):
    y = x[1:]
    if y.shape[0] == x.shape[0] - 1:
        return y * 2
    return y * 3


@calls(rows(2, 3, 5), graphs=1)
def truth_of_a_size(x):
    return x + 1 if x.shape[0] and not x.shape[0] < 0 else x


@calls(rows(3, 4, 5, 9), graphs=1)
def an_assertion_on_a_size(x):
    assert x.shape[0] > 2, "too small"
    return x + 1


@calls(rows(3, 5), graphs=2)
def a_while_loop_on_a_size(x):
    n = x.shape[0]
    while n > 1:
        x = x * 2
        n //= 2
    return x


@calls(
    [
        (tensor(3, 4), tensor(3, 4)),
        (tensor(5, 4), tensor(5, 4)),
        (tensor(7, 4), tensor(1, 4)),
        (tensor(6, 4), tensor(1, 4)),
    ],
    graphs=2,
)
def broadcasting(x, y):
    return x + y


# --- ints ---------------------------------------------------------------------------------------------------


@calls(with_int(2, 5, 9, -3), graphs=1, ops=2)
def an_int_argument(x, n):
    return x * n + n


@calls(with_int(2, 5, 9, 11), graphs=2, dynamic=None)
def an_int_argument_that_changes(x, n):
    return x * n


@calls(with_int(2, 2, 2), graphs=1, dynamic=None)
def an_int_argument_that_does_not_change(x, n):
    return x * n


@calls(with_int(0, 1, 5, 0, -1), graphs=1)
def zero_and_one_are_ints_like_others(x, n):
    return x * n


@calls(with_int(5, True, 5.0, 6.0), graphs=3)
def other_numbers_are_no_ints(x, n):
    return x * n


@calls(with_int(5, 7, -2), graphs=2)
def a_branch_on_an_int(x, n):
    return x * n if n > 0 else x - n


@calls(with_int(5, 7, 2), graphs=3)
def a_loop_over_an_int(x, n):
    for _ in range(n):
        x = x + 1
    return x


@calls([(tensor(3, 4), [2, 3]), (tensor(3, 4), [4, 3]), (tensor(3, 4), [5, 3])], graphs=2, dynamic=None)
def ints_in_a_list(x, sizes):
    return x * sizes[0] + sizes[1]


@calls([(tensor(3, 4), {"k": n}) for n in (2, 3, 4)], graphs=2, dynamic=None)
def ints_in_a_dict(x, options):
    return x * options["k"], options["k"] + 1


@calls([(tensor(3, 4), SimpleNamespace(k=n)) for n in (2, 3, 4)], graphs=2, dynamic=None)
def ints_of_an_object(x, holder):
    return x * holder.k


@calls(with_int(2, 3, 4, 5), graphs=1)
def ints_as_dims_of_factories(x, n):
    return torch.zeros(n, n) + n, x.repeat(n, 1), torch.arange(9)[:n]


@calls([(tensor(n, 4), n) for n in (2, 3, 5)], graphs=1)
def an_int_equal_to_a_size(x, n):
    return x.view(n, 4) * n


@calls([(tensor(3, 4), torch.Size([n, 4])) for n in (2, 3, 4, 5)], graphs=2, dynamic=None)
def ints_of_a_size(x, size):
    return x.new_zeros(size) + size.numel(), size


@calls(with_int(2, 3, 2**40, 2**70), graphs=2)
def huge_ints(x, n):
    return x + 1, n + 1


@calls(with_int(3, 5, 0), graphs=2)
def dividing_by_an_int(x, n):
    return x + 1, 7 // n, 7 % n


@calls(with_int(3, -5, 4), graphs=1)
def division_rounds_as_python_does(x, n):
    return x + n // 2, n // 3, n % 4, divmod(n, 3)


@calls([(tensor(9, 4), i) for i in (2, 3, 5, 9, -9)], graphs=2)
def an_int_as_an_index(x, i):
    return x[i] + 1


@calls([(tensor(9, 4), i) for i in (2, 3, 5)], graphs=1)
def an_int_in_slices(x, i):
    y = x.clone()
    y[i:] = 0
    return x[:i], x[i : i + 2], y, x[-i:]


@calls([(tensor(3, 4), n, m) for n, m in ((5, 3), (6, 4), (7, 7))], graphs=1)
def two_ints(x, n, m):
    return x * n - m, n * m, n - m


@calls(with_int(6, 9, 12), graphs=1)
def keyword_and_default_ints(x, n):
    def inner(t, *, k, j=3):
        return t * k + j

    return inner(x, k=n)


# --- breaks -------------------------------------------------------------------------------------------------


@calls(rows(2, 3, 5), graphs=2)
def sizes_across_a_break(x):
    n = x.shape[0] * 2
    y = x + 1
    capture.graph_break()
    return y * n, n


@calls(rows(2, 3, 5), graphs=2)
def sizes_in_containers_across_a_break(x):
    sizes = {"n": x.shape[0], "both": (x.shape[0], x.shape[0] // 2)}
    y = x + 1
    capture.graph_break()
    return y.view(sizes["n"], 2, 2), sizes


@calls(rows(2, 3, 5), graphs=4, dynamic=None)
def automatic_across_a_break(x):
    y = x + x.shape[0]
    capture.graph_break()
    return y * 2


@calls(rows(6, 5, 9), graphs=2)
def data_decides_on_sizes(x):
    y = x[: x.shape[0] // 2]
    if y.sum() > 0:
        return y * y.shape[0]
    return y - 1


@calls(rows(2, 3), graphs=1)
def a_print_of_a_size(x):
    y = x + 1
    print(x.shape[0])
    return y + 2


# --- errors -------------------------------------------------------------------------------------------------


@calls(rows(3, 5), graphs=0)
def a_view_that_does_not_fit(x):
    return x.view(7, 7)


@calls([(tensor(3, 4), tensor(3, 4)), (tensor(5, 4), tensor(5, 4)), (tensor(5, 4), tensor(3, 4))], graphs=1)
def sizes_that_do_not_match(x, y):
    return x + y
