"""Random tensor programs as source text: up to two dozen operators over three inputs of random layouts.

    Program(7).source      ->  "def f(a, b, c):\n    v0 = a.sum(-1, keepdim=True)\n    ..."
    Program(7).inputs()    ->  [a, b, c]: dense, transposed, strided or expanded

The same seed gives the same program. Numbers stay small, so that rounding stays small. If a program is
chaotic nevertheless, a run in float64 shows it; the comparison uses that run.
"""

from __future__ import annotations

import linecache
import math
import random
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

Shape = tuple[int, ...]
NAMES = ("a", "b", "c")
SHAPES: list[Shape] = [(), (1,), (5,), (17,), (3, 4), (4, 1), (2, 3, 4), (64,), (8, 16), (1, 7), (33, 3),
                       (2, 1, 5), (4, 4), (0, 3), (2, 2, 3, 2)]  # fmt: skip
LARGEST = 4000  # elements

UNARY = """torch.exp({}.clamp(-3, 3)) | torch.tanh({}) | torch.sigmoid({}) | {}.abs() | -{} | {}.relu()
    | torch.sin({}) | ({}.abs() + 0.5).log() | ({}.abs() + 0.1).sqrt() | {} * 2 | {} + 1 | 1 - {} | {} / 3
    | F.gelu({}) | F.silu({}) | F.softplus({}) | {}.square() | F.elu({}) | {}.clamp(-1, 1) | {}.sign()
    | {}.floor() | {}.round() | torch.erf({}) | F.leaky_relu({}, 0.1) | {}.reciprocal().clamp(-5, 5) | {} ** 2
    | {}.clone() | {}.contiguous() | F.hardtanh({}) | torch.rsqrt({}.abs() + 1) | {}.detach()
    | torch.nan_to_num({}) | {}.double().float() | {}.half().float() | {}.bfloat16().float()
    | F.dropout({}, 0.0, True) | torch.expm1({}.clamp(-2, 2)) | torch.log1p({}.abs()) | torch.atan({})
    | F.softsign({}) | F.mish({}) | F.hardswish({}) | F.logsigmoid({}) | F.celu({}) | F.relu6({})
    | F.softshrink({}, 0.3) | {}.sigmoid().logit() | torch.special.expit({}) | {}.cos() | torch.asinh({})
    | {}.frac() | {}.trunc() | torch.special.i0e({}) | F.threshold({}, 0.1, 0.5) | {}.to(torch.int8).float()
    | ({}.abs() * 20).to(torch.uint8).float() | ({} * 9).to(torch.int16).float()
    | ({} * 9).long().bitwise_and(5).float() | ({} * 5).int().float() | torch.lgamma({}.abs() + 1)
    | torch.cosh({}.clamp(-2, 2)) | {}.logical_not().float() | {}.double().sin().float()
    | {}.type(torch.float64).cumsum(-1).float() | torch.zeros_like({}) + 0.5 | torch.full_like({}, 2.0) - {}
""".split("|")
BINARY = """{} + {} | {} - {} | {} * {} | {} / ({}.abs() + 1) | torch.maximum({}, {}) | torch.minimum({}, {})
    | torch.where({} > 0, {}, {}) | torch.atan2({}, {}) | torch.hypot({}, {}) | {}.lerp({}, 0.3)
    | torch.add({}, {}, alpha=2) | torch.where({} > {}, 1.0, 0.0) | torch.fmod({}, {}.abs() + 1)
    | torch.remainder({}, {}.abs() + 1) | ({} > {}).float() | ({} <= {}).to(torch.float32)
    | torch.copysign({}, {}) | torch.addcmul({}, {}, {}, value=0.5) | torch.logaddexp({}, {})
    | torch.xlogy({}, {}.abs() + 0.1) | F.mse_loss({}, {}, reduction="none")
    | F.kl_div({}, {}.sigmoid(), reduction="none") | torch.fmax({}, {}) | {}.half().mul({}.half()).float()
    | {}.bfloat16().add({}).float() | ({}.double() * {}).float() | {} * {}.to(torch.int32)
    | {}.masked_fill({} > 0, 0.5) | torch.add({}, {}, out=torch.empty(0))
    | ({} > 0).logical_xor({} > 0.5).float() | torch.floor_divide({}, {}.abs() + 1)
    | torch.true_divide({}, {}.abs() + 1)""".split("|")
