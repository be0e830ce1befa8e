"""The callable that is used for an operator."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _capture
import pytest
import torch
from torch._ops import OpOverload

import capture
from codegen.launch.direct_calls import callable_of, is_direct

aten = torch.ops.aten
HEADERS = Path(torch.__file__).parent / "include/torch/csrc/inductor/aoti_torch"


def test_one_overload_is_called_by_its_binding() -> None:
    assert callable_of(aten.index_select.default) == torch.index_select
    assert callable_of(aten.grid_sampler_2d.default) == torch.grid_sampler_2d
    assert callable_of(aten.bmm.default) == torch.bmm


def test_an_overload_that_could_be_taken_for_another_is_called_by_the_operator() -> None:
    for op in (aten.sum.dim_IntList, aten.mean.dim):
        assert callable_of(op) is op._op


# --- entry points -----------------------------------------------------------------------------------------


def direct_operators() -> list[tuple[OpOverload, Any]]:
    """All operators of torch that are called by their entry points."""
    names = sorted(name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    parts = [name.removeprefix("aten::").partition(".") for name in names]
    ops = [
        getattr(getattr(aten, name), overload or "default")
        for name, _, overload in parts
        if not name.startswith("__") and torch._C._get_operation_overload(f"aten::{name}", overload)
    ]
    calls = [(op, callable_of(op)) for op in ops]
    return [(op, call) for op, call in calls if is_direct(call)]


PASSED_AS = {
    "t": ["AtenTensorHandle"], "T": ["AtenTensorHandle*"], "i": ["int64_t"], "I": ["int64_t*"],
    "b": ["int32_t"], "B": ["int32_t*"],
    "d": ["double"], "D": ["double*"], "l": ["const int64_t*", "int64_t"],
    "L": ["const int64_t**", "int64_t"],
    "m": ["const int32_t*", "int64_t"],
}  # fmt: skip


def test_entry_points_take_what_they_are_given() -> None:
    """Compared with the declarations in torch's own headers."""
    text = "".join(
        (HEADERS / name).read_text() for name in ("generated/c_shim_cpu.h", "c/shim_cpu.h", "c/shim.h")
    )
    declared = dict(re.findall(r"AOTITorchError\s+(aoti_torch_cpu_\w+)\(([^)]*)\)", text))
    found = direct_operators()
    assert len(found) > 60
    for op, call in found:
        kinds = [re.sub(r"\s*\w+\s*$", "", item.strip()) for item in declared[call.symbol].split(",")]
        expected: list[str] = []
        for kind in call.kinds:
            if kind == "N":  # a pointer to anything
                assert kinds[len(expected)].endswith("*"), op
                expected.append(kinds[len(expected)])
            else:
                expected += PASSED_AS[kind]
        assert kinds == expected + ["AtenTensorHandle*"] * len(op._schema.returns), op


