"""Sizes as values of the program, and arithmetic on them (see dynamic_registry)."""

from __future__ import annotations

import collections
import itertools
import math

import torch

from tests.capture.cases.sizes.dynamic_registry import calls, rows, tensor

Pair = collections.namedtuple("Pair", "a b")


# --- sizes as values ----------------------------------------------------------------------------------------


@calls(rows(2, 3, 5), graphs=1, ops=1)
def sizes_are_returned(x):
    return x + 1, x.shape[0], x.size(0), x.size(), x.shape, len(x), x.numel(), x.stride(), x.dim()


@calls(rows(2, 3, 5), graphs=1, ops=1)
def arithmetic_is_returned(x):
    n = x.shape[0]
    return (
        x + 1,
        n + 1,
        2 * n,
        n - 5,
        n // 2,
        n % 3,
        n**2,
        -n,
        abs(-n),
        n / 2,
        divmod(n, 2),
        +n,
        7 - n,
        2**n,
        n * 1.5,
    )


@calls(rows(2, 3, 5), graphs=1, ops=1)
def numbers_made_of_sizes(x):
    n = x.shape[0]
    return (
        x + 1,
        float(n),
        int(n),
        int(n / 2),
        math.sqrt(n),
        math.floor(n / 2),
        math.ceil(n / 2),
        n**0.5,
        bool(n),
        n.real,
    )


@calls(rows(5, 3, 6), graphs=1)
def extremes(x):
    n = x.shape[0]
    return x.new_zeros(max(n, 4), min(n, 100), max(2, 4 * n, 1)), max(n, 2), min([n, 9])


@calls(rows(2, 3, 5), graphs=1)
def products_and_sums(x):
    return x.reshape(math.prod(x.shape)), sum(x.shape), x.shape.numel(), sum([x.shape[0], 1])


@calls(rows(2, 3, 5), graphs=1)
def sizes_in_containers(x):
    d = {"n": x.shape[0], "all": [*x.shape, x.shape[0] + 1]}
    t = (d["n"], d["all"][0])
    return x * d["n"] + t[1], d, t


@calls(rows(2, 3, 5), graphs=1)
def sizes_in_a_named_tuple(x):
    pair = Pair(x.shape[0], 2)
    return x + pair.a, pair


@calls(rows(2, 3, 5), graphs=1)
def questions_about_types(x):
    n = x.shape[0]
    if n is None or not isinstance(n, int) or isinstance(n, (str, list)) or type(n) is not int:
        return x
    return x + n, n == "n", n != None, n == (1,)  # noqa: E711


@calls(rows(2, 3, 5), graphs=3)
def a_dict_key_fixes_a_size(x):
    return x + {2: 1, 3: 2, 5: 3}[x.shape[0]]


@calls(rows(2, 3), graphs=2)
def a_list_index_fixes_a_size(x):
    return x + [1, 2, 3, 4][x.shape[0]]


@calls(rows(2, 3), graphs=2)
def repeating_a_list_fixes_a_size(x):
    return x + sum([1.0] * x.shape[0])


@calls(rows(2, 3), graphs=2)
def a_hash_fixes_a_size(x):
    return x + 1, hash(x.shape[0])


@calls(rows(2, 3, 4), graphs=1)
def a_lambda_over_a_size(x):
    n = x.shape[0]
    return (lambda k: x[: k + n])(1)


