"""Graphs whose convolutions have channels-last images: results, gradients and strides are those of eager."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import capture
from codegen.convolutions import channels_last, gains
from codegen.launch import assembly
from codegen.passes import pipeline

pytest.importorskip("_capture")
pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
aten = torch.ops.aten


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    torch.manual_seed(0)
    monkeypatch.setattr(assembly, "strict", True)
    monkeypatch.setattr(pipeline, "VERIFY", True)
    yield
    capture.reset()


@pytest.fixture(autouse=True)
def by_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No convolution is so small that our own code computes it."""
    monkeypatch.setattr(gains, "MOST", -1.0)
    monkeypatch.setattr(gains, "FEW_WEIGHTS", -1)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every region with a convolution changes. The numbers of the members that did."""
    counts: list[int] = []

    def chosen(self: channels_last.Regions) -> set[Any]:
        roots = {self.root(node) for node in (*self.gains, *self.fixed)}
        found = {node for node in self.members if self.root(node) in roots}
        counts.append(len(found))
        return found

    monkeypatch.setattr(channels_last.Regions, "chosen", chosen)
    return counts


class Blocks(nn.Module):
    """Batch norm, a skip, a join, a transposed convolution, pooling, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.down, self.skip = nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.Conv2d(16, 16, 3, padding=1)
        self.up, self.join = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 4, 3, padding=1)
        self.head = nn.Linear(4 * 25, 3)

    def forward(self, x: torch.Tensor) -> Any:
        wide = self.norm(self.first(x)).relu()
        deep = self.down(wide).relu()
        deep = deep + self.skip(deep).relu()
        both = torch.cat([self.up(deep), wide], 1)
        y = self.join(both)
        return y, self.head(F.max_pool2d(y.relu(), 2).flatten(1)), deep.mean((2, 3))


class Groups(nn.Module):
    """Depthwise and grouped convolutions, one pixel, upsampling, padding, a dilated one."""

    def __init__(self) -> None:
        super().__init__()
        self.deep, self.one = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 1)
        self.few, self.wide = nn.Conv2d(32, 16, 3, groups=4), nn.Conv2d(16, 16, 3, dilation=2)
        self.odd = nn.Conv2d(16, 5, 1, stride=2)

    def forward(self, x: torch.Tensor) -> Any:
        x = F.gelu(self.one(F.silu(self.deep(x))))
        x = F.pad(self.few(x), (1, 1, 0, 2))
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = F.leaky_relu(self.wide(x), 0.1)
        return F.avg_pool2d(x, 2), self.odd(x).sigmoid()


