"""Of drafts that differ in the names of their buffers, one is scheduled; all get the right kernel."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from codegen.kernel import ir
from codegen.kernel.index_algebra import Ranges
from codegen.kernel.ir import Kernel
from codegen.passes.draft.draft import Draft, DraftStore
from codegen.passes.loops import alike_drafts
from codegen.passes.loops.alike_drafts import Scheduler, form_of
from codegen.passes.loops.schedule import schedule
from codegen.passes.loops.short_sizes import copy_of
from tests.codegen.lowering_check import check, lowered

PROGRAMS: dict[str, Any] = {
    "step": (lambda p, g: p.copy_(p - 0.1 * g), (6, 40), (6, 40)),
    "transposed": (lambda x, y: x.t() + y, (30, 40), (40, 30)),
    "softmax": (lambda x, y: torch.softmax(x * y, 1), (6, 40), (6, 40)),
    "layer norm": (lambda x, w: torch.nn.functional.layer_norm(x, (40,), w), (6, 40), (40,)),
    "sums down": (lambda x, y: (x * y).sum(0), (300, 40), (300, 40)),
    "scan": (lambda x, y: torch.cumsum(x, 1) * y, (6, 40), (6, 40)),
    "constants": (lambda x, y: (x * -0.0 + y * 0.0).masked_fill(x > 1, float("nan")), (6, 40), (6, 40)),
    "first of the largest": (lambda x, y: (x * y).argmax(1), (6, 40), (6, 40)),
}


def tensors(name: str, pairs: int) -> list[Tensor]:
    torch.manual_seed(1)
    _, *shapes = PROGRAMS[name]
    return [torch.randn(shape) for _ in range(pairs) for shape in shapes]


def each_pair(name: str) -> Any:
    function = PROGRAMS[name][0]
    return lambda *args: tuple(function(*args[i : i + 2]) for i in range(0, len(args), 2))


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch) -> list[Draft]:
    """The drafts that were scheduled."""
    found: list[Draft] = []

    def noted(draft: Draft) -> Kernel:
        found.append(draft)
        return schedule(draft)

    monkeypatch.setattr(alike_drafts, "schedule", noted)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_draft_gets_the_kernel_of_its_own_schedule(
    name: str, scheduled: list[Draft], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, compared = Scheduler.kernel, 0

    def both(self: Scheduler, draft: Draft) -> Kernel:
        nonlocal compared
        own = schedule(copy_of(draft))
        kernel = taken(self, draft)
        assert repr(kernel) == repr(own)
        compared += 1
        return kernel

    monkeypatch.setattr(Scheduler, "kernel", both)
    lowered(each_pair(name), *tensors(name, 3))
    assert compared > len(scheduled) or any(draft.scratch for draft in scheduled)


def test_the_results_are_those_of_each_buffer() -> None:
    check(each_pair("step"), *tensors("step", 5))


def test_one_draft_of_a_form_is_scheduled(scheduled: list[Draft]) -> None:
    """A step over 12 parameters of three shapes."""
    torch.manual_seed(1)
    shapes = [(6, 40), (7,), (40, 6)]
    lowered(each_pair("step"), *(torch.randn(shapes[i % 3]) for i in range(12) for _ in range(2)))
    lengths = Counter(str(sorted(draft.ranges.extents.values(), key=str)) for draft in scheduled)
    assert len(scheduled) <= 3 and max(lengths.values()) == 1


@pytest.mark.parametrize("other", [-0.0, 0, False])
def test_constants_of_another_kind_are_another_form(other: float) -> None:
    forms = []
    for value in (0.0, other):
        draft = Draft("k", (), Ranges({}), dtypes={0: "f32"}, buffers={"x": "f32"}, written={"x"})
        draft.body = [ir.ConstOp(0, value, "f32"), DraftStore("x", 0, 0)]
        forms.append(form_of(draft))
    assert forms[0] != forms[1]