LOSSES = """F.mse_loss({x}, {y}) | F.smooth_l1_loss({x}, {y}) | F.huber_loss({x}, {y}, reduction="sum")
    | F.l1_loss({x}, {y}) | F.gaussian_nll_loss({x}, {y}, {y}.abs() + 0.1)
    | F.binary_cross_entropy_with_logits({x}, {y}.sigmoid())
    | F.binary_cross_entropy({x}.sigmoid(), {y}.sigmoid()) | F.poisson_nll_loss({x}.clamp(-2, 2), {y}.abs())
    | F.hinge_embedding_loss({x}, {y}.sign()) | F.kl_div({x}, {y}, log_target=True) | ({x} - {y}).norm()
""".split("|")
# {k}: ", keepdim=..."; the dim is reduced. torch's median reads beyond the memory of an expanded tensor.
REDUCTIONS = """{x}.sum({d}{k}) | {x}.mean({d}{k}) | {x}.amax({d}{k}) | {x}.amin({d}{k})
    | {x}.logsumexp({d}{k}) | {x}.max({d}{k}).values | {x}.clamp(-1.5, 1.5).prod({d}{k})
    | ({x} + 0.01).norm(dim={d}{k}) | {x}.argmax({d}{k}).float() | {x}.argmin({d}{k}).float()
    | ({x} > 1).any({d}{k}).float() | ({x} > 0).sum({d}{k}).float() | {x}.nansum({d}{k})
    | {x}.contiguous().median({d}{k}).values | {x}.all({d}{k}).float() | {x}.bfloat16().sum({d}{k}).float()
    | torch.linalg.vector_norm({x} + 0.01, 3, {d}{k}) | {x}.min({d}{k}).indices.float()
    | {x}.double().mean({d}{k}).float() | torch.aminmax({x}, dim={d}{k}).max""".split("|")
SPREADS = """{x}.var({d}{k}) | ({x}.var({d}{k}) + 0.1).sqrt()""".split("|")  # of at least two elements
# keep the shape
ALONG = """F.softmax({x}, {d}) | F.log_softmax({x}, {d}) | {x}.cumsum({d}) | {x}.flip({d})
    | {x}.cummax({d}).values | {x}.sort({d}).values | {x}.roll(2, {d}) | {x}.clamp(-1.2, 1.2).cumprod({d})
    | {x}.logcumsumexp({d}) | {x}.cummin({d}).values | {x}.argsort(dim={d}, stable=True).float()
    | {x}.sort(dim={d}, descending=True, stable=True).indices.float() | F.normalize({x} + 0.1, dim={d})
    | F.softmin({x}, {d}) | {x}.renorm(2, {d}, 1.5)
    | {x}.index_select({d}, torch.arange({x}.shape[{d}]).flip(0)) | {x}.topk(1, {d}).values.expand_as({x})
    | {x}.narrow({d}, 0, 1).expand_as({x}) | {x}.scatter({d}, ({x} * 0).long(), 0.5)
    | {x}.scatter_add({d}, ({x} * 0).long(), {x} * 0.1)
    | {x}.scatter_reduce({d}, ({x} * 0).long(), {x}, "amax")
    | {x}.index_add({d}, torch.zeros({x}.shape[{d}], dtype=torch.long), {x} * 0.1)
    | {x}.index_copy({d}, torch.tensor([0]), {x}.narrow({d}, 0, 1) * 2)
    | {x}.index_fill({d}, torch.tensor([0]), 0.25)
    | {x}.take_along_dim({x}.argsort(dim={d}, stable=True), {d}) | torch.stack({x}.unbind({d}), {d})
    | {x}.swapaxes({d}, 0).contiguous().swapaxes({d}, 0) | torch.cat({x}.split(2, {d}), {d})
    | {x}.diff(dim={d}, prepend={x}.narrow({d}, 0, 1))""".split("|")
