"""Parts of tensors that grow: a stride is a symbol once it has changed, unless sizes inside explain it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters


@pytest.fixture(autouse=True)
def fresh():
    capture.reset()
    with config.patch(raise_on_error=True, dynamic=None):
        yield


EMBEDDING = torch.nn.Embedding(100, 8)


def doubled_in_place(t: torch.Tensor) -> torch.Tensor:
    t.mul_(2)
    return t + 1


PROGRAMS: list[tuple[Callable[..., Any], Callable[[int], torch.Tensor]]] = [
    (lambda t: t.float() * 2, lambda n: torch.arange(2 * n).view(2, n)[:, -1:]),
    (lambda t: EMBEDDING(t).sum(1), lambda n: torch.arange(4 * n).view(4, n)[:, -1:]),
    (lambda t: t.view(-1) + 1, lambda n: torch.arange(4.0 * n).view(4, n)[:, -1:]),
    (lambda t: t.reshape(-1) + 1, lambda n: torch.arange(4.0 * n).view(4, n)[:, -3:]),
    (lambda t: (t @ torch.ones(3, 2)).relu(), lambda n: torch.arange(4.0 * n).view(4, n)[:, :3]),
    (lambda t: t.square() + t.t().t(), lambda n: torch.arange(4.0 * n).view(4, n)[:, :3]),
    (lambda t: t * t.stride(0), lambda n: torch.arange(4.0 * n).view(4, n)[:, :2]),
    (lambda t: t[1:].contiguous(), lambda n: torch.arange(4.0 * n).view(4, n)[:, :2]),
    (lambda t: t.as_strided((2, 2), (1, t.stride(0))), lambda n: torch.arange(4.0 * n).view(4, n)[:, :2]),
    (lambda t: t.sum((0, 2)), lambda n: torch.arange(20.0 * n).view(4, n, 5)[:, -2:]),
    (lambda t: torch.cat([t, t], 1), lambda n: torch.arange(20.0 * n).view(4, n, 5)[:, :2]),
    (lambda t: (t + 1, t[:, :1]), lambda n: torch.arange(4.0 * n).view(4, n)[:, :2]),
    (doubled_in_place, lambda n: torch.arange(4.0 * n).view(4, n)[:, :2]),
    (lambda t: t if t.is_contiguous() else t * 2, lambda n: torch.arange(4.0 * n).view(4, n)[:, :2]),
]


def layout(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.storage_offset(), value.tolist()
    return [layout(item) for item in value] if isinstance(value, (tuple, list)) else value


PROGRAMS += [  # the part is contiguous for torch, since dims of size 1 have any stride
    (lambda t: EMBEDDING(t).sum(1), lambda n: torch.arange(n).view(1, n)[:, -1:]),
    (lambda t: (t * t.stride(0), t.stride()), lambda n: torch.arange(1.0 * n).view(1, n)[:, -1:]),
    (lambda t: t.reshape(-1) * 2 + t.mean(), lambda n: torch.arange(3.0 * n).view(1, n, 3)[:, -1]),
    (lambda t: t[:, 0] + t.flatten(1).sum(1), lambda n: torch.arange(3.0 * n).view(1, n, 3)[:, -1:]),
]
PROGRAMS += [  # a dim outside of the open one
    (
        lambda t: (t @ t.transpose(-1, -2), t.stride()),
        lambda n: torch.arange(24.0 * n).view(2, 3, n, 4)[:, :, -1:],
    ),
    (lambda t: t.amax(-1).sum((1, 2)), lambda n: torch.arange(12.0 * n).view(1, 3, n, 4)[:, :, -1:]),
    (
        lambda t: t.permute(1, 0, 2).reshape(3, -1) + 1,
        lambda n: torch.arange(6.0 * n).view(2, 3, n)[:, :, :1],
    ),
    (doubled_in_place, lambda n: torch.arange(24.0 * n).view(2, 3, n, 4)[:, :, 1:3]),
]
PROGRAMS += [  # sizes change with strides
    (lambda t: EMBEDDING(t).sum(1), lambda n: torch.arange(n * n).view(n, n)[:, -1:] % 100),
    (lambda t: t * 2 + t.stride(0), lambda n: torch.arange(8.0 * n).view(4, 2 * n)[:, :n]),
    (lambda t: t.sum(1), lambda n: torch.arange(n * n * 6.0).view(n, 2, n, 3)[:, :, -2:]),
    (lambda t: (t.transpose(1, 2) @ t, t.stride()), lambda n: torch.arange(n * n * 6.0).view(n, n, 6)[:, :3]),
    (doubled_in_place, lambda n: torch.arange(n * n * 2.0).view(n, 2 * n)[:, ::2][:, 1:]),
]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_one_capture_more_for_all_strides(number, backend):
    function, part = PROGRAMS[number]
    fast = capture.compile(function, backend=backend)
    for n in (5, 6, 7, 11, 4, 13):
        ours, theirs = part(n), part(n)
        assert layout(fast(ours)) == layout(function(theirs))
        assert layout(ours) == layout(theirs)
    assert sum(counters["recompiles"].values()) == 1


def test_gradients():
    fast = capture.compile(lambda t: (t.sin() * t).sum())
    for n in (5, 6, 7, 11):
        base = torch.arange(4.0 * n).view(4, n).requires_grad_()
        fast(base[:, -2:]).backward()
        part = base.detach()[:, -2:]
        expected = torch.zeros(4, n)
        expected[:, -2:] = part.sin() + part * part.cos()
        torch.testing.assert_close(base.grad, expected)
    assert sum(counters["recompiles"].values()) == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda: torch.arange(8.0).view(4, 2),  # contiguous: the stride is as small as can be
        lambda: torch.arange(8.0).view(2, 4).t(),  # another dim has the largest stride
        lambda: torch.arange(8.0).as_strided((4, 2), (1, 1)),  # the rows overlap
        lambda: torch.arange(2.0).expand(4, 2),
        lambda: torch.arange(80.0).view(4, 20)[:, ::7][:, :2],  # the small stride is another one
        lambda: torch.arange(9.0).view(3, 3)[:, :2],
    ],
)
def test_other_layouts_are_not_taken_for_it(other):
    def f(t):
        return t * 2, t.stride(), t.is_contiguous(), t.t().contiguous().stride()

    fast = capture.compile(f)
    for n in (5, 6, 7):
        fast(torch.arange(4.0 * n).view(4, n)[:, :2])
    result, *facts = fast(other())
    expected, *their_facts = f(other())
    assert layout(result) == layout(expected) and facts == their_facts


def test_static_sizes_keep_their_strides():
    fast = capture.compile(lambda t: t * 2, dynamic=False)
    for n in (5, 6, 7):
        fast(torch.arange(4.0 * n).view(4, n)[:, :2])
    assert sum(counters["recompiles"].values()) == 2


@pytest.mark.parametrize("function", [function for function, _ in PROGRAMS])
@pytest.mark.parametrize("sizes", [(1, 6), (2, 1, 6), (1, 1, 6), (1, 6, 1), (3, 2, 1, 6)])
def test_stride_of_one_that_is_a_product_by_chance(function, sizes):
    """The first call that shows the change may be the contiguous one."""

    def parts(n):
        """The last of n at the dim behind the one of size 1."""
        place = sizes.index(1) + 1
        base = torch.arange(1.0 * n * torch.Size(sizes).numel()).view(*sizes[:place], n, *sizes[place:])
        return base.select(place, n - 1)

    try:
        function(parts(3))
    except (RuntimeError, IndexError):
        pytest.skip("not for these sizes")
    fast = capture.compile(function)
    for n in (3, 1, 4, 1, 5):
        ours, theirs = parts(n), parts(n)
        assert layout(fast(ours)) == layout(function(theirs))
        assert layout(ours) == layout(theirs)
    is_outermost = sizes[0] == 1  # a stride that is a product outside of it stays one
    assert sum(counters["recompiles"].values()) == (1 if is_outermost else 3)