def draws(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def samples() -> list[tuple[OpOverload, tuple[Any, ...], dict[str, Any]]]:
    x, q, square = draws(1, 2, 8, 8), draws(1, 2, 4, 8), draws(4, 4)
    table, rows, offsets = draws(10, 4), torch.tensor([1, 2, 2]), torch.tensor([0, 2])
    mask = torch.zeros(4, 4).masked_fill(draws(4, 4) > 1, -5.0)
    out, log = aten._scaled_dot_product_flash_attention_for_cpu(q, q, q)
    pooled, where = aten.max_pool2d_with_indices(x, [2, 2], [2, 2])
    attention = aten._scaled_dot_product_flash_attention_for_cpu
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward
    return [
        (attention.default, (q, q, q), {}),
        (attention.default, (q, q, q, 0.0, True), {"scale": 0.3}),
        (attention.default, (q, q, q), {"attn_mask": mask, "scale": 2}),
        (backward.default, (out, q, q, q, out, log, 0.0, False), {}),
        (backward.default, (out, q, q, q, out, log, 0.0, False), {"scale": None, "attn_mask": mask}),
        (aten.max_pool2d_with_indices.default, (x, [2, 2]), {}),
        (aten.max_pool2d_with_indices_backward.default,
         (pooled, x, [2, 2], [2, 2], [0, 0], [1, 1], False, where), {}),
        (aten.avg_pool2d.default, (x, [3, 2], [2, 1], [1, 0], True, False, 5), {}),
        (aten.avg_pool2d_backward.default, (pooled, x, [2, 2], [2, 2], [0, 0], False, True, None), {}),
        (aten._adaptive_avg_pool2d.default, (x, (3, 5)), {}),
        (aten._embedding_bag.default, (table, rows, offsets, False, 1), {"per_sample_weights": None}),
        (aten._embedding_bag.default, (table, rows, offsets, False, 0, False, draws(3)), {}),
        (aten.topk.default, (x, 3), {"largest": False}),
        (aten.sort.default, (x, 1, True), {}),
        (aten.sort.stable, (x,), {"stable": True, "dim": 2}),
        (aten.sort.stable, (x,), {"stable": None}),
        (aten.cumsum.default, (x, 1), {}),
        (aten.cumsum.default, (x, 1), {"dtype": torch.float64}),
        (aten.nonzero.default, (x > 0,), {}),
        (aten.masked_select.default, (x, x > 0), {}),
        (aten.median.default, (x,), {}),
        (aten.cholesky_inverse.default, (square @ square.T + torch.eye(4), True), {}),
        (aten.grid_sampler_2d_backward.default, (x, x, draws(1, 8, 8, 2), 0, 0, False, [False, True]), {}),
        (aten._fft_r2c.default, (x, [3], 0, True), {}),
        (aten.gcd.default, (torch.arange(9), torch.arange(9) * 6), {}),
        (aten._cdist_forward.default, (q, q, 1.5, None), {}),
        (aten.native_dropout.default, (x, 0.5, True), {}),
    ]  # fmt: skip


def everything(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def assert_same(have: Any, want: Any) -> None:
    for mine, theirs in zip(everything(have), everything(want), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype and mine.stride() == theirs.stride()
            assert torch.equal(mine, theirs) and not mine.requires_grad and not mine._is_view()


@pytest.mark.parametrize(
    "op, args, options", samples(), ids=lambda item: str(item) if isinstance(item, OpOverload) else ""
)
def test_an_entry_point_does_what_the_operator_does(
    op: OpOverload, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    call = callable_of(op)
    assert is_direct(call)
    keys = torch._C._dispatch_tls_local_exclude_set()
    for requires_grad in (False, True):
        for argument in args:
            if isinstance(argument, torch.Tensor) and argument.is_floating_point():
                argument.requires_grad_(requires_grad)
        with torch.no_grad():
            torch.manual_seed(5)
            want, state = op(*args, **options), torch.get_rng_state()
            torch.manual_seed(5)
            assert_same(call(*args, **options), want)
            assert torch.equal(torch.get_rng_state(), state)
    assert torch._C._dispatch_tls_local_exclude_set() == keys


def entry_point(
    otherwise: Callable[..., Any], kinds: str = "tiibb", symbol: str = "aoti_torch_cpu_topk"
) -> Any:
    names = ("self", "k", "dim", "largest", "sorted")[: len(kinds)]
    defaults = (..., ..., -1, True, True)[: len(kinds)]
    return _capture.DirectCall(symbol, kinds, names, defaults, 2, otherwise, False)


def test_what_an_entry_point_does_not_take_is_left_to_the_other_callable() -> None:
    call = entry_point(lambda *args, **options: (args, options))
    x = draws(3, 4)
    assert_same(call(x, 2), x.topk(2))
    assert_same(call(x, k=2, largest=False), x.topk(2, largest=False))
    assert_same(call(x, 2, 0, sorted=True), x.topk(2, 0))
    refused: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x,), {}),
        ((x, 2, 0, True, True, 3), {}),
        ((x, 2.0), {}),
        ((x, 1 << 70), {}),
        ((x, 2, 0, 1), {}),
        ((None, 2), {}),
        (([1.0], 2), {}),
        ((x.to_sparse(), 2), {}),
        ((x.to(torch.complex64).conj(), 2), {}),
        ((torch.empty(3, 4, device="meta"), 2), {}),
        ((x, 9), {}),  # it raises
        ((x, 2), {"dim": 5}),
    ]
    for args, options in refused:
        have = call(*args, **options)
        assert all(mine is theirs for mine, theirs in zip(have[0], args, strict=True))
        assert have[1] == options
    nothing = entry_point(lambda *args: args, symbol="aoti_torch_cpu_no_such_operator")
    assert not nothing.direct and nothing(x, 2) == (x, 2)
    assert entry_point(torch.topk).direct


def test_rows_that_are_too_long_are_left_to_the_other_callable() -> None:
    call = _capture.DirectCall(
        "aoti_torch_cpu__fft_c2c", "tlib", ("a", "b", "c", "d"), (...,) * 4, 1, lambda *args: args, False
    )
    x = draws(2, 3).to(torch.complex64)
    assert torch.equal(call(x, [0, 1], 0, True), aten._fft_c2c(x, [0, 1], 0, True))
    assert call(x, [0] * 65, 0, True)[1] == [0] * 65
    assert call(x, [0, None], 0, True)[1] == [0, None]
    assert call(x, "01", 0, True)[1] == "01"


@pytest.mark.parametrize("kinds, results", [("tx", 1), ("t\u00e4", 1), ("ti", 0), ("ti", 9), ("tii", 1)])
def test_entry_points_are_checked_when_they_are_made(kinds: str, results: int) -> None:
    with pytest.raises(ValueError, match="DirectCall"):
        _capture.DirectCall("aoti_torch_cpu_topk", kinds, ("a", "b"), (..., ...), results, torch.topk, False)


def test_what_another_callable_raises_is_raised() -> None:
    def refuse(*args: Any) -> None:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        entry_point(refuse)(draws(3), 7)


def test_grad_mode_is_on_only_meanwhile() -> None:
    """oneDNN's layer reads grad mode to decide whether to keep what the backward needs."""
    op = aten.mkldnn_rnn_layer.default
    call = callable_of(op)
    assert is_direct(call)
    weights = draws(12, 3), draws(12, 3), draws(12), draws(12)
    state = torch.zeros(1, 2, 3)
    args = (draws(5, 2, 3), *weights, state, state, False, [], 2, 3, 1, True, False, False, True)
    for mode in (False, True):
        with torch.set_grad_enabled(mode):
            have = call(*args)
            assert torch.is_grad_enabled() is mode
        want = call.otherwise(*args)
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(have[:3], want[:3], strict=True))
        assert have[3].shape == want[3].shape and have[3].numel() > 0