WRITES = """{y}.mul_(0.5) | {y}.add_({x}, alpha=0.5) | {y}.relu_() | {y}.copy_({x} * 3)
    | {y}.masked_fill_({y} < 0, 0.25) | {y} *= 1.5 | {y}.clamp_(-1, 1) | {y}.sigmoid_() | {y}.sub_({x}.mean())
    | {y}.unsqueeze(0).add_(0.5) | {y}.fill_(0.3) | {y}.zero_() | {y}.lerp_({x} * 2, 0.5)
    | {y}.addcmul_({x}, {x}, value=0.1) | torch.mul({x}, 0.5, out={y}) | {y}.detach().add_(0.25)
    | {y}.copy_({x}.sum() * 0.1) | {y}.masked_scatter_({y} > 0, {x}.abs() + 1)""".split("|")
# of at least one dim
PARTIAL_WRITES = """{y}[0] = -2 | {y}[1:] += 1.5 | {y}[..., :1].zero_() | {y}[..., -1] = {y}[..., 0] * 2
    | {y}[torch.tensor([0])] = 0.5 | {y}.select(-1, 0).mul_(3) | {y}.transpose(0, -1).add_(0.5)
    | {y}[{y} > 0.5] = 0.1 | {y}.index_add_(0, torch.tensor([0]), {x}[:1] * 0.5)
    | {y}.narrow(-1, 0, 1).copy_({x}.narrow(-1, 0, 1) + 1)
    | {y}.t_() if {y}.dim() == 2 and {y}.shape[0] == {y}.shape[1] else {y}.flatten().add_(1)""".split("|")


