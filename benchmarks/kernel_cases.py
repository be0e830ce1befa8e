"""The measured kernels: what each computes, and its inputs at three sizes.

In:  nothing.
Out: `CASES`: `Case(name, function, inputs(size), sizes, grad)`; `inputs` gives the arguments of `function`;
     with `grad` the measurement includes the gradients of all floating arguments that require grad.

Sizes are those of BERT-base (12 heads of 64, width 768, sequences of 128), GPT-2, ResNet-50 and ViT (196
patches); others are small or between these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Inputs = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    inputs: Inputs
    sizes: tuple[Any, ...]
    grad: bool = False


CASES: list[Case] = []


def case(
    name: str,
    function: Callable[..., Any],
    inputs: Inputs,
    *sizes: Any,
    both: bool = False,
    grad: bool = False,
) -> None:
    """`both`: makes two cases, the forward without grad, and the forward with backward."""
    if both or not grad:
        CASES.append(Case(name, function, inputs, sizes))
    if both or grad:
        CASES.append(Case(f"{name} fwd+bwd", function, inputs, sizes, True))


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, requires_grad=True)


def ints(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape)


# --- pointwise --------------------------------------------------------------------------------------------

LENGTHS = (1000, 100_000, 10_000_000)


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Ten operations, five of them transcendental."""
    return (-(((x * y + 0.5).sigmoid() * y).exp().tanh() + 0.5)).exp() * y


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


case("x * y + 1", lambda x, y: x * y + 1, lambda n: (normal(n), normal(n)), *LENGTHS, both=True)
case("chain of 10", chain, lambda n: (normal(n), normal(n)), *LENGTHS)
case("chain of 10", chain, lambda n: (normal(n), normal(n)), 1000, 100_000, 1_000_000, grad=True)
case("gelu", lambda x: F.gelu(x), lambda n: (normal(n),), 1000, 128 * 3072, 4 * 128 * 3072, both=True)
case("gelu by hand", gelu_tanh, lambda n: (normal(n),), 1000, 128 * 3072, 4 * 128 * 3072, both=True)
case(
    "silu gate",
    lambda x, y: F.silu(x) * y,
    lambda n: (normal(n), normal(n)),
    1000,
    100_000,
    1_000_000,
    both=True,
)
case(
    "where, clamp",
    lambda x, y: torch.where(x > 0, x.clamp(max=2.0), y * 0.1),
    lambda n: (normal(n), normal(n)),
    *LENGTHS,
)
case(
    "bf16 scale, add",
    lambda x, y: x * 2 + y,
    lambda n: (torch.randn(n).bfloat16(), torch.randn(n).bfloat16()),
    *LENGTHS,
)
case(
    "int64 mix",
    lambda x, y: (x * 3 + y) % 7,
    lambda n: (ints(1000, n), ints(1000, n)),
    1000,
    100_000,
    1_000_000,
)
case(
    "broadcast bias, relu",
    lambda x, b: torch.relu(x + b),
    lambda s: (normal(*s), normal(s[1])),
    (16, 64),
    (512, 1024),
    (4096, 1024),
    both=True,
)
case("x + y.T", lambda x, y: x + y.T, lambda n: (normal(n, n), normal(n, n)), 64, 512, 2048)
case(
    "permute, contiguous",
    lambda x: x.permute(0, 2, 1, 3).contiguous(),
    lambda b: (normal(b, 128, 12, 64),),
    1,
    4,
    16,
)
case("cat", lambda x, y: torch.cat([x, y * 2], 1), lambda n: (normal(n, 256), normal(n, 256)), 8, 512, 4096)
case(
    "rotary",
    lambda x, c, s: x * c + torch.cat([-x[..., 32:], x[..., :32]], -1) * s,
    lambda b: (normal(b, 12, 128, 64), normal(128, 64), normal(128, 64)),
    1,
    2,
    8,
)

# --- reductions --------------------------------------------------------------------------------------------

MATRICES = ((64, 64), (512, 1024), (4096, 2048))


def matrix(shape: tuple[int, int]) -> tuple[torch.Tensor]:
    return (normal(*shape),)


case("sum of all", lambda x: x.sum(), lambda n: (normal(n),), *LENGTHS)
case("sum of rows", lambda x: x.sum(1), matrix, *MATRICES)
case("sum of columns", lambda x: x.sum(0), matrix, *MATRICES)
case(
    "sum of the middle",
    lambda x: x.sum(1),
    lambda s: (normal(*s),),
    (8, 16, 32),
    (32, 128, 128),
    (64, 196, 768),
)
case("max of rows", lambda x: x.amax(1), matrix, *MATRICES)
case("max of columns", lambda x: x.amax(0), matrix, *MATRICES)
case("argmax of rows", lambda x: x.argmax(1), matrix, *MATRICES)
case("mean and variance of rows", lambda x: torch.var_mean(x, 1), matrix, *MATRICES)
case("norm of all", lambda x: x.norm(), lambda n: (normal(n),), *LENGTHS)
case("cumsum of rows", lambda x: x.cumsum(1), matrix, *MATRICES)
case("logsumexp", lambda x: torch.logsumexp(x, 1), matrix, *MATRICES)

