"""The strides of operators' results, over random layouts: gaps, overlaps, dims of size 0 and 1."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx

import capture
from codegen.compile_fx import compile_fx
from codegen.dynamic.open_orders import OpenOrders
from codegen.fake.fake import FakeMode, fake_mode
from codegen.fake.shapes.spec import Spec

OPERATORS = {
    "number": lambda x, y: x * 2,
    "parameter": lambda x, y: x.clamp(0, 1),
    "binary": lambda x, y: x + y,
    "the other way round": lambda x, y: torch.rsub(x, y),
    "comparison": lambda x, y: x < y,
    "unary": lambda x, y: x.relu(),
    "like": lambda x, y: torch.nn.functional.hardtanh(x),
    "composite": lambda x, y: x.isinf(),
    "sign": lambda x, y: torch.copysign(x, y),
    "three": lambda x, y: torch.where(x > 0, x, y),
    "row-major always": lambda x, y: torch.nn.functional.logsigmoid(x),
    "clone": lambda x, y: x.clone(),
    "cast": lambda x, y: x.double(),
    "empty_like": lambda x, y: torch.empty_like(x),
    "flip": lambda x, y: x.flip(0),
}


def random_strides(shape: list[int], choose: random.Random) -> list[int]:
    strides, step = [0] * len(shape), 1
    for dim in choose.sample(range(len(shape)), len(shape)):
        strides[dim] = step * (choose.choice((1, 1, 1, 2, 0)) if choose.random() < 0.5 else 1)
        if choose.random() < 0.9:  # else the next dim overlaps with this one
            step = max(step, strides[dim]) * max(shape[dim], 1)
    return strides


def random_pair(choose: random.Random) -> list[torch.Tensor]:
    """Two tensors that broadcast; the second may miss dims of the first."""
    shape = [choose.choice((0, 1, 2, 3)) for _ in range(choose.randrange(1, 5))]
    other = [1 if choose.random() < 0.3 else size for size in shape][choose.random() < 0.3 :]
    return [torch.empty_strided(sizes, random_strides(sizes, choose)) for sizes in (shape, other)]


def fake(mode: FakeMode, tensor: torch.Tensor) -> torch.Tensor:
    return mode.new(Spec(tuple(tensor.shape), tensor.stride(), tensor.dtype), tensor.device)


REWRITTEN = {
    "elu": (lambda x: torch.nn.functional.elu(x), (1, 3, 1), (2, 4, 2), (1, 1, 1)),
    "xlog1py": (lambda x: torch.special.xlog1py(2.0, x), (2, 2, 5), (10, 1, 2), (10, 1, 2)),
    "pixel_unshuffle": (
        lambda x: torch.nn.functional.pixel_unshuffle(x, 1),
        (1, 2, 1, 1),
        (4, 2, 2, 2),
        (2, 1, 1, 1),
    ),
    "rrelu": (lambda x: torch.nn.functional.rrelu(x, training=True), (3, 4), (1, 3), (4, 1)),
    "rrelu of size 1": (
        lambda x: torch.nn.functional.rrelu(x, training=False),
        (2, 1, 3),
        (3, 9, 1),
        (3, 3, 1),
    ),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten_operators_keep_their_strides(name: str) -> None:
    """Other operators compute them, and the results of those have other layouts."""
    program, shape, strides, expected = REWRITTEN[name]
    x = torch.empty_strided(shape, strides).fill_(0.5)
    with torch.no_grad():
        assert capture.compile(program)(x).stride() == program(x).stride() == expected


@pytest.mark.parametrize("p", [1, 3])
def test_sums_over_a_new_dim_are_row_major(p: int) -> None:
    x = torch.empty_strided((9, 5, 2), (0, 1, 7)).fill_(3.5)
    graph = fx.symbolic_trace(lambda x: (torch.mvlgamma(x, p),))
    with torch.no_grad():
        assert compile_fx(graph, [x])(x)[0].stride() == torch.mvlgamma(x, p).stride() == (10, 2, 1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_loss_of_one_sample_has_no_dim(dynamic: bool) -> None:
    scores, target = torch.randn(3), torch.tensor([1, -1, 0])

    def loss(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.multilabel_margin_loss(scores, target, reduction="none")

    leaves = [scores.clone().requires_grad_() for _ in range(2)]
    results = [loss(leaves[0], target), capture.compile(loss, dynamic=dynamic)(leaves[1], target)]
    for result in results:
        result.backward()
    assert results[0].shape == results[1].shape == ()
    torch.testing.assert_close(*results)
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad)


@pytest.mark.parametrize("name", OPERATORS)
def test_strides(name: str) -> None:
    operator, choose, mode = OPERATORS[name], random.Random(name), fake_mode()
    for _ in range(400):
        pair = random_pair(choose)
        with mode:
            found = operator(*(fake(mode, tensor) for tensor in pair))
        expected = operator(*pair)
        layouts = [(tuple(tensor.shape), tensor.stride()) for tensor in pair]
        assert (found.shape, found.stride()) == (expected.shape, expected.stride()), layouts


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("weight_format", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("data_format", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 256, 56, 56), (8, 256, 1, 1)),
        ((2, 8, 9, 7), (4, 8, 3, 3)),
        ((3, 4, 5, 6), (6, 2, 1, 1)),
        ((1, 1, 8, 1), (2, 1, 1, 1)),
    ],
    ids=str,
)
def test_convolutions(
    shapes: tuple[tuple[int, ...], ...],
    data_format: torch.memory_format,
    weight_format: torch.memory_format,
    threads: int,
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x = torch.randn(shapes[0]).to(memory_format=data_format).requires_grad_()
        w = torch.randn(shapes[1]).to(memory_format=weight_format).requires_grad_()
        groups = shapes[0][1] // shapes[1][1]
        function = fx.symbolic_trace(lambda x, w: (torch.conv2d(x, w, None, 1, 0, 1, groups),))
        expected, (actual,) = function(x, w)[0], compile_fx(function, [x, w])(x, w)
        assert actual.stride() == expected.stride()
        ours, theirs = (torch.autograd.grad(y.square().sum(), (x, w)) for y in (actual, expected))
        for one, other in zip(ours, theirs, strict=True):
            assert all(size == 1 or a == b for size, a, b in zip(one.shape, one.stride(), other.stride()))
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
    finally:
        torch.set_num_threads(before)


def transposed(*shape: int) -> torch.Tensor:
    return torch.rand(*shape[:-2], shape[-1], shape[-2]).mT


def last(*shape: int) -> torch.Tensor:
    """A tensor with the channels last."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return torch.rand(shape).to(memory_format=formats[len(shape)])