REFERENCES = """
import gc, sys
import torch, capture, _capture
sys.path.insert(0, "tests/codegen/launch")
from test_direct_calls import callable_of, samples

def held(values):
    return [sys.getrefcount(value) for value in values]

def run(times):
    for op, args, options in cases:
        call = callable_of(op)
        for _ in range(times):
            call(*args, **options)
            if isinstance(args[0], torch.Tensor):
                for wrong in ((args[0],), (*args[:1], None, *args[2:])):
                    try:
                        call(*wrong)
                    except (RuntimeError, TypeError, IndexError):
                        pass

cases = samples()
watched = [value for _, args, options in cases for value in (*args, *options.values())] + [None, True, False]
with torch.no_grad():
    run(3)
    gc.collect()  # what the imports left behind holds None and True
    before, tensors = held(watched), sum(isinstance(item, torch.Tensor) for item in gc.get_objects())
    blocks = sys.getallocatedblocks()
    run(20)
    gc.collect()
    after = held(watched)
assert all(abs(new - old) < 15 for new, old in zip(after, before)), list(zip(before, after))
assert sys.getallocatedblocks() - blocks < 200, sys.getallocatedblocks() - blocks
print("balanced")
"""


def test_references_are_balanced() -> None:
    environment = {**os.environ, "PYTHONMALLOC": "debug", "PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[3]
    result = subprocess.run(
        [sys.executable, "-c", REFERENCES],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=root,
    )
    assert result.stdout.strip() == "balanced", result.stderr[-2000:]


def test_a_graph_whose_operator_refuses_raises_what_eager_raises() -> None:
    def pooled(x: torch.Tensor, k: int) -> torch.Tensor:
        return torch.topk(x * 2, k).values + 1

    def draw_from(weight: torch.Tensor, rows: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding_bag(rows, weight, offsets) + 1

    fast = capture.compile(draw_from)
    table, offsets = draws(10, 4), torch.tensor([0, 2])
    good, bad = torch.tensor([1, 2, 3]), torch.tensor([1, 20, 3])
    assert torch.equal(fast(table, good, offsets), draw_from(table, good, offsets))
    with pytest.raises(RuntimeError) as eager:
        draw_from(table, bad, offsets)
    with pytest.raises(RuntimeError) as ours:
        fast(table, bad, offsets)
    assert type(ours.value) is type(eager.value) and str(ours.value) == str(eager.value)
    assert capture.compile(pooled)(draws(3, 4), 2).shape == (3, 2)


def test_convolutions_are_called_past_the_operator() -> None:
    x, w, bias = torch.randn(2, 4, 7, 7), torch.randn(6, 2, 3, 3), torch.randn(6)
    op, backward = aten.convolution.default, aten.convolution_backward.default
    direct, direct_backward = callable_of(op), callable_of(backward)
    assert direct is not op._op and direct_backward is not backward._op
    for extra in (bias, None):
        geometry = ([2, 1], [1, 0], [1, 2], False, [0, 0], 2)
        y = op(x, w, extra, *geometry)
        assert torch.equal(direct(x, w, extra, *geometry), y)
        for mask in ([True, True, True], [False, True, False], [True, False, extra is not None]):
            args = (torch.randn_like(y), x, w, None if extra is None else [6], *geometry, mask)
            for have, want in zip(direct_backward(*args), backward(*args), strict=True):
                assert (have is None) == (want is None) and (have is None or torch.equal(have, want))


def test_what_a_convolution_refuses_it_refuses_with_its_own_error() -> None:
    x, w = torch.randn(2, 4, 7, 7), torch.randn(6, 3, 3, 3)
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    direct, direct_backward = (
        callable_of(op) for op in (aten.convolution.default, aten.convolution_backward.default)
    )
    with pytest.raises(RuntimeError, match="to have 3 channels, but got 4 channels"):
        direct(x, w, None, *geometry)
    with pytest.raises(RuntimeError):
        direct_backward(torch.randn(2, 6, 5, 5), x, w, None, *geometry, [True, True])
    for call in (direct, direct_backward):
        with pytest.raises((TypeError, RuntimeError)):
            call(x, w)


def test_without_the_extension_operators_are_called_as_they_are() -> None:
    program = """
import sys
sys.modules["_capture"] = None
import torch, capture
from codegen.launch.direct_calls import callable_of
assert callable_of(torch.ops.aten.convolution.default) == torch.convolution
assert callable_of(torch.ops.aten.mkldnn_rnn_layer.default).__name__ == "rnn_layer"
fast = capture.compile(lambda x: torch.conv2d(x, torch.ones(1, 1, 2, 2)), hook="settrace")
x = torch.ones(1, 1, 3, 3)
print([fast(x).sum().item() for _ in range(3)])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert result.stdout.strip() == "[16.0, 16.0, 16.0]", result.stderr


def test_what_is_no_operator_is_itself() -> None:
    assert callable_of(len) is len


def test_overloads_that_want_a_keyword_are_told_apart() -> None:
    """torch's binding of `rand` can't choose the overload with a generator, or with names, if none is
    given.
    """
    assert callable_of(aten.rand.default) == torch.rand
    assert callable_of(aten.randn_like.default) == torch.randn_like
    assert callable_of(aten.rand.generator) is aten.rand.generator._op


@pytest.mark.parametrize(
    "op", [aten.rand.default, aten.randn.default, aten.rand_like.default, aten.randn_like.default], ids=str
)
def test_bindings_draw_what_the_operator_draws(op: torch._ops.OpOverload) -> None:
    like = op._schema.arguments[0].name == "self"
    args: tuple[object, ...] = (torch.zeros(5, 3),) if like else ([5, 3],)
    options = {
        "dtype": torch.float64,
        "layout": torch.strided,
        "device": torch.device("cpu"),
        "pin_memory": False,
    }
    torch.manual_seed(3)
    expected = op(*args, **options)
    torch.manual_seed(3)
    assert torch.equal(callable_of(op)(*args, **options), expected)
