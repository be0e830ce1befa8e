"""Our shape rules on symbolic sizes: the layouts that they give are eager's, for other sizes too."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from codegen.fake.fake import FakeMode, fake_mode
from codegen.fake.open_shapes import run_on_all_sizes
from codegen.fake.shapes.spec import Spec
from codegen.fake.size_env import SizeEnv, new_size_env
from codegen.fake.symbolic import use_sizes

aten = torch.ops.aten
FLASH = aten._scaled_dot_product_flash_attention_for_cpu.default
OTHER_SIZES = [(2, 2), (3, 9), (9, 3), (8, 4), (4, 8), (64, 2)]

Case = tuple[Any, Callable[[Any, Any], tuple[Any, ...]]]


def rows(*shape: Any) -> tuple[Any, Any]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return shape, tuple(reversed(strides))


def swapped(first: int, second: int, layout: tuple[Any, Any]) -> tuple[Any, Any]:
    shape, strides = map(list, layout)
    for numbers in (shape, strides):
        numbers[first], numbers[second] = numbers[second], numbers[first]
    return tuple(shape), tuple(strides)


class Tensor:
    """A layout of a tensor that is made on fake or real memory."""

    def __init__(self, layout: tuple[Any, Any], dtype: torch.dtype = torch.float32) -> None:
        self.layout, self.dtype = layout, dtype


def tensor(*shape: Any, dtype: torch.dtype = torch.float32) -> Tensor:
    return Tensor(rows(*shape), dtype)


#: operator, its arguments for two sizes
CASES: dict[str, Case] = {
    "add": (aten.add.Tensor, lambda n, m: (tensor(4, n, 6), tensor(4, n, 6))),
    "add of columns": (aten.add.Tensor, lambda n, m: (Tensor(swapped(0, 1, rows(4, n))),) * 2),
    "add of a row": (aten.add.Tensor, lambda n, m: (tensor(4, n, 6), tensor(6))),
    "add of a number": (aten.add.Tensor, lambda n, m: (tensor(n), 2.5)),
    "mul by a size": (aten.mul.Tensor, lambda n, m: (tensor(n, 4, dtype=torch.int32), m)),
    "div of integers by a size": (aten.div.Tensor, lambda n, m: (tensor(n, dtype=torch.int64), m)),
    "mm": (aten.mm.default, lambda n, m: (tensor(n, 4), tensor(4, m))),
    "bmm": (aten.bmm.default, lambda n, m: (tensor(6, n, 4), tensor(6, 4, m))),
    "addmm": (aten.addmm.default, lambda n, m: (tensor(8), tensor(n * m, 4), tensor(4, 8))),
    "sum": (aten.sum.dim_IntList, lambda n, m: (tensor(n, m, 4), [1])),
    "mean with a dim of 1": (aten.mean.dim, lambda n, m: (tensor(n, m, 4), [-1], True)),
    "layer norm": (
        aten.native_layer_norm.default,
        lambda n, m: (tensor(n, m, 4), [4], tensor(4), tensor(4), 1e-5),
    ),
    "embedding": (aten.embedding.default, lambda n, m: (tensor(9, 4), tensor(n, m, dtype=torch.int64))),
    "cat": (aten.cat.default, lambda n, m: ([tensor(n, 4), tensor(m, 4), tensor(3, 4)],)),
    "stack": (aten.stack.default, lambda n, m: ([tensor(n, 4), tensor(n, 4)], 1)),
    "zeros": (aten.zeros.default, lambda n, m: ([n, m + 1],)),
    "full of a size": (aten.full.default, lambda n, m: ([n], m)),
    "softmax": (aten._softmax.default, lambda n, m: (tensor(n, m), 1, False)),
    "attention": (FLASH, lambda n, m: (Tensor(swapped(1, 2, rows(2, n, 4, 8))),) * 3),
    "convolution": (
        aten.convolution.default,
        lambda n, m: (tensor(n, 3, 9, 9), tensor(6, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
    ),
    "t": (aten.t.default, lambda n, m: (tensor(n, m),)),
    "transpose": (aten.transpose.int, lambda n, m: (tensor(n, 4, m), 0, -1)),
    "permute": (aten.permute.default, lambda n, m: (tensor(n, 4, m), [1, -1, 0])),
    "unsqueeze": (aten.unsqueeze.default, lambda n, m: (tensor(n, m), 1)),
    "unsqueeze behind": (aten.unsqueeze.default, lambda n, m: (tensor(n, m), -1)),
    "squeeze": (aten.squeeze.default, lambda n, m: (tensor(n, 1, m, 1),)),
    "squeeze of one dim": (aten.squeeze.dim, lambda n, m: (tensor(n, 1, m, 1), 1)),
    "squeeze of no dim of 1": (aten.squeeze.dims, lambda n, m: (tensor(n, 1, m, 1), [0, 3])),
    "first": (aten.select.int, lambda n, m: (tensor(n, m), 1, 0)),
    "last": (aten.select.int, lambda n, m: (tensor(n, m), 0, -1)),
    "all but the first": (aten.slice.Tensor, lambda n, m: (tensor(n, m), 1, 1, 2**63 - 1)),
    "all but the last": (aten.slice.Tensor, lambda n, m: (tensor(n, m), 0, 0, -1)),
    "to a size": (aten.slice.Tensor, lambda n, m: (tensor(n + m, 4), 0, n, n + m)),
    "behind the end": (aten.slice.Tensor, lambda n, m: (tensor(4, n), 0, 7, 9)),
    "split": (aten.split.Tensor, lambda n, m: (tensor(n, 8), 3, 1)),
    "split by sizes": (aten.split_with_sizes.default, lambda n, m: (tensor(n + m, 4), [n, m])),
    "unbind": (aten.unbind.int, lambda n, m: (tensor(n, 3, m), 1)),
    "expand": (aten.expand.default, lambda n, m: (tensor(n, 1, 4), [m, n, 6, -1])),
    "expand of a number": (aten.expand.default, lambda n, m: (Tensor(((), ())), [n, 1])),
    "expand to dims of 1": (aten.expand.default, lambda n, m: (tensor(n), [1, 1, n])),
    "view in rows": (aten.view.default, lambda n, m: (tensor(n, m, 4), [n * m, 4])),
    "view of heads": (aten.view.default, lambda n, m: (tensor(8, n, 12), [8, n, 3, -1])),
    "view of columns": (aten.view.default, lambda n, m: (Tensor(swapped(0, 1, rows(n, 12))), [3, 4, n])),
    "view with dims of 1": (aten.view.default, lambda n, m: (tensor(n, 12), [1, n, 1, 12, 1])),
}
#: what depends on the sizes, or what eager refuses
WITHOUT_ANSWER: dict[str, Case] = {
    "sizes that may differ": (aten.add.Tensor, lambda n, m: (tensor(n), tensor(m))),
    "factors that may not fit": (aten.mm.default, lambda n, m: (tensor(4, n), tensor(m, 4))),
    "a view of other elements": (aten.view.default, lambda n, m: (tensor(n, 4), [n, 5])),
    "a view across a gap": (aten.view.default, lambda n, m: (Tensor(swapped(0, 1, rows(n, 4))), [4 * n])),
    "an expansion that may not fit": (aten.expand.default, lambda n, m: (tensor(n), [m])),
    "parts of a size that changes": (aten.split.Tensor, lambda n, m: (tensor(n), 2)),
}
#: what depends on the sizes, and has guards
GUARDED: dict[str, Case] = {
    "a place that may not be there": (aten.select.int, lambda n, m: (tensor(n), 0, 3)),
    "a place from the end": (aten.select.int, lambda n, m: (tensor(7, 4), 0, -n)),
    "an end that may be behind": (aten.slice.Tensor, lambda n, m: (tensor(n), 0, 0, m)),
    "a start that may be behind the end": (aten.slice.Tensor, lambda n, m: (tensor(9, 2), 0, n - 6, m - 5)),
}


def made(value: Any, make: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return make(value)
    return [made(one, make) for one in value] if isinstance(value, list) else value


def layouts(results: Any, number: Callable[[Any], int]) -> Any:
    if not isinstance(results, torch.Tensor):
        return [layouts(one, number) for one in results]
    places = (*results.shape, *results.stride(), results.storage_offset())
    return [number(place) for place in places], results.dtype


def on_symbols(case: Case) -> tuple[Any, list[torch.SymInt], SizeEnv]:
    func, arguments = case
    mode: FakeMode = fake_mode()
    env = new_size_env()
    use_sizes(mode, env)
    sizes: list[Any] = [env.new_size(value, name, duck=False) for value, name in ((5, "n"), (7, "m"))]
    args = tuple(
        made(value, lambda t: mode.new(Spec(*t.layout, t.dtype), torch.device("cpu")))
        for value in arguments(*sizes)
    )
    kwargs = {"dtype": torch.float32} if func is aten.zeros.default else {}
    return run_on_all_sizes(mode, func, args, kwargs), sizes, env


def in_eager(case: Case, n: int, m: int) -> Any:
    func, arguments = case

    def real(t: Tensor) -> torch.Tensor:
        return torch.empty_strided(*t.layout, dtype=t.dtype).zero_()

    return func(*(made(value, real) for value in arguments(n, m)))


@pytest.mark.parametrize("name", CASES)
def test_layouts_of_all_sizes_are_eagers(name):
    results, sizes, env = on_symbols(CASES[name])
    assert results is not NotImplemented
    assert env.guards == []
    symbols = [size.node.expr for size in sizes]
    for values in [(5, 7), *OTHER_SIZES]:
        known = dict(zip(symbols, values))

        def number(place: Any, known: dict[Any, int] = known) -> int:
            return place if type(place) is int else int(place.node.expr.xreplace(known))

        assert layouts(results, number) == layouts(in_eager(CASES[name], *values), int), values


@pytest.mark.parametrize("name", GUARDED)
def test_layouts_are_eagers_while_the_guards_hold(name):
    results, sizes, env = on_symbols(GUARDED[name])
    symbols = [size.node.expr for size in sizes]
    held = 0
    for values in itertools.product(range(2, 9), repeat=2):
        known = dict(zip(symbols, values))
        if not all(bool(guard.expr.xreplace(known)) for guard in env.guards):
            continue
        held += 1

        def number(place: Any, known: dict[Any, int] = known) -> int:
            return place if type(place) is int else int(place.node.expr.xreplace(known))

        assert layouts(results, number) == layouts(in_eager(GUARDED[name], *values), int), values
    assert 0 < held < 49


@pytest.mark.parametrize("name", WITHOUT_ANSWER)
def test_what_depends_on_the_sizes_has_no_answer(name):
    results, _, env = on_symbols(WITHOUT_ANSWER[name])
    assert results is NotImplemented
    assert env.guards == []


def test_a_question_that_was_guarded_before_has_an_answer():
    mode, env = fake_mode(), new_size_env()
    use_sizes(mode, env)
    n, m = (env.new_size(5, name, duck=False) for name in "nm")
    left, right = (mode.new(Spec((size,), (1,), torch.float32), torch.device("cpu")) for size in (n, m))
    assert run_on_all_sizes(mode, aten.add.Tensor, (left, right), {}) is NotImplemented
    assert n == m
    (size,) = run_on_all_sizes(mode, aten.add.Tensor, (left, right), {}).shape
    assert str(size) == "s0"


def test_equal_layouts_are_looked_at_once(monkeypatch):
    mode, env = fake_mode(), new_size_env()
    use_sizes(mode, env)
    n = env.new_size(5, "n")

    def fresh(dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return mode.new(Spec((n, 4), (4, 1), dtype), torch.device("cpu"))

    def result(func: Any, *args: Any) -> Any:
        return run_on_all_sizes(mode, func, args, {})

    kinds = [result(aten.mul.Tensor, fresh(), number).dtype for number in (1, 1.0, True, n)]
    assert kinds == [torch.int64, torch.float32, torch.int64, torch.int64]
    target = fresh(torch.float32)
    assert result(aten.add_.Tensor, target, fresh()) is target
    monkeypatch.setattr("codegen.fake.open_shapes.in_facts", None)  # runs the rules
    first, second = (result(aten.mul.Tensor, fresh(), 1.0) for _ in range(2))
    assert first is not second and first.untyped_storage()._cdata != second.untyped_storage()._cdata
    monkeypatch.undo()
    torch.set_default_dtype(torch.float64)
    try:
        assert result(aten.mul.Tensor, fresh(), 1.0).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    other = fresh(torch.float32)
    assert result(aten.add_.Tensor, other, fresh()) is other