class Views(nn.Module):
    """Results that are views of each other; images of one pixel and of one channel; group norm."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.second, self.last = nn.Conv2d(8, 8, 4, 2), nn.Conv2d(8, 1, 3)
        self.whole = nn.Conv2d(8, 6, 3)

    def forward(self, x: torch.Tensor) -> Any:
        x = self.norm(self.first(x)).relu()
        a, b = self.second(x).tanh().chunk(2, 1)
        x = torch.cat([b, a * 2], 1)
        pixel = self.whole(x)
        return (
            x,
            x.view(x.shape[0], -1),
            x.permute(0, 2, 3, 1),
            self.last(x),
            pixel,
            pixel.flatten(1),
            x[:, 1:],
        )


class Mixed(nn.Module):
    """Dropout (random numbers have one order), softmax over channels, a gate for each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.gate, self.last = nn.Conv2d(8, 8, 1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> Any:
        x = F.dropout(self.first(x).relu(), 0.3)
        x = x * self.gate(F.adaptive_avg_pool2d(x, 1)).sigmoid() + self.second(x)
        x = F.dropout2d(x, 0.2)
        return F.softmax(self.last(x), 1), (x * x).sum((0, 1)), x.amax(0)


MODELS = {"blocks": (Blocks, (4, 3, 10, 10)), "groups": (Groups, (4, 16, 9, 12)),
          "views": (Views, (4, 1, 8, 8)), "mixed": (Mixed, (4, 3, 7, 9))}  # fmt: skip


def same(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=2e-3, atol=2e-4)
    assert actual.stride() == expected.stride()


def compare(model: nn.Module, x: torch.Tensor, *, training: bool = True) -> None:
    twin = copy.deepcopy(model)
    fast = capture.compile(twin)
    for _ in range(2):
        inputs = [x.detach().clone().requires_grad_(training) for _ in range(2)]
        random = torch.get_rng_state()
        expected = model(inputs[0])
        torch.set_rng_state(random)
        actual = fast(inputs[1])
        for pair in zip(actual, expected, strict=True):
            same(*pair)
        shared = [
            [t.untyped_storage()._cdata == s[0].untyped_storage()._cdata for t in s]
            for s in (actual, expected)
        ]
        assert shared[0] == shared[1]
        if training:
            for results in (expected, actual):
                sum((t * t).sum() for t in results).backward()
            same(inputs[1].grad, inputs[0].grad)
    for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
        if training:
            same(ours.grad, theirs.grad)
    for pair in zip(twin.buffers(), model.buffers(), strict=True):
        same(*pair)


@pytest.mark.parametrize("name", MODELS)
def test_as_in_eager(name: str, always: list[int]) -> None:
    model, shape = MODELS[name]
    compare(model(), torch.randn(shape))
    assert max(always) > 10


@pytest.mark.parametrize("name", MODELS)
def test_without_gradients(name: str, always: list[int]) -> None:
    model, shape = MODELS[name]
    with torch.no_grad():
        compare(model().eval(), torch.randn(shape), training=False)
    assert max(always) > 5


@pytest.mark.parametrize("name", MODELS)
def test_by_the_own_choice(name: str) -> None:
    model, shape = MODELS[name]
    compare(model(), torch.randn(shape))


@pytest.mark.parametrize(
    "change", ["float64", "batch of one", "channels-last input", "channels-last weights"]
)
def test_what_stays_as_it_is(change: str, always: list[int]) -> None:
    model, x = Blocks(), torch.randn(4, 3, 10, 10)
    if change == "float64":
        model, x = model.double(), x.double()
    if change == "batch of one":
        x = x[:1]
    if change == "channels-last input":
        x = x.to(memory_format=torch.channels_last)
    if change == "channels-last weights":
        model = model.to(memory_format=torch.channels_last)
    compare(model, x)
    assert max(always) == 0


def test_gradients_of_gradients(always: list[int]) -> None:
    model, x = Views(), torch.randn(4, 1, 8, 8)
    found = []
    for function in (model, capture.compile(copy.deepcopy(model))):
        point = x.clone().requires_grad_()
        results = function(point)
        (grad,) = torch.autograd.grad(sum((t * t).sum() for t in results), point, create_graph=True)
        (second,) = torch.autograd.grad(grad.square().sum(), point)
        found.append((grad, second))
    for pair in zip(*found, strict=True):
        same(*pair)
    assert max(always) > 10


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2, 3)))[1:])
def test_incoming_gradients_of_other_strides(order: tuple[int, ...], always: list[int]) -> None:
    """A backward for these strides takes what the forward saved as it is."""
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8))
    twin, x = copy.deepcopy(net), torch.randn(4, 3, 9, 9)
    dense = torch.randn([4, *(8 if dim == 1 else 5 for dim in order)])
    tangent = dense.permute(0, *(order.index(dim) + 1 for dim in (1, 2, 3)))
    for function in (net, capture.compile(twin)):
        function(x).backward(tangent)
    for ours, theirs in zip(twin.parameters(), net.parameters(), strict=True):
        same(ours.grad, theirs.grad)
    assert len(always) == 2 and min(always) > 0


@pytest.mark.parametrize("is_turned", [False, True])
def test_incoming_gradients_where_no_convolution_has_a_gradient(is_turned: bool, always) -> None:
    """What the forward saved is channels-last, and the backward takes a view of it."""
    x, v, w = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3), torch.randn(4, 4, 3, 3)
    weight = torch.randn(3, 100, requires_grad=True)
    sent = torch.randn(3, 2).t() if is_turned else torch.randn(2, 3)

    def head(weight):
        return F.linear(F.conv2d(F.conv2d(x, v).relu(), w).relu().flatten(1), weight)

    theirs, ours = (torch.autograd.grad(f(weight), weight, sent)[0] for f in (head, capture.compile(head)))
    same(ours, theirs)
    assert always[0] > 0


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0)])
def test_incoming_gradients_of_channels_last_results(order: tuple[int, ...]) -> None:
    """The backward is views of the incoming gradient, which has strides of its own."""
    images = [torch.randn(2, 4, 5, 6).to(memory_format=torch.channels_last) for _ in range(2)]
    images = [image.requires_grad_() for image in images]
    sent = torch.randn([(2, 8, 5, 6)[dim] for dim in order])
    sent = sent.permute([order.index(dim) for dim in range(4)])

    def joined(*images):
        return torch.cat(images, 1)

    found = [torch.autograd.grad(f(*images), images, sent) for f in (joined, capture.compile(joined))]
    for theirs, ours in zip(*found, strict=True):
        same(ours, theirs)