# --- norms, softmax, losses --------------------------------------------------------------------------------

ROWS = ((16, 64), (512, 1024), (4096, 768))


def norm_inputs(shape: tuple[int, int]) -> tuple[torch.Tensor, ...]:
    return normal(*shape), normal(shape[1]), normal(shape[1])


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def labels_for(shape: tuple[int, int]) -> tuple[torch.Tensor, ...]:
    return normal(*shape), ints(shape[1], shape[0])


case("softmax", lambda x: torch.softmax(x, 1), matrix, *ROWS, both=True)
case("softmax of columns", lambda x: torch.softmax(x, 0), matrix, *ROWS)
case(
    "masked softmax",
    lambda x, m: torch.softmax((x * 0.125).masked_fill(m, float("-inf")), -1),
    lambda b: (normal(b, 12, 128, 128), torch.ones(128, 128).triu(1).bool()),
    1,
    2,
    8,
)
case("layer_norm", lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b), norm_inputs, *ROWS, both=True)
case(
    "residual, layer_norm",
    lambda x, w, b, r: F.layer_norm(x + r, x.shape[1:], w, b),
    lambda s: (*norm_inputs(s), normal(*s)),
    *ROWS,
    both=True,
)
case("rms_norm", rms_norm, lambda s: norm_inputs(s)[:2], *ROWS, both=True)
case(
    "cross_entropy",
    lambda x, t: F.cross_entropy(x, t),
    labels_for,
    (64, 10),
    (512, 1000),
    (128, 30522),
    both=True,
)
case(
    "mse_loss",
    lambda x, t: F.mse_loss(x, t),
    lambda n: (normal(n), torch.randn(n)),
    1000,
    100_000,
    1_000_000,
    both=True,
)
case(
    "bce with logits",
    lambda x, t: F.binary_cross_entropy_with_logits(x, t),
    lambda n: (normal(n), torch.rand(n)),
    1000,
    100_000,
    1_000_000,
    both=True,
)
case(
    "batch_norm eval, relu",
    lambda x, w, b, m, v: torch.relu(F.batch_norm(x, m, v, w, b)),
    lambda s: (
        normal(s[0], s[1], s[2], s[2]),
        normal(s[1]),
        normal(s[1]),
        torch.randn(s[1]),
        torch.rand(s[1]),
    ),
    (1, 8, 8),
    (8, 64, 28),
    (8, 64, 56),
)
case(
    "batch_norm training, relu",
    lambda x, w, b, m, v: torch.relu(F.batch_norm(x, m, v, w, b, training=True)),
    lambda s: (
        normal(s[0], s[1], s[2], s[2]),
        normal(s[1]),
        normal(s[1]),
        torch.randn(s[1]),
        torch.rand(s[1]),
    ),
    (2, 8, 8),
    (8, 64, 28),
    (8, 64, 56),
    grad=True,
)
case(
    "group_norm",
    lambda x, w, b: F.group_norm(x, 8, w, b),
    lambda s: (normal(s[0], s[1], s[2], s[2]), normal(s[1]), normal(s[1])),
    (2, 16, 8),
    (4, 64, 28),
    (8, 64, 56),
)

# --- products ----------------------------------------------------------------------------------------------


def linear_inputs(size: tuple[int, int, int]) -> tuple[torch.Tensor, ...]:
    rows, inner, outer = size
    return normal(rows, inner), normal(outer, inner), normal(outer)