IN_OTHER_LAYOUTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "addbmm": (torch.addbmm, (transposed(3, 4), transposed(2, 3, 5), transposed(2, 5, 4))),
    "masked_scatter": (torch.masked_scatter, (transposed(3, 4), transposed(3, 4) > 0.5, torch.rand(12))),
    "heaviside": (torch.heaviside, (transposed(2, 3, 4), transposed(3, 4))),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (last(1, 3, 4, 4, 4),)),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, 2), (last(2, 3, 4, 5, 4),)),
    "adaptive_avg_pool3d without batch": (lambda x: F.adaptive_avg_pool3d(x, 2), (last(3, 4, 5, 4),)),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 2), (last(3, 4, 5, 4),)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (last(2, 3, 4, 5, 4),)),
    "interpolate by area": (lambda x: F.interpolate(x, 2, mode="area"), (last(2, 3, 4, 5, 4),)),
    "replicate": (lambda x: F.pad(x, (-1, 1, 1, -1), mode="replicate"), (last(2, 3, 4, 5),)),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (last(2, 4, 3, 3),)),
    "relu": (F.relu, (transposed(3, 4),)),
    "leaky_relu": (F.leaky_relu, (transposed(3, 4),)),
    "glu": (lambda x: F.glu(x, 1), (last(2, 4, 3, 3),)),
    "prelu": (lambda x: F.prelu(x, torch.ones(1)), (torch.rand(8).as_strided((1, 1, 1, 1), (2, 2, 2, 2)),)),
    "rounding": (
        lambda x: torch.round(x, decimals=3),
        (torch.rand(1).as_strided((1, 1, 1, 1), (0, 0, 0, 1)),),
    ),
    "sinc": (torch.sinc, (torch.rand(1).as_strided((1, 1, 1, 1), (0, 0, 0, 1)),)),
    "where of a condition that is expanded": (
        lambda x, c: torch.where(c, x, 1.0),
        (
            torch.rand(12).as_strided((3, 2, 1, 2), (4, 1, 4, 2)),
            torch.ones(3, 1, 1, 2, dtype=torch.bool).expand(3, 2, 1, 2),
        ),
    ),
    "dropout": (lambda x: F.dropout(x, 0.0), (transposed(3, 4),)),
    "cross_entropy": (
        lambda x, t: F.cross_entropy(x, t, reduction="none"),
        (torch.rand(2, 3, 4, 5), torch.zeros(2, 5, 4, dtype=torch.int64).mT),
    ),
    "a pad that is a cut": (lambda x: F.pad(x, (0, -1)), (torch.rand(1, 4),)),
    "a part of a tensor, copied with gaps": (
        lambda x: torch.select_scatter(x, x[0], 0, 1),
        (torch.rand(9, 6)[2:6],),
    ),
    "a part of a tensor, its diagonal": (
        lambda x: torch.diagonal_scatter(x, x[0, :4]),
        (torch.rand(9, 6)[2:6],),
    ),
    "fold without rows": (lambda x: F.fold(x, (5, 5), (2, 3), 1, 0, 1), (torch.rand(0, 6, 12),)),
    "an inverse transform in Python": (
        lambda x: torch._refs.fft.irfftn(x, dim=(0, 1)),
        (torch.rand(5, 8, 2, dtype=torch.complex64),),
    ),
    "frexp of nothing": (lambda x: torch.frexp(x)[0], (torch.rand(1, 0, 6)[..., ::2],)),
    "a sum over a dim, by names": (
        lambda x, y: torch.einsum("aij,jk->aik", x, y),
        (torch.rand(1, 3, 4), torch.rand(4, 5)),
    ),
    "max_unpool2d of pixels": (
        lambda x, i: F.max_unpool2d(x, i, 2),
        (last(1, 2, 2, 3), torch.arange(12).view(1, 2, 2, 3).to(memory_format=torch.channels_last)),
    ),
    "max_unpool1d": (
        lambda x, i: F.max_unpool1d(x, i, 2),
        (transposed(1, 2, 3), torch.tensor([[0, 2, 4], [1, 3, 5]])[None].mT.contiguous().mT),
    ),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["", "dynamic"])