class Program:
    """`source` defines f; `needs_grad`: the inputs require grad, and gradients are compared."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.needs_grad = self.choose.random() < 0.5
        shapes = [self.choose.choice(SHAPES) for _ in NAMES]
        if self.choose.random() < 0.6:
            shapes[1] = shapes[0]
        self._inputs = [random_layout(self.choose, shape) for shape in shapes]
        self.values: list[tuple[str, Shape]] = list(zip(NAMES, shapes))
        self.lines: list[str] = []
        for _ in range(self.choose.randrange(3, 22)):
            self.choose.choice(STEPS)(self, *self.pick())
        outputs = self.choose.sample(self.values, self.choose.randrange(1, 4)) + [self.values[-1]]
        results = ", ".join(name for name, _ in outputs)
        self.source = "\n    ".join(["def f(a, b, c):", *self.lines, f"return ({results},)\n"])
        self.seed = seed

    def pick(self) -> tuple[str, Shape]:
        return self.choose.choice(self.values[-6:] if self.choose.random() < 0.7 else self.values)

    def define(self, expression: str, shape: Any, name: str = "v") -> str:
        name = f"{name}{len(self.lines)}"
        self.lines.append(f"{name} = {expression.strip()}")
        self.values.append((name, tuple(shape)))
        return name

    def inputs(self, double: bool = False) -> list[torch.Tensor]:
        """Fresh tensors of the same values and layouts."""
        copies = []
        for tensor in self._inputs:
            memory = (tensor.double() if double else tensor).untyped_storage().clone()
            fresh = torch.empty(0, dtype=torch.float64 if double else torch.float32)
            if double:  # the conversion has a new layout
                fresh = tensor.double()
            else:
                fresh.set_(memory, tensor.storage_offset(), tensor.shape, tensor.stride())
            copies.append(fresh.requires_grad_() if self.needs_grad else fresh)
        return copies

    def function(self) -> Callable[..., Any]:
        name = f"<random program {self.seed}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        namespace: dict[str, Any] = {"torch": torch, "F": F}
        exec(compile(self.source, name, "exec"), namespace)
        return namespace["f"]  # type: ignore[no-any-return]


def random_layout(choose: random.Random, shape: Shape) -> torch.Tensor:
    generator = torch.Generator().manual_seed(choose.randrange(10**6))
    kind = choose.choice(("dense", "dense", "transposed", "strided", "expanded")) if shape else "dense"
    if kind == "transposed" and len(shape) >= 2:
        return torch.randn((*shape[:-2], shape[-1], shape[-2]), generator=generator).transpose(-1, -2)
    if kind == "strided":
        return torch.randn((*shape[:-1], shape[-1] * 2), generator=generator)[..., ::2]
    if kind == "expanded" and len(shape) >= 2:
        return torch.randn((1, *shape[1:]), generator=generator).expand(shape)
    return torch.randn(shape, generator=generator)


# --- steps: each adds one operator to the program, or none where the value does not suit it ---------------


def unary(program: Program, x: str, shape: Shape) -> None:
    program.define(program.choose.choice(UNARY).replace("{}", x), shape)


def binary(program: Program, x: str, shape: Shape) -> None:
    template = program.choose.choice(BINARY)
    operands = [x]
    for _ in range(template.count("{}") - 1):
        fitting = [(y, both) for y, other in program.values if (both := broadcast(shape, other)) is not None]
        y, shape = program.choose.choice(fitting)
        operands.append(y)
    program.choose.shuffle(operands)
    program.define(template.format(*operands), shape)


def broadcast(shape: Shape, other: Shape) -> Shape | None:
    try:
        both = tuple(torch.broadcast_shapes(shape, other))
    except RuntimeError:
        return None
    return both if both == shape or math.prod(both) < LARGEST else None


def reduction(program: Program, x: str, shape: Shape) -> None:
    if not shape:
        return
    dim, keep = program.choose.randrange(len(shape)), program.choose.random() < 0.5
    if shape[dim] == 0:
        return
    template = program.choose.choice(REDUCTIONS + (SPREADS if shape[dim] > 1 else []))
    left = (*shape[:dim], *([1] if keep else []), *shape[dim + 1 :])
    program.define(template.format(x=x, d=dim - len(shape), k=f", keepdim={keep}"), left)


def along(program: Program, x: str, shape: Shape) -> None:
    if shape and 0 not in shape:
        dim = program.choose.randrange(-len(shape), len(shape))
        program.define(program.choose.choice(ALONG).format(x=x, d=dim), shape)


def loss(program: Program, x: str, shape: Shape) -> None:
    alike = [y for y, other in program.values if other == shape and y != x]
    if alike and math.prod(shape):
        program.define(program.choose.choice(LOSSES).format(x=x, y=program.choose.choice(alike)), ())


def everything(program: Program, x: str, shape: Shape) -> None:
    if math.prod(shape):
        program.define(f"{x}.{program.choose.choice(('sum', 'mean', 'max', 'min'))}()", ())


def permute(program: Program, x: str, shape: Shape) -> None:
    order = program.choose.sample(range(len(shape)), len(shape))
    program.define(f"{x}.permute({order})", [shape[dim] for dim in order])


def reshape(program: Program, x: str, shape: Shape) -> None:
    total = math.prod(shape)
    if total:
        rows = program.choose.choice([n for n in range(1, total + 1) if total % n == 0])
        program.define(f"{x}.reshape({rows}, {total // rows})", (rows, total // rows))


def flatten(program: Program, x: str, shape: Shape) -> None:
    program.define(f"{x}.flatten()", (math.prod(shape),))


def squeeze(program: Program, x: str, shape: Shape) -> None:
    program.define(f"{x}.squeeze()", [size for size in shape if size != 1])


def unsqueeze(program: Program, x: str, shape: Shape) -> None:
    if len(shape) < 4:
        dim = program.choose.randrange(len(shape) + 1)
        program.define(f"{x}.unsqueeze({dim})", (*shape[:dim], 1, *shape[dim:]))


def part(program: Program, x: str, shape: Shape) -> None:
    dims = [dim for dim, size in enumerate(shape) if size > 1]
    if dims:
        dim = program.choose.choice(dims)
        start = program.choose.randrange(shape[dim] - 1)
        stop, step = program.choose.randrange(start + 1, shape[dim] + 1), program.choose.choice((1, 1, 2, 3))
        size = len(range(start, stop, step))
        program.define(f"{x}[{':, ' * dim}{start}:{stop}:{step}]", (*shape[:dim], size, *shape[dim + 1 :]))


def select(program: Program, x: str, shape: Shape) -> None:
    dims = [dim for dim, size in enumerate(shape) if size]
    if dims:
        dim = program.choose.choice(dims)
        index = program.choose.randrange(-shape[dim], shape[dim])
        program.define(f"{x}.select({dim}, {index})", (*shape[:dim], *shape[dim + 1 :]))


def expand(program: Program, x: str, shape: Shape) -> None:
    if len(shape) < 4 and math.prod(shape) < LARGEST / 8:
        program.define(f"{x}.expand{(3, *shape)}", (3, *shape))


def join(program: Program, x: str, shape: Shape) -> None:
    if shape and math.prod(shape) < LARGEST / 8:
        dim = program.choose.randrange(len(shape))
        program.define(
            f"torch.cat([{x}, {x} * 0.5], {dim})", (*shape[:dim], shape[dim] * 2, *shape[dim + 1 :])
        )


def windows(program: Program, x: str, shape: Shape) -> None:
    if 0 < len(shape) < 4 and shape[-1] >= 3:
        program.define(f"{x}.unfold(-1, 3, 1)", (*shape[:-1], shape[-1] - 2, 3))


def pad(program: Program, x: str, shape: Shape) -> None:
    if shape:
        program.define(f"F.pad({x}, (1, 2))", (*shape[:-1], shape[-1] + 3))


def triangle(program: Program, x: str, shape: Shape) -> None:
    if len(shape) >= 2:
        program.define(f"{x}.tril({program.choose.randrange(-1, 2)})", shape)


def mask(program: Program, x: str, shape: Shape) -> None:
    program.define(f"{x}.masked_fill({x} > 0.5, {program.choose.choice(('0.0', '-1.0', '2'))})", shape)


def gather(program: Program, x: str, shape: Shape) -> None:
    if shape and shape[-1]:
        program.define(f"{x}.gather(-1, ({x} * 0).long())", shape)


def rows(program: Program, x: str, shape: Shape) -> None:
    if shape and shape[0]:
        program.define(f"{x}[torch.tensor([{shape[0] - 1}, 0])]", (2, *shape[1:]))


def product(program: Program, x: str, shape: Shape) -> None:
    if len(shape) == 2 and 0 not in shape and max(shape) <= 64:
        program.define(f"{x} @ {x}.t() / {shape[1]}", (shape[0], shape[0]))


def linear(program: Program, x: str, shape: Shape) -> None:
    if len(shape) == 2 and 0 not in shape:
        program.define(f"F.linear({x}, {x}[:2]) / {shape[1]}", (shape[0], min(2, shape[0])))


def normalise(program: Program, x: str, shape: Shape) -> None:
    if shape and shape[-1] > 1 and 0 not in shape:
        program.define(f"F.layer_norm({x}, ({shape[-1]},), eps=0.1)", shape)


def images(program: Program, x: str, shape: Shape) -> None:
    """Convolutions, pooling, interpolation, and norms of channels, with `x` as a small batch of images in
    either memory format.
    """
    if not shape or math.prod(shape) < 8 or 0 in shape:
        return
    layout = program.choose.choice(("", ".contiguous(memory_format=torch.channels_last)"))
    base = f"{x}.flatten()[:8].reshape(1, 2, 2, 2).repeat(2, 1, 2, 2){layout}"
    expression, result = program.choose.choice(IMAGES)
    program.define(expression.format(x=base), result)


IMAGES: list[tuple[str, Shape]] = [
    ("F.conv2d({x}, torch.linspace(-1, 1, 54).reshape(3, 2, 3, 3), padding=1) / 5", (2, 3, 4, 4)),
    ("F.conv2d({x}, torch.linspace(-1, 1, 8).reshape(2, 1, 2, 2), stride=2, groups=2)", (2, 2, 2, 2)),
    ("F.conv_transpose2d({x}, torch.linspace(-1, 1, 16).reshape(2, 2, 2, 2), stride=2)", (2, 2, 8, 8)),
    ("F.max_pool2d({x}, 2)", (2, 2, 2, 2)),
    ("F.max_pool2d({x}, 3, 1, 1)", (2, 2, 4, 4)),
    ("F.avg_pool2d({x}, 2, 1, padding=1)", (2, 2, 5, 5)),
    ("F.adaptive_avg_pool2d({x}, (3, 1))", (2, 2, 3, 1)),
    ("F.adaptive_max_pool2d({x}, 2)", (2, 2, 2, 2)),
    ("F.interpolate({x}, scale_factor=2)", (2, 2, 8, 8)),
    ("F.interpolate({x}, size=(3, 5), mode='bilinear', align_corners=False)", (2, 2, 3, 5)),
    ("F.group_norm({x}, 2, eps=0.1)", (2, 2, 4, 4)),
    ("F.instance_norm({x}, eps=0.1)", (2, 2, 4, 4)),
    ("F.batch_norm({x}, torch.zeros(2), torch.ones(2), training=True, eps=0.1)", (2, 2, 4, 4)),
    ("F.batch_norm({x}, torch.full((2,), 0.1), torch.ones(2))", (2, 2, 4, 4)),
    ("F.pad({x}, (1, 1, 1, 1), mode='reflect')", (2, 2, 6, 6)),
    ("F.pad({x}, (1, 0, 2, 1), mode='replicate')", (2, 2, 7, 5)),
    ("F.pixel_shuffle({x}.repeat(1, 2, 1, 1), 2)", (2, 1, 8, 8)),
    ("F.unfold({x}, 2)", (2, 8, 9)),
    ("F.grid_sample({x}, torch.linspace(-1, 1, 36).reshape(2, 3, 3, 2), align_corners=False)", (2, 2, 3, 3)),
    ("F.local_response_norm({x}, 2)", (2, 2, 4, 4)),
]


def vectors(program: Program, x: str, shape: Shape) -> None:
    """Embeddings, losses over classes, attention and distances over rows of `x`."""
    if len(shape) != 2 or 0 in shape or shape[1] < 2 or shape[0] > 64:
        return
    rows, width = shape
    forms: list[tuple[str, Shape]] = [
        (f"F.embedding(torch.arange(5) % {rows}, {x})", (5, width)),
        (f"F.cross_entropy({x}, torch.arange({rows}) % {width})", ()),
        (f"F.cross_entropy({x}, torch.arange({rows}) % {width}, reduction='none', label_smoothing=0.1)",
         (rows,)),
        (f"F.nll_loss(F.log_softmax({x}, -1), torch.arange({rows}) % {width}, ignore_index=1, "
         "reduction='sum')", ()),
        (f"F.multi_margin_loss({x}, torch.arange({rows}) % {width})", ()),
        (f"F.cross_entropy({x}, {x}.softmax(-1))", ()),
        (f"F.scaled_dot_product_attention({x}[None], {x}[None], {x}[None])[0]", shape),
        (f"F.scaled_dot_product_attention({x}[None, None], {x}[None, None], {x}[None, None], "
         "is_causal=True)[0, 0]", shape),
        (f"F.rms_norm({x}, ({width},), eps=0.1)", shape),
        (f"torch.cdist({x} + 0.5, {x}[:2] * 2 - 3)", (rows, min(rows, 2))),
        (f"F.glu({x}[:, :2])", (rows, 1)),
        (f"torch.einsum('ij,kj->ik', {x}, {x}) / {width}", (rows, rows)),
        (f"F.one_hot(torch.arange({rows}) % 3, 3) * {x}[:, :1]", (rows, 3)),
        (f"torch.searchsorted({x}.sort(-1).values, {x}.contiguous()).float()", shape),
        (f"torch.bucketize({x}, torch.tensor([-1.0, 0.0, 1.0])).float()", shape),
        (f"torch.baddbmm({x}, {x}[None], {x}.t()[None].expand(1, {width}, {rows})[:, :, :1]"
         f".expand(1, {width}, {width})) / {width}", (1, *shape)),
        (f"{x}.diagonal().sum() + {x}.triu(1)", shape),
        (f"torch.kron({x}[:2, :2], {x}[:2, :2])", (min(rows, 2) ** 2, 4)),
        (f"torch.block_diag({x}[:2], {x}[:1])", (min(rows, 2) + 1, 2 * width)),
        (f"torch.meshgrid({x}[0], {x}[:, 0], indexing='ij')[1]", (width, rows)),
        (f"{x}.repeat_interleave(2, 0)", (2 * rows, width)),
        (f"torch.diag_embed({x})", (rows, width, width)),
    ]  # fmt: skip
    program.define(*program.choose.choice(forms))


def write(program: Program, x: str, shape: Shape) -> None:
    if x in NAMES and not program.needs_grad and program.choose.random() < 0.35:
        y = x
    else:
        y = program.define(f"{x}.clone()", shape, "w")
    partial = shape and 0 not in shape
    template = program.choose.choice(WRITES + (PARTIAL_WRITES if partial else []))
    program.lines.append(template.strip().format(x=x, y=y))


STEPS = [
    *[unary] * 9, *[binary] * 7, *[reduction] * 3, *[write] * 3, along, everything, permute, reshape, flatten,
    squeeze, unsqueeze, part, part,
    select, expand, join, windows, pad, triangle, mask, gather, rows, product, linear, normalise, images,
    images, vectors, vectors, along, along,
    loss, loss,
]  # fmt: skip
