"""Sizes and ints that change between calls: programs, the calls, and how many graphs they take.

    @calls(rows(2, 3, 5), graphs=1)
    def doubled(x): return x * 2

`rows(...)` are 4-wide matrices with that many rows. `dynamic=True` is the default here; None is automatic. `ops`: nodes of all graphs together.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F

import capture


@dataclass
class DynamicCase:
    function: Callable[..., Any]
    calls: list[tuple[Any, ...]]
    graphs: int
    ops: int | None
    dynamic: bool | None


CASES: list[DynamicCase] = []


def calls(
    arguments: list[tuple[Any, ...]], graphs: int = 1, ops: int | None = None, dynamic: bool | None = True
) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        CASES.append(DynamicCase(function, arguments, graphs, ops, dynamic))
        return function

    return register


def tensor(*shape: int) -> torch.Tensor:
    return torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape) / 7


def rows(*counts: int) -> list[tuple[Any, ...]]:
    return [(tensor(n, 4),) for n in counts]


def with_int(*values: Any) -> list[tuple[Any, ...]]:
    return [(tensor(3, 4), n) for n in values]


# --- which sizes are symbols ---------------------------------------------------------------------------------------------------


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
    graphs=4,
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


Pair = collections.namedtuple("Pair", "a b")


class Holder:
    def __init__(self, n):
        self.n = n


# --- sizes as values --------------------------------------------------------------------------------------------------------------


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
def text_fixes_a_size(x):
    return x + 1, f"{x.shape[0]} rows"


@calls(rows(2, 3, 5), graphs=3)
def str_fixes_a_size(x):
    return x + 1, str(x.shape)


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


# --- operations with sizes -----------------------------------------------------------------------------------------------------------


@calls(rows(2, 3, 5), graphs=1, ops=2)
def arithmetic_that_reaches_the_graph(x):
    return x * (x.shape[0] + 1)


@calls(rows(2, 3, 5), graphs=1, ops=1)
def a_size_makes_no_node(x):
    return x * x.shape[0]


@calls(rows(2, 3, 5), graphs=1)
def mean_by_hand(x):
    return x.sum(0) / x.shape[0], x * (1.0 / x.size(0)), x * x.size(0) ** -0.5, x / math.sqrt(x.size(0))


@calls(rows(2, 3, 5), graphs=1)
def views(x):
    return (
        x.view(-1),
        x.reshape(x.shape[0], -1, 2),
        x.flatten(),
        x.view(x.shape[0] * 2, 2),
        x.unflatten(1, (2, 2)),
    )


@calls(rows(2, 3, 5), graphs=1)
def factories(x):
    n = x.size(0)
    return (
        torch.zeros(n, 3),
        torch.ones(n),
        torch.full((n, 2), 1.5),
        torch.arange(n),
        torch.empty(n, 0),
        torch.eye(n),
    )


@calls(rows(2, 3, 5), graphs=1)
def new_tensors(x):
    return (
        x.new_zeros(x.shape),
        x.new_ones(x.size(0), 2),
        torch.zeros_like(x),
        x.new_full((x.shape[0] + 1,), 2.0),
    )


@calls(rows(2, 3, 5), graphs=1)
def positions(x):
    return (
        x + torch.arange(x.shape[0])[:, None],
        torch.arange(0, x.shape[0], 2),
        torch.arange(x.shape[0] - 1, -1, -1),
    )


@calls(rows(2, 3, 5), graphs=1)
def joining(x):
    return (
        torch.cat([x, x, x]),
        torch.stack([x, x]),
        torch.cat([x, x]).shape[0],
        torch.stack([x, x]).view(-1, 4),
    )


@calls(rows(5, 6, 9), graphs=1)
def slicing(x):
    n = x.shape[0]
    return x[1:], x[: n - 1], x[n // 2 :], x[:-1], x[:, :2], x[::2], x[1:] - x[:-1], x[-3:]


@calls(rows(5, 6, 9), graphs=1)
def narrow_and_roll(x):
    return (
        x.narrow(0, 1, x.shape[0] - 2),
        x.roll(1, 0),
        x.flip(0),
        torch.chunk(x, 2, dim=1),
        x.split(2, dim=-1),
    )


@calls(rows(3, 5, 6), graphs=1)
def attention(x):
    q = x[None]
    scores = q @ q.transpose(-2, -1) / math.sqrt(q.size(-1))
    mask = torch.triu(torch.ones(x.shape[0], x.shape[0], dtype=torch.bool), diagonal=1)
    return F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ q


@calls(rows(3, 5, 6), graphs=1)
def fused_attention(x):
    q = x[None, None]
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


@calls(rows(2, 3, 5), graphs=1)
def expand_and_repeat(x):
    return (
        x[None].expand(3, -1, -1),
        x.unsqueeze(1).expand(x.shape[0], 3, 4),
        x.repeat(2, 1),
        x.sum(1, keepdim=True).expand(x.shape),
    )


@calls(rows(2, 3, 5), graphs=1)
def reductions(x):
    return (
        x.sum(),
        x.mean(0),
        x.max(dim=0),
        x.argmax(1),
        x.std(1),
        x.norm(),
        x.cumsum(0),
        x.softmax(0),
        x.amax(1),
        x.prod(0),
    )


@calls(rows(2, 3, 5), graphs=1)
def in_place(x):
    y = x.clone()
    y[0] = 1
    y[:, 1] = x.shape[0]
    y += 1
    y.mul_(2).clamp_(max=9)
    return y


@calls([(tensor(n, 3, 8, 8),) for n in (2, 4, 5)], graphs=1)
def convolutions(x):
    y = F.max_pool2d(F.conv2d(x, torch.ones(2, 3, 3, 3), padding=1).relu(), 2)
    return F.adaptive_avg_pool2d(y, 1).flatten(1)


@calls([(tensor(n, 3, 8, 8),) for n in (2, 4, 5)], graphs=1)
def normalisations(x):
    return F.group_norm(x, 3), F.layer_norm(x, (8, 8)), F.interpolate(x, scale_factor=2), F.pad(x, (1, 1))


@calls([(torch.arange(n) % 4, tensor(n, 4)) for n in (3, 5, 6)], graphs=1, ops=5)
def indices(index, x):
    return x[index % 2] + 1, x[:, index % 3]


@calls([(torch.arange(n) % 4, tensor(n, 4)) for n in (2, 4, 5)], graphs=1)
def losses(target, x):
    return (
        F.cross_entropy(x, target),
        F.mse_loss(x, x + 1),
        F.one_hot(target, 4),
        F.embedding(target, torch.eye(4)),
        x[target % 2],
    )


@calls(rows(2, 3, 5), graphs=1)
def einsum(x):
    return torch.einsum("bi,bj->bij", x, x), torch.where(x > 1, x, 0), torch.outer(x[:, 0], x[:, 1])


@calls([(tensor(n, 4), tensor(4, 3)) for n in (2, 3, 6)], graphs=2, dynamic=None)
def automatic_with_a_fixed_weight(x, w):
    return (x @ w).relu()


@calls(rows(2, 3), graphs=2)
def iterating_over_rows(x):
    return sum(row * 2 for row in x)


@calls(rows(2, 3, 2), graphs=2)
def a_loop_over_the_size(x):
    y = torch.zeros(4)
    for i in range(x.shape[0]):
        y = y + x[i]
    return y


@calls(rows(2, 3, 5), graphs=1)
def a_loop_over_a_fixed_size(x):
    y = 0
    for i in range(x.shape[1] // 2) if False else range(2):
        y = y + x[:, i]
    return y


@calls([(tensor(n, 4),) for n in (3, 5, 6)], graphs=1)
def the_last_row(x):
    return x[x.shape[0] - 1] * 2


@calls([([tensor(n, 4), tensor(n + 1, 4)],) for n in (2, 3, 5)], graphs=2, dynamic=None)
def tensors_in_a_list(tensors):
    return [t * 2 for t in tensors], torch.cat(tensors)


@calls([({"a": tensor(n, 4), "b": tensor(n + 1)},) for n in (2, 3, 5)], graphs=2, dynamic=None)
def tensors_in_a_dict(tensors):
    return {name: t + t.shape[0] for name, t in tensors.items()}


@calls(rows(3, 5, 6), graphs=1)
def sizes_through_objects_and_cells(x):
    total = 0

    def add(n):
        nonlocal total
        total += n

    add(x.shape[0])
    add(2)
    holder = Holder(total)
    holder.half = holder.n // 2
    return x * holder.n + holder.half, total


@calls(rows(3, 5, 6), graphs=2)
def matching_a_shape(x):
    match x.shape:
        case (3, _):
            return x + 1
        case (_, n):
            return x * n


@calls(rows(3, 5, 7), graphs=1)
def questions_to_a_generator(x):
    return x + 1 if all(n > 2 for n in x.shape) and any(n == 4 for n in x.shape) else x


# --- branches -----------------------------------------------------------------------------------------------------------------------


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


# --- ints -----------------------------------------------------------------------------------------------------------------------------


@calls(with_int(2, 5, 9, -3), graphs=1, ops=2)
def an_int_argument(x, n):
    return x * n + n


@calls(with_int(2, 5, 9, 11), graphs=2, dynamic=None)
def an_int_argument_that_changes(x, n):
    return x * n


@calls(with_int(2, 2, 2), graphs=1, dynamic=None)
def an_int_argument_that_does_not_change(x, n):
    return x * n


@calls(with_int(0, 1, 5, 0, -1), graphs=3)
def zero_and_one_are_constants(x, n):
    return x * n


@calls(with_int(5, True, 5.0, 6.0), graphs=4)
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


@calls([(tensor(3, 4), s) for s in (0.5, 0.25, 2.0)], graphs=2)
def floats_that_change(x, s):
    return x * s


@calls(with_int(6, 9, 12), graphs=1)
def keyword_and_default_ints(x, n):
    def inner(t, *, k, j=3):
        return t * k + j

    return inner(x, k=n)


# --- breaks -----------------------------------------------------------------------------------------------------------------------------


@calls(rows(2, 3, 5), graphs=2)
def sizes_across_a_break(x):
    n = x.shape[0] * 2
    y = x + 1
    print("break")
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


@calls(rows(2, 3), graphs=2)
def a_print_of_a_size(x):
    y = x + 1
    print(x.shape[0])
    return y + 2


# --- errors -------------------------------------------------------------------------------------------------------------------------------


@calls(rows(3, 5), graphs=0)
def a_view_that_does_not_fit(x):
    return x.view(7, 7)


@calls([(tensor(3, 4), tensor(3, 4)), (tensor(5, 4), tensor(5, 4)), (tensor(5, 4), tensor(3, 4))], graphs=1)
def sizes_that_do_not_match(x, y):
    return x + y
