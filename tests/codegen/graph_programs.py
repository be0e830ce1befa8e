"""Small programs of torch calls, in the form that compile_fx gets, with inputs that show likely errors.

`PROGRAMS[name] = (function, make_inputs)`; `make_inputs()` gives the same tensors each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

Inputs = Callable[[], list[Any]]
PROGRAMS: dict[str, tuple[Callable[..., Any], Inputs]] = {}


def inputs(*makers: Any) -> Inputs:
    def make() -> list[Any]:
        torch.manual_seed(7)
        return [maker() for maker in makers]

    return make


def randn(*shape: int, grad: bool = False, dtype: torch.dtype = torch.float32) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(shape, dtype=dtype, requires_grad=grad)


def grad(*shape: int, dtype: torch.dtype = torch.float32) -> Callable[[], torch.Tensor]:
    return randn(*shape, grad=True, dtype=dtype)


def ints(high: int, *shape: int, dtype: torch.dtype = torch.int64) -> Callable[[], torch.Tensor]:
    return lambda: torch.randint(0, high, shape, dtype=dtype)


def bools(*shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.rand(shape) > 0.5


def program(name: str, make: Inputs, function: Callable[..., Any]) -> None:
    PROGRAMS[name] = (function, make)


two, two_grad = inputs(randn(3, 4), randn(3, 4)), inputs(grad(3, 4), grad(3, 4))

# --- elementwise, broadcasting, dtypes
program("mul_add", two, lambda x, y: x * y + 1)
program("mul_add_grad", two_grad, lambda x, y: x * y + 1)
program("one_grad", inputs(grad(3, 4), randn(3, 4)), lambda x, y: (x * y).exp())
program("broadcast", inputs(grad(3, 1, 4), grad(5, 1)), lambda x, y: (x - y) / (y.abs() + 1))
program("scalar_operands", two_grad, lambda x, y: (2 - x) / 3 + y**2 - 1.5 * y)
program(
    "int_tensor",
    inputs(ints(9, 3, 4), ints(9, 4)),
    lambda x, y: (x * y - 3, x // (y + 1), x % 5, x / (y + 1)),
)
program("int32", inputs(ints(9, 3, 4, dtype=torch.int32), ints(9, 4)), lambda x, y: (x + y, x + 1, x * 2.5))
program("bool_logic", inputs(bools(3, 4), bools(4)), lambda x, y: (x & y, x | ~y, x ^ y, x.logical_not()))
program("compare_where", two_grad, lambda x, y: torch.where(x > y, x, y * 2))
program("double", inputs(grad(3, 4, dtype=torch.float64), grad(4)), lambda x, y: x * y)
program(
    "casts", inputs(randn(3, 4)), lambda x: (x.double(), x.to(torch.int32), x.to(torch.int64).float(), x > 0)
)
program(
    "transcendentals",
    inputs(grad(5, 7)),
    lambda x: x.exp() + x.sin() * x.cos() + x.tanh() + x.sigmoid() + (x.abs() + 1).log(),
)
program("clamp", inputs(grad(20)), lambda x: x.clamp(-0.5, 0.5) + x.clamp(min=0) + F.relu(x))
program("zero_dim", inputs(grad(), grad(3)), lambda x, y: (x * y, x + 1, x * x))
program("empty", inputs(grad(0, 4), grad(4)), lambda x, y: (x * y, x.sum(0)))
program(
    "nan_inf",
    inputs(lambda: torch.tensor([float("nan"), float("inf"), -0.0, 1.0])),
    lambda x: (x * 2, x.clamp(0, 1), F.relu(x), x.max()),
)
program(
    "float_int_mix", inputs(randn(3), ints(5, 3)), lambda x, y: (x + y, x * y, torch.where(y > 2, x, 0.0))
)
program("maximum", two_grad, lambda x, y: (torch.maximum(x, y), torch.minimum(x, y)))
program("addcmul", two_grad, lambda x, y: torch.addcmul(x, x, y, value=0.5) + torch.lerp(x, y, 0.3))

# --- layouts
program("transposed_input", inputs(lambda: torch.randn(4, 3).t(), randn(3, 4)), lambda x, y: (x * 2, x + y))
program("expanded_input", inputs(lambda: torch.randn(4).expand(3, 4)), lambda x: (x * 2, x.sum(0)))
program("sliced_input", inputs(lambda: torch.randn(6, 8)[::2, 1::2]), lambda x: (x + 1, x.t() * 2))
program(
    "channels_last",
    inputs(lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)),
    lambda x: (x * 2, x.relu()),
)
program(
    "permute_chain", inputs(grad(2, 3, 4)), lambda x: (x.permute(2, 0, 1) * 2).transpose(0, 1).reshape(-1)
)
program("reshape_copy", inputs(grad(3, 4)), lambda x: x.t().reshape(2, 6) + 1)
program("flatten", inputs(grad(2, 3, 4)), lambda x: x.flatten(1) * 2)
program("cat_stack", two_grad, lambda x, y: (torch.cat([x, y * 2], 1), torch.stack([x, y])))
program("split", inputs(grad(4, 6)), lambda x: [part * 2 for part in x.split(2, 1)])
program("chunk_unused", inputs(grad(4, 6)), lambda x: x.chunk(3, 1)[1] * 2)
program("index_slices", inputs(grad(5, 6)), lambda x: x[1:4, ::2] * x[0, 0] + x[2:5, 1::2])
program("pad", inputs(grad(2, 3)), lambda x: F.pad(x, (1, 2)) * 2)
program("repeat", inputs(grad(2, 3)), lambda x: x.repeat(2, 2) + x.expand(4, 2, 3).reshape(4, 6))
program("flip_roll", inputs(grad(3, 4)), lambda x: x.flip(1) + x.roll(1, 0))
program("tril", inputs(grad(4, 4)), lambda x: x.tril() + x.triu(1))

# --- reductions
program("sum_mean", inputs(grad(3, 5)), lambda x: (x.sum(), x.mean(0), x.sum(1, keepdim=True)))
program("max_min", inputs(grad(3, 5)), lambda x: (x.max(1).values, x.amax(0), x.min(), x.argmax(1)))
program("var_std", inputs(grad(6, 5)), lambda x: (x.var(0), x.std(1), x.var(unbiased=False)))
program("softmax", inputs(grad(4, 9)), lambda x: F.softmax(x, -1) + F.log_softmax(x, 0))
program("logsumexp", inputs(grad(4, 9)), lambda x: x.logsumexp(1))
program("any_all", inputs(bools(3, 4)), lambda x: (x.any(), x.all(1), x.sum()))
program("int_sum", inputs(ints(5, 3, 4)), lambda x: (x.sum(), x.sum(0), x.prod(1), x.cumsum(0)))
program("norm", inputs(grad(3, 4)), lambda x: (x.norm(), x.norm(dim=1)))
program("cumsum", inputs(grad(3, 4)), lambda x: x.cumsum(1) * 2)
program("prod", inputs(grad(3, 4)), lambda x: x.prod(1))

# --- products
program("matmul", inputs(grad(3, 4), grad(4, 5)), lambda x, y: x @ y)
program("matmul_transposed", inputs(grad(4, 3), grad(5, 4)), lambda x, y: x.t() @ y.t())
program("matmul_strided", inputs(lambda: torch.randn(6, 8)[::2, ::2], randn(4, 5)), lambda x, y: x @ y)
program("linear", inputs(randn(8, 4), grad(5, 4), grad(5)), lambda x, w, b: F.linear(x, w, b).relu())
program("linear_3d", inputs(grad(2, 8, 4), grad(5, 4), grad(5)), lambda x, w, b: F.linear(x, w, b))
program("linear_no_bias", inputs(randn(8, 4), grad(5, 4)), lambda x, w: F.linear(x, w).sum())
program("bmm", inputs(grad(2, 3, 4), grad(2, 4, 5)), lambda x, y: torch.bmm(x, y).tanh())
program("batched_matmul", inputs(grad(2, 3, 4), grad(4, 5)), lambda x, y: x @ y)
program(
    "addmm", inputs(grad(5), grad(3, 4), grad(4, 5)), lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2)
)
program("mv_dot", inputs(grad(3, 4), grad(4)), lambda x, y: (x @ y, y @ y))
program("int_matmul", inputs(ints(5, 3, 4), ints(5, 4, 2)), lambda x, y: x @ y)
program(
    "double_matmul",
    inputs(grad(3, 4, dtype=torch.float64), grad(4, 2, dtype=torch.float64)),
    lambda x, y: x @ y,
)
program("empty_matmul", inputs(randn(3, 0), randn(0, 4)), lambda x, y: x @ y)
program("one_row", inputs(grad(1, 4), grad(4, 1)), lambda x, y: (x @ y, y @ x))
program(
    "mlp",
    inputs(randn(8, 4), grad(16, 4), grad(16), grad(3, 16), grad(3)),
    lambda x, a, b, c, d: F.linear(F.gelu(F.linear(x, a, b)), c, d),
)
program(
    "attention",
    inputs(grad(2, 5, 8), grad(2, 5, 8), grad(2, 5, 8)),
    lambda q, k, v: F.softmax(q @ k.transpose(1, 2) / 8**0.5, -1) @ v,
)

# --- layers and losses
program(
    "conv",
    inputs(randn(2, 3, 8, 8), grad(4, 3, 3, 3), grad(4)),
    lambda x, w, b: F.conv2d(x, w, b, padding=1).relu(),
)
program(
    "conv_pool",
    inputs(grad(2, 3, 8, 8), grad(4, 3, 3, 3)),
    lambda x, w: F.max_pool2d(F.conv2d(x, w), 2).flatten(1),
)
program("avg_pool", inputs(grad(2, 3, 8, 8)), lambda x: F.avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 1))
program("embedding", inputs(ints(10, 2, 3), grad(10, 4)), lambda i, w: F.embedding(i, w) * 2)
program(
    "gather_scatter",
    inputs(grad(4, 5), ints(5, 4, 2)),
    lambda x, i: x.gather(1, i) + torch.zeros(4, 5).scatter(1, i, 1.0)[:, :2],
)
program("index_select", inputs(grad(5, 3), ints(5, 4)), lambda x, i: x.index_select(0, i) + x[i])
program("layer_norm", inputs(grad(4, 6), grad(6), grad(6)), lambda x, w, b: F.layer_norm(x, (6,), w, b))
program("group_norm", inputs(grad(2, 4, 3, 3), grad(4), grad(4)), lambda x, w, b: F.group_norm(x, 2, w, b))
program("cross_entropy", inputs(grad(6, 5), ints(5, 6)), lambda x, t: F.cross_entropy(x, t))
program(
    "cross_entropy_ignore",
    inputs(grad(6, 5), lambda: torch.tensor([0, 1, -100, 3, 4, -100])),
    lambda x, t: F.cross_entropy(x, t, reduction="sum"),
)
program("mse", two_grad, lambda x, y: F.mse_loss(x, y))
program("bce", inputs(grad(8), lambda: torch.rand(8)), lambda x, t: F.binary_cross_entropy_with_logits(x, t))
program("smooth_l1", two_grad, lambda x, y: F.smooth_l1_loss(x, y) + F.l1_loss(x, y))
program(
    "activations",
    inputs(grad(30)),
    lambda x: F.silu(x) + F.elu(x) + F.leaky_relu(x, 0.1) + F.hardtanh(x) + F.softplus(x) + F.mish(x),
)
program("gelu", inputs(grad(30)), lambda x: F.gelu(x) * F.gelu(x, approximate="tanh"))
program(
    "gelu_double",
    inputs(grad(30, dtype=torch.float64)),
    lambda x: F.gelu(x) * F.gelu(x, approximate="tanh") + F.silu(x),
)
program(
    "softmax_transposed",
    inputs(lambda: torch.randn(5, 4).t().requires_grad_()),
    lambda x: F.softmax(x, 0) * F.log_softmax(x, 1),
)
program("nll_none", inputs(grad(6, 5), ints(5, 6)), lambda x, t: F.nll_loss(x, t, reduction="none"))
program(
    "nll_weight", inputs(grad(6, 5), ints(5, 6), lambda: torch.rand(5)), lambda x, t, w: F.nll_loss(x, t, w)
)
program(
    "losses_sum",
    two_grad,
    lambda x, y: F.mse_loss(x, y, reduction="sum") + F.mse_loss(x, y, reduction="none").mean(),
)
program("dropout", inputs(grad(6, 7)), lambda x: F.dropout(x, 0.4, True) * 2)
program("two_dropouts", inputs(grad(6, 7)), lambda x: F.dropout(F.dropout(x, 0.4, True).relu(), 0.2, True))
program(
    "dropout_transposed",
    inputs(lambda: torch.randn(5, 6).t().requires_grad_()),
    lambda x: F.dropout(x, 0.5, True),
)
program(
    "rand",
    inputs(randn(3, 4)),
    lambda x: (x + torch.rand(3, 4), torch.randn(4) * x, torch.randint(0, 5, (3,))),
)
program(
    "rand_unused",
    inputs(randn(3, 4)),
    lambda x: (torch.rand(2).sum() * 0 + x * 2, torch.bernoulli(x.sigmoid())),
)
program("uniform_", inputs(randn(3, 4)), lambda x: torch.empty(3, 4).uniform_(-1, 1) + x)
program(
    "batch_norm",
    inputs(randn(4, 3, 5, 5), grad(3), grad(3), lambda: torch.zeros(3), lambda: torch.ones(3)),
    lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, training=True).relu(),
)
program(
    "batch_norm_eval",
    inputs(grad(4, 3, 5, 5), grad(3), grad(3), randn(3), lambda: torch.rand(3) + 1),
    lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, training=False),
)


# --- writes in place, aliasing
def write_input(x: Any, y: Any) -> Any:
    x.add_(y)
    return x * 2


def write_and_return_input(x: Any, y: Any) -> Any:
    z = x.mul_(y)
    return z, x, x + 1


def write_view_of_input(x: Any) -> Any:
    before = x * 1
    row = x[1]
    row.fill_(7.0)
    x[:, 0].add_(1)
    return before, row, x.t()


def write_temporary(x: Any) -> Any:
    y = x * 2
    y.add_(1).mul_(2)
    y[0] = 3.0
    return y, y.sum()


def write_then_read_old_view(x: Any) -> Any:
    y = x + 0
    view = y.view(-1)
    y.mul_(2)
    view[2:5].zero_()
    return y, view


def copy_between(x: Any, y: Any) -> Any:
    x.copy_(y * 2)
    y.copy_(x)
    return x.sum()


def accumulate(x: Any) -> Any:
    total = torch.zeros(4)
    for i in range(3):
        total += x[i]
    return total


def write_int_input(x: Any) -> Any:
    x += 1
    return x


program("write_input", two, write_input)
program("write_and_return_input", two, write_and_return_input)
program("write_view_of_input", inputs(randn(3, 4)), write_view_of_input)
program("write_temporary", inputs(grad(3, 4)), write_temporary)
program("write_then_read_old_view", inputs(grad(3, 4)), write_then_read_old_view)
program("copy_between", two, copy_between)
program("accumulate", inputs(grad(3, 4)), accumulate)
program("write_int_input", inputs(ints(5, 3)), write_int_input)
program("write_transposed_input", inputs(lambda: torch.randn(4, 3).t(), randn(3, 4)), write_input)
program("write_broadcast", inputs(randn(3, 4), randn(4)), write_input)
program("write_casting", inputs(randn(3, 4), randn(3, 4, dtype=torch.float64)), write_input)
program("masked_fill", inputs(grad(3, 4), bools(3, 4)), lambda x, m: x.masked_fill(m, -1.0) * 2)
program("index_put", inputs(randn(5, 3), ints(5, 2)), lambda x, i: x.index_put((i,), torch.tensor(1.0)))
program("return_input", two_grad, lambda x, y: (x, y * 2))
program("return_twice", two_grad, lambda x, y: ((x * y), x)[0:1] * 2)
program("return_view_of_input", two_grad, lambda x, y: (x.t(), x[1:], y * 2))
program("return_only_views", inputs(grad(3, 4)), lambda x: (x.view(-1), x.detach()))
program("return_aliases", inputs(grad(3, 4)), lambda x: [(y := x * 2), y.t(), y[0]])
program("return_aliases_no_base", inputs(randn(3, 4)), lambda x: [(y := x * 2).t(), y[0]])
program("return_constants", two, lambda x, y: (x + y, None, 3, 2.5))
program("detach_part", two_grad, lambda x, y: x * (y.detach() * 2))
program("no_grad_output", two_grad, lambda x, y: (x * y, (x * 2).detach(), x > 0))
program("unused_input", inputs(grad(3), grad(3), randn(2)), lambda x, y, z: x * 2)
program("only_unused", inputs(randn(3)), lambda x: torch.ones(2, 2) * 3)
program("constant_tensor", inputs(grad(3)), lambda x: x * torch.tensor([1.0, 2.0, 3.0]))
program(
    "arange_full", inputs(grad(4)), lambda x: x * torch.arange(4) + torch.full((4,), 2.0) + torch.ones_like(x)
)
program("same_input_twice", inputs(grad(3, 4)), lambda x: x * x + x)
program("non_leaf_input", inputs(lambda: torch.randn(3, requires_grad=True) * 2), lambda x: x.exp())
program("int_argument", inputs(randn(3, 4), lambda: 2), lambda x, n: x * n)
program("float_argument", inputs(randn(3, 4), lambda: 0.5), lambda x, n: x * n)
program("deep_chain", inputs(grad(16)), lambda x: [x := (x * 1.01).sin() for _ in range(30)][-1])