def test_some_of_the_gradients(always: list[int]) -> None:
    model, x = Blocks(), torch.randn(4, 3, 10, 10)
    twin = copy.deepcopy(model)
    fast = capture.compile(twin)
    for place in (0, 1, 2, 1):
        for function in (model, fast):
            function.zero_grad()
            function(x)[place].sum().backward()
        for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
            assert (ours.grad is None) == (theirs.grad is None)
            if theirs.grad is not None:
                same(ours.grad, theirs.grad)


def test_batches_of_gradients(always: list[int]) -> None:
    """They run operator by operator."""
    net, x = (
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 2, 3), nn.Flatten()),
        torch.randn(4, 3, 9, 9),
    )
    tangents = torch.randn(3, 4, 50)
    found = []
    for function in (net, capture.compile(copy.deepcopy(net))):
        point = x.clone().requires_grad_()
        found.append(torch.autograd.grad(function(point), point, tangents, is_grads_batched=True)[0])
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-4)


# --- the choice -------------------------------------------------------------------------------------------


def changed(monkeypatch: pytest.MonkeyPatch, model: nn.Module, x: torch.Tensor) -> bool:
    counts = []
    own = channels_last.Regions.chosen
    monkeypatch.setattr(
        channels_last.Regions, "chosen", lambda self: counts.append(len(found := own(self))) or found
    )
    capture.compile(model)(x)
    return max(counts) > 0


def chain(count: int, *ends: nn.Module) -> nn.Module:
    layers = [nn.Conv2d(3, 16, 3, padding=1)]
    for _ in range(count):
        layers += [nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)]
    return nn.Sequential(*layers, *ends)


def test_a_chain_of_convolutions_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(monkeypatch, chain(4), torch.randn(8, 3, 16, 16))


def test_one_convolution_between_borders_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not changed(monkeypatch, chain(0, nn.ReLU(), nn.Flatten()), torch.randn(8, 3, 32, 32))


def test_large_weights_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.Sequential(*(nn.Conv2d(512, 512, 3, padding=1) for _ in range(3)))
    assert not changed(monkeypatch, net, torch.randn(2, 512, 4, 4))


def test_weights_get_row_major_gradients_when_the_backward_is_called_again(always: list[int]) -> None:
    net = chain(1)
    y = capture.compile(net)(torch.randn(4, 3, 8, 8))
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert all(p.grad.is_contiguous() for p in net.parameters())


# --- what torch returns -----------------------------------------------------------------------------------


def test_layouts_of_results() -> None:
    """A plan copies results of other layouts: that would cost what is gained."""
    tables = (2, 17), (1, 2, 16), (1, 16), (2, 9), (1, 2, 3), (1, 2), (False, True), (1, 2)
    for batch, channels, results, size, kernel, stride, transposed, groups in itertools.product(*tables):
        is_usual = channels % groups == results % groups == 0
        if is_usual and (kernel > 1 or channels == results == 16):
            shape = (channels, results // groups) if transposed else (results, channels // groups)
            options = ([stride] * 2, [kernel // 2] * 2, [1, 1], transposed, [0, 0], groups)
            check_layouts((batch, channels, size, size), (*shape, kernel, kernel), options)


def check_layouts(image: tuple[int, ...], weight: tuple[int, ...], options: Any) -> None:
    x, w = turned(torch.randn(image)), torch.randn(weight)
    y = aten.convolution(x, w, None, *options)
    assert y.stride() == turned(y).stride(), (image, weight, options)
    grads = aten.convolution_backward(turned(y), x, w, None, *options, [True, True, False])
    assert grads[0].stride() == x.stride(), (image, weight, options)
    sizes = zip(grads[1].shape, grads[1].stride(), turned(grads[1]).stride(), strict=True)
    assert all(size == 1 or own == other for size, own, other in sizes), (image, weight, options)


def turned(tensor: torch.Tensor) -> torch.Tensor:
    spec = channels_last.channels_last(tuple(tensor.shape), tensor.dtype)
    return torch.empty_strided(spec.shape, spec.strides).copy_(tensor)


@contextmanager
def onednn(enabled: bool) -> Iterator[None]:
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(enabled)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


@pytest.mark.parametrize("name", ["blocks", "groups", "views"])
def test_without_onednn_in_a_later_call(name: str, always: list[int]) -> None:
    """Then torch computes with row-major tensors here and there."""
    make, shape = MODELS[name]
    model = make().eval()
    twin = copy.deepcopy(model)
    fast, x = capture.compile(twin), torch.randn(5, *shape[1:])
    for enabled in (True, False):
        with onednn(enabled):
            for pair in zip(fast(x), model(x), strict=True):
                same(*pair)
            for function in (fast, model):
                function.zero_grad()
                sum((t * t).sum() for t in function(x)).backward()
        for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
            same(ours.grad, theirs.grad)
    assert max(always) > 10