@calls(rows(2, 3, 5), graphs=1)
def unpacking_a_shape(x):
    b, d = x.shape
    *lead, last = x.size()
    return x.view(b, 2, d // 2), x.view(*lead, 2, last // 2)


@calls(rows(2, 3, 5), graphs=1)
def slices_of_a_shape(x):
    return x.expand(3, *x.shape), x.view(x.shape[:-1] + (2, 2)), x.shape[::-1]


# --- floats, rounding, bits ---------------------------------------------------------------------------------


@calls(rows(5, 6, 9, 20, 7), graphs=2)
def a_branch_on_a_quotient(x):
    return x + 1 if x.shape[0] / 2 > 4 else x - 1


@calls(rows(5, 8, 9, 15, 16), graphs=2)
def a_branch_on_a_root(x):
    return x + 1 if math.sqrt(x.shape[0]) >= 3 else x - 1


@calls(rows(5, 8, 9, 15, 16), graphs=2)
def a_branch_on_a_power(x):
    return x + 1 if x.shape[0] ** 0.5 >= 3 else x - 1


@calls(rows(5, 7, 8, 9), graphs=2)
def a_branch_on_a_logarithm(x):
    return x + 1 if math.log(x.shape[0]) > 2 else x - 1


@calls(rows(5, 3, 9, 3), graphs=2)
def a_float_equals(x):
    return x + 1 if float(x.shape[0]) == 3.0 else x - 1


@calls(rows(10, 20, 30, 49, 98, 3), graphs=1)
def rounding_errors_count(x):
    n = x.shape[0]
    return x + 1, n / 49 * 49 == n, n * 0.1 + 0.2, (n / 3) * 3 - n


@calls(rows(6, 9, 20, 21), graphs=1)
def sizes_of_rounded_floats(x):
    n = x.shape[0]
    return (
        x.new_zeros(int(n * 0.5), math.ceil(n / 3)),
        torch.ones(int(math.sqrt(n)), round(n / 3)),
        x[: int(n * 1.5) // 2],
    )


@calls(rows(5, 6, 9, 20), graphs=1)
def roots_of_ints(x):
    n = x.shape[0]
    return x.new_zeros(math.isqrt(n)), torch.full((int(n**0.5),), n), round(n), round(n / 7, 2)


@calls(rows(5, 6, 9, 20), graphs=1)
def scales(x):
    n = x.shape[0]
    return x * math.log2(n) + math.exp(-n) * math.sin(n), x / (n / 3 - 0.25), x * n**-0.5


@calls(rows(5, 6, 9, 20), graphs=1)
def bits(x):
    n = x.shape[0]
    return x.new_zeros(n << 1, n >> 1), x * (n & 3) + (n | 1), n ^ 2, ~n, x.new_ones(n.bit_length())


@calls(rows(3, 5, 4, 9, 16), graphs=2)
def a_branch_on_bits(x):
    n = x.shape[0]
    return x + 1 if n & (n - 1) == 0 else x.new_zeros(1 << (n - 1).bit_length())


@calls(rows(5, 6, 9), graphs=1)
def the_larger_of_floats(x):
    return x * max(x.shape[0] / 2, 1.5)


@calls(rows(6, 9, 12), graphs=1, ops=4)
def one_node_for_one_expression(x):
    n = x.shape[0]
    return x.new_zeros(n // 3 + 1), x.new_ones(1 + n // 3)


@calls(rows(3, 5, 6), graphs=1)
def sizes_in_tensors(x):
    n = x.shape[0]
    return (
        torch.tensor(n) + x,
        torch.tensor([n, 2]),
        torch.tensor(float(n)),
        torch.tensor([[n], [n * 2]], dtype=torch.float64),
    )


@calls(rows(3, 5, 4, 7), graphs=2)
def a_size_in_a_tuple_of_numbers(x):
    return x + 1 if x.shape[0] in (4, 9) else x - 1


@calls(rows(3, 5, 4, 7), graphs=2)
def a_shape_compared_with_a_tuple(x):
    return x + 1 if x.shape == (4, 4) else x - 1


@calls(rows(3, 5, 7), graphs=1)
def a_shape_made_by_hand(x):
    size = torch.Size([x.shape[0], 2])
    return (
        x.new_zeros(size),
        size,
        size.numel(),
        isinstance(size, torch.Size),
        isinstance(size[0], torch.SymInt),
    )


class Sized:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


@calls(rows(3, 5, 7), graphs=1)
def an_object_with_a_length(x):
    return x.new_zeros(len(Sized(x.shape[0]))), x.nelement() * x.itemsize, x.nbytes


@calls([(tensor(n, 4), tensor(m, 4)) for n, m in ((3, 3), (5, 5), (3, 5), (7, 2))], graphs=2, dynamic=None)
def equal_sizes_that_change_are_unrelated(x, y):
    return x.sum() + y.sum()


@calls([(tensor(n, n),) for n in (3, 5, 7)], graphs=2, dynamic=None)
def equal_sizes_that_belong_together(x):
    return x @ x


@calls(rows(3, 5, 7), graphs=1)
def sizes_in_iterators(x):
    return x + 1, list(itertools.accumulate(x.shape)), list(itertools.product(x.shape, [1, 2]))