def mlp(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, v: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    return F.linear(torch.relu(F.linear(x, w, b)), v, c)


def attention(x: torch.Tensor, qkv: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    batch, length, width = x.shape
    q, k, v = F.linear(x, qkv).view(batch, length, 3, width // 64, 64).permute(2, 0, 3, 1, 4)
    scores = torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1)
    return F.linear((scores @ v).transpose(1, 2).reshape(batch, length, width), out)


def sdpa_inputs(size: tuple[int, int]) -> tuple[torch.Tensor, ...]:
    return tuple(normal(size[0], 12, size[1], 64) for _ in range(3))


case(
    "linear",
    lambda x, w, b: F.linear(x, w, b),
    linear_inputs,
    (4, 64, 64),
    (128, 768, 768),
    (128, 768, 3072),
    both=True,
)
case(
    "linear, gelu",
    lambda x, w, b: F.gelu(F.linear(x, w, b)),
    linear_inputs,
    (4, 64, 64),
    (128, 768, 768),
    (128, 768, 3072),
    both=True,
)
case(
    "mlp",
    mlp,
    lambda n: (normal(n, n), normal(n, n), normal(n), normal(n, n), normal(n)),
    8,
    64,
    512,
    both=True,
)
case(
    "bmm",
    lambda x, y: torch.bmm(x, y),
    lambda s: (normal(s[0], s[1], 64), normal(s[0], 64, s[1])),
    (2, 16),
    (12, 128),
    (48, 196),
)
case(
    "sdpa",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    sdpa_inputs,
    (1, 16),
    (1, 128),
    (4, 196),
    both=True,
)
case(
    "attention block",
    attention,
    lambda s: (normal(s[0], s[1], 768), normal(2304, 768), normal(768, 768)),
    (1, 16),
    (1, 128),
    (2, 196),
    both=True,
)
case(
    "conv, batch_norm eval, relu",
    lambda x, w, g, b, m, v: torch.relu(F.batch_norm(F.conv2d(x, w, padding=1), m, v, g, b)),
    lambda s: (
        normal(1, s[0], s[1], s[1]),
        normal(s[0], s[0], 3, 3),
        normal(s[0]),
        normal(s[0]),
        torch.randn(s[0]),
        torch.rand(s[0]),
    ),
    (8, 8),
    (64, 28),
    (64, 56),
)
case(
    "conv, batch_norm training, relu",
    lambda x, w, g, b, m, v: torch.relu(F.batch_norm(F.conv2d(x, w, padding=1), m, v, g, b, training=True)),
    lambda s: (
        normal(2, s[0], s[1], s[1]),
        normal(s[0], s[0], 3, 3),
        normal(s[0]),
        normal(s[0]),
        torch.randn(s[0]),
        torch.rand(s[0]),
    ),
    (8, 8),
    (64, 28),
    (64, 56),
    grad=True,
)
case(
    "conv, pool, relu",
    lambda x, w: torch.relu(F.max_pool2d(F.conv2d(x, w, padding=1), 2)),
    lambda s: (normal(s[0], s[1], 28, 28), normal(s[1], s[1], 3, 3)),
    (1, 8),
    (8, 16),
    (8, 64),
    both=True,
)

# --- look-ups ----------------------------------------------------------------------------------------------

case(
    "embedding",
    lambda i, w: F.embedding(i, w),
    lambda s: (ints(s[1], s[0]), normal(s[1], 768)),
    (16, 1000),
    (512, 30522),
    (4096, 30522),
)
case(
    "embedding",
    lambda i, w: F.embedding(i, w),
    lambda s: (ints(s[1], s[0]), normal(s[1], 256)),
    (16, 100),
    (512, 1000),
    (4096, 5000),
    grad=True,
)
case(
    "embeddings, layer_norm",
    lambda i, w, p, g, b: F.layer_norm(F.embedding(i, w) + p, (768,), g, b),
    lambda s: (ints(30522, *s), normal(30522, 768), normal(s[1], 768), normal(768), normal(768)),
    (1, 16),
    (1, 128),
    (8, 128),
)
case(
    "index_add",
    lambda x, i, v: x.index_add(0, i, v),
    lambda s: (torch.randn(s[0], 64), ints(s[0], s[1]), torch.randn(s[1], 64)),
    (100, 400),
    (2708, 10556),
    (10000, 50000),
)
case(
    "gather",
    lambda x, i: x.gather(1, i),
    lambda s: (torch.randn(*s), ints(s[1], *s)),
    (16, 64),
    (512, 1024),
    (2048, 1024),
)

# --- optimizers --------------------------------------------------------------------------------------------


def states(sizes: tuple[tuple[int, ...], ...], count: int) -> tuple[list[torch.Tensor], ...]:
    return tuple([torch.rand(shape) for shape in sizes] for _ in range(count))


@torch.no_grad()
def sgd(params: list[torch.Tensor], grads: list[torch.Tensor], buffers: list[torch.Tensor]) -> None:
    for p, g, b in zip(params, grads, buffers):
        b.mul_(0.9).add_(g)
        p.add_(b, alpha=-1e-3)


@torch.no_grad()
def adam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    means: list[torch.Tensor],
    squares: list[torch.Tensor],
) -> None:
    for p, g, m, v in zip(params, grads, means, squares):
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=1e-3)
        p.addcdiv_(m, (v.sqrt() * 1.01).add_(1e-8), value=-1e-3)


LAYER = ((768, 768), (768,), (3072, 768), (3072,))
PARAMETERS = (((64, 64), (64,)), ((64, 64), (64,)) * 10, LAYER)
case("sgd with momentum", sgd, lambda sizes: states(sizes, 3), *PARAMETERS)
case("adam", adam, lambda sizes: states(sizes, 4), *PARAMETERS)

# --- whole layers ------------------------------------------------------------------------------------------


class Encoder(nn.Module):
    """A layer of BERT-base's size without dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(768, 2304), nn.Linear(768, 768)
        self.up, self.down = nn.Linear(768, 3072), nn.Linear(3072, 768)
        self.norm1, self.norm2 = nn.LayerNorm(768), nn.LayerNorm(768)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 12, 64).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, 768)
        x = self.norm1(x + self.out(mixed))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


case(
    "encoder layer",
    lambda model, x: model(x),
    lambda s: (Encoder(), normal(*s, 768)),
    (1, 16),
    (1, 128),
    (4, 128),
    both=True,
)