@pytest.mark.parametrize("grad", [False, True], ids=["", "grad"])
@pytest.mark.parametrize("name", IN_OTHER_LAYOUTS)
def test_results_of_operands_in_other_layouts(name: str, grad: bool, dynamic: bool) -> None:
    function, args = IN_OTHER_LAYOUTS[name]
    results = []
    for run in (function, capture.compile(function, dynamic=dynamic)):
        first = args[0].detach().requires_grad_(grad and name != "heaviside")
        results.append(run(first, *args[1:]))
    expected, found = results
    torch.testing.assert_close(found, expected)
    assert (found.stride(), found.storage_offset()) == (expected.stride(), expected.storage_offset())


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(1, 5, 5), (1, 1, 5, 5), (2, 5, 5)], ids=str)
@pytest.mark.parametrize("function", [torch.linalg.eig, torch.linalg.eigh])
def test_eigenvectors_that_require_grad(function: Any, shape: tuple[int, ...], dynamic: bool) -> None:
    x = torch.randn(shape, dtype=torch.complex64, requires_grad=True)
    expected, found = function(x), capture.compile(function, dynamic=dynamic)(x)
    assert [t.stride() for t in found] == [t.stride() for t in expected]


REFUSED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "group norm": (
        lambda x: torch.native_group_norm(x, None, None, 2, 4, 9, 2, 1e-5)[0],
        (torch.rand(2, 9, 4).transpose(1, 2),),
    ),
    "gradient of a loss": (
        lambda x, t: F.nll_loss(x, t),
        (last(2, 3, 4, 4), torch.zeros(2, 4, 4, dtype=torch.int64)),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_layouts_that_eager_refuses(name: str) -> None:
    function, (first, *rest) = REFUSED[name]
    texts = []
    for run in (function, capture.compile(function)):
        leaf = first.detach().requires_grad_()
        with pytest.raises(RuntimeError) as caught:
            run(leaf, *rest).sum().backward()
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


SENT_OTHERWISE: dict[str, tuple[Any, torch.Tensor]] = {  # results that are not row-major
    "cast": (lambda x: x.double(), last(2, 3, 4, 5)),
    "transposed": (lambda x: x.mT, torch.rand(3, 4)),
    "transposed sines": (lambda x: x.mT.sin(), torch.rand(3, 4)),
    "rot90": (lambda x: torch.rot90(x, 1, (0, 1)), torch.rand(3, 4)),
    "roll": (lambda x: x.roll(1, 0), transposed(3, 4)),
    "cat": (lambda x: torch.cat((x, x * 2)), last(2, 3, 4, 5)),
    "upsampled": (lambda x: F.interpolate(x, scale_factor=2.0), last(2, 3, 4, 5)),
    "convolved": (lambda x: F.conv2d(x, torch.ones(2, 3, 1, 1)).relu(), last(2, 3, 4, 5)),
    "flipped nothing": (lambda x: x.flip(0), torch.rand(3, 0, 8)[..., ::2]),
    "one element": (lambda x: x.index_fill(0, torch.tensor(0), 2.0), torch.rand(2)[::2]),
}


def turned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


@pytest.mark.parametrize("name", SENT_OTHERWISE)
def test_gradients_of_row_major_gradients(name: str) -> None:
    """A backward is compiled for each order of the incoming gradient's dims; gaps and overlaps are copied."""
    function, x = SENT_OTHERWISE[name]
    x.requires_grad_()
    captured = capture.compile(function)
    sent = torch.rand(function(x).shape, dtype=function(x).dtype)
    for tangent in (sent, turned(sent), sent[:1].expand(sent.shape), sent, sent[..., :1].expand(sent.shape)):
        expected, found = (torch.autograd.grad(run(x), x, tangent)[0] for run in (function, captured))
        torch.testing.assert_close(found, expected)
        if not is_expanded(tangent):
            assert found.stride() == expected.stride()


def is_expanded(tensor: torch.Tensor) -> bool:
    return any(stride == 0 < 1 < size for stride, size in zip(tensor.stride(), tensor.shape))


OF_TURNED_GRADIENTS: dict[str, Any] = {
    "elu": F.elu,
    "celu": F.celu,
    "selu": F.selu,
    "prod": lambda x: x.prod(1),
    "circular": lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"),
    "roll": lambda x: x.roll(1, 1),
    "flip": lambda x: x.flip(2) * 2,
    "sum": lambda x: x.sum(2),
    "clone": torch.clone,
    "permuted": lambda x: x.permute(3, 1, 0, 2) * 2,
    "divided": lambda x: x / x.new_tensor(2.0),
    "product": lambda x: torch.addmm(x[0, 0], x[0, 1], x[0, 2, :, :5]),
    "softmax": lambda x: x.softmax(1),
    "convolved": lambda x: F.conv2d(x, torch.ones(2, 4, 1, 1)).relu(),
    "two": lambda x: x.flip(1) + x.roll(1, 2) + x,
    "hardshrink": lambda x: x.hardshrink(0.3) + F.hardshrink(x),
    "softshrink": F.softshrink,
    "nearest": lambda x: F.interpolate(x, scale_factor=2.0),
    "nearest of a size": lambda x: F.interpolate(x, (x.shape[2] + 1, 7), mode="nearest-exact"),
    "bilinear": lambda x: F.interpolate(x, 7, mode="bilinear"),
    "trilinear": lambda x: F.interpolate(x.unflatten(1, (2, 2)), (4, 3, 3), mode="trilinear"),
    "bicubic": lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic", recompute_scale_factor=True),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", OF_TURNED_GRADIENTS)
def test_gradients_of_turned_gradients(name: str, dynamic: bool) -> None:
    function = OF_TURNED_GRADIENTS[name]
    captured = capture.compile(function, dynamic=dynamic)
    for lay_out in (torch.clone, last_channels, turned):
        x = lay_out(torch.rand(2, 4, 5, 5)).requires_grad_()
        sent = torch.rand(function(x).shape)
        reverse = tuple(range(sent.dim()))[::-1]
        for tangent in (
            turned(sent),
            sent.permute(reverse).contiguous().permute(reverse),
            sent,
            last_channels(sent) if sent.dim() > 3 else turned(sent),
        ):
            expected, found = (torch.autograd.grad(run(x), x, tangent)[0] for run in (function, captured))
            torch.testing.assert_close(found, expected)
            assert found.stride() == expected.stride()


def last_channels(tensor: torch.Tensor) -> torch.Tensor:
    is_image = tensor.dim() == 4
    return tensor.to(memory_format=torch.channels_last if is_image else torch.channels_last_3d)


def test_open_sizes_share_a_backward_for_turned_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is traced once for each order of the dims."""
    traced = []
    original = OpenOrders._laid_out

    def counted(self: OpenOrders, part: Any, orders: Any, key: Any) -> Any:
        traced.append(orders)
        return original(self, part, orders, key)

    monkeypatch.setattr(OpenOrders, "_laid_out", counted)
    captured = capture.compile(lambda x: x.sin() * 2, dynamic=True)
    for rows in (3, 4, 6):
        x = torch.rand(rows, rows + 1, 5, requires_grad=True)
        for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
            sent = torch.rand([x.shape[dim] for dim in order]).permute([order.index(dim) for dim in range(3)])
            (found,) = torch.autograd.grad(captured(x), x, sent)
            torch.testing.assert_close(found, x.detach().cos() * 2 * sent)
            assert found.stride() == sent.stride()
    assert traced == [((0, 1, 2),), ((2, 0, 1),)]  # the fastest first


def test_a_backward_that_makes_checks_keeps_them() -> None:
    x = torch.randn(3, 3, dtype=torch.complex64, requires_grad=True)
    captured = capture.compile(lambda x: torch.linalg.eig(x)[1])
    with pytest.raises(RuntimeError, match="ill-defined"):
        captured(x).backward(torch.randn(3, 3, dtype=torch.complex64))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(2, 4, 1, 1), (2, 1, 3, 3), (2, 4, 1, 3), (2, 4, 1, 1, 1)], ids=str)
def test_batch_norms_of_one_pixel_or_channel_are_row_major(
    shape: tuple[int, ...], training: bool, dynamic: bool
) -> None:
    """With these strides the image is row-major and channels-last. What follows takes the result's format."""
    mean, var = torch.zeros(shape[1]), torch.ones(shape[1])

    def normed(x):
        found = F.batch_norm(x, mean, var, training=training)
        return found, F.interpolate(found, scale_factor=2.0)

    channels_last = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    x = torch.empty_strided(shape, torch.empty(shape, memory_format=channels_last).stride()).normal_()
    pixel = torch.empty_strided(shape, (shape[1], 1, *[shape[1]] * (len(shape) - 2))).normal_()
    for image in (x, pixel) if shape[2:] == (1,) * len(shape[2:]) else (x,):
        for wants_gradient in (False, True):
            image = image.detach().requires_grad_(wants_gradient)
            results = [capture.compile(normed, dynamic=dynamic)(image), normed(image)]
            assert len({tuple(part.stride() for part in result) for result in results}) == 1
            if wants_gradient:
                grads = [torch.autograd.grad(result[1].sum(), image)[0] for result in results]
                assert grads[0].stride() == grads[1].stride()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_the_gradient_of_a_batch_norm_that_has_its_images_layout_is_row_major(
    training: bool, dynamic: bool
) -> None:
    """Both the image of one channel and what comes from behind are row-major and channels-last."""
    mean, var = torch.zeros(1), torch.ones(1)

    def gradient(x, incoming):
        result = F.batch_norm(x, mean, var, training=training)
        return torch.autograd.grad(result, x, incoming)[0]

    images = [
        torch.empty_strided((2, 1, 3, 3), strides).normal_() for strides in ((9, 1, 3, 1), (9, 9, 3, 1))
    ]
    for image in images:
        image = image.detach().requires_grad_()
        for incoming in images:
            found, expected = (
                run(image, incoming) for run in (capture.compile(gradient, dynamic=dynamic), gradient)
            )
            assert found.stride() == expected.stride()
