"""Sizes that the caller of an exported function chooses."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

import capture
from tests.capture.exporting.c_programs import need_tools, run_in_c
from tests.capture.exporting.models import MODELS

ROWS = (2, 3, 5, 16, 33)


def shapes(x):
    n = x.shape[0]
    return x.reshape(-1), x.reshape(n * 4), torch.cat([x, x * n]), x.t(), torch.stack([x, -x]), x[-1]


def numbers(x):
    n = x.shape[0]
    return x / n, x * math.sqrt(n), x.mean(0), x.var(0), x / x.numel(), x + torch.arange(n)[:, None]


def rows(x):
    return F.softmax(x, 0), x.cumsum(0), x.argmax(0), F.layer_norm(x, (4,)), F.pad(x, (1, 0, 2, 1))


def products(x):
    return x @ x.t(), x.t() @ x, torch.bmm(x[None], x.t()[None]), torch.tril(x @ x.t())


def images(x):
    line = x.t()[None]
    return F.conv1d(line, torch.ones(3, 4, 3), padding=1), F.interpolate(line, scale_factor=2)


def writes(x):
    x.mul_(2)
    return x.sum(0)


@pytest.mark.parametrize("function", [shapes, numbers, rows, products, images, writes])
def test_one_function_for_all_sizes(function, tmp_path):
    need_tools("x86-64")
    torch.manual_seed(0)
    exported = capture.export(function, (torch.randn(5, 4),), dynamic_sizes={"x": {0: "n"}})
    exported.save(str(tmp_path / "out"))
    loaded = capture.load(str(tmp_path / "out"))
    for count in ROWS:
        x = torch.randn(count, 4)
        again = x.clone()
        torch.testing.assert_close(
            loaded(again), function(x), rtol=2e-5, atol=2e-5, check_stride=True, msg=str(count)
        )
        assert torch.equal(again, x)


DYNAMIC = {
    "mlp": ({"input": {0: "batch"}}, lambda n: (torch.randn(n, 20),)),
    "cnn": ({"x": {0: "batch"}}, lambda n: (torch.randn(n, 3, 16, 16),)),
    "encoder": ({"src": {0: "batch", 1: "length"}}, lambda n: (torch.randn(2, n, 32),)),
    "cached_block": (
        {"keys": {2: "past"}, "values": {2: "past"}},
        lambda n: (torch.randn(1, 1, 32), torch.randn(1, 4, n, 8), torch.randn(1, 4, n, 8)),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name, tmp_path):
    need_tools("x86-64")
    torch.manual_seed(0)
    model, args = MODELS[name]()
    sizes, arguments = DYNAMIC[name]
    capture.export(model, args, dynamic_sizes=sizes).save(str(tmp_path / "out"))
    loaded = capture.load(str(tmp_path / "out"))
    for count in (2, 7, 20):
        args = arguments(count)
        with torch.no_grad():
            torch.testing.assert_close(loaded(*args), model(*args), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("machine", ["x86-64", "aarch64", "wasm32"])
def test_in_a_program_of_each_machine(machine, tmp_path):
    torch.manual_seed(0)
    model, args = MODELS["cached_block"]()
    sizes, arguments = DYNAMIC["cached_block"]
    exported = capture.export(model, args, target=machine, dynamic_sizes=sizes)
    args = arguments(9)
    with torch.no_grad():
        wanted = list(model(*args))
    results = run_in_c(exported, list(args), tmp_path, {"past": 9})
    torch.testing.assert_close(results, wanted, rtol=2e-5, atol=2e-5)


def test_the_header_names_them():
    exported = capture.export(rows, (torch.randn(5, 4),), dynamic_sizes={"x": {0: ("lines", 2, 64)}})
    assert "int32_t rows(const float *x, int64_t lines, float *out0" in exported.header
    assert "lines: dim 0 of x, from 2 to 64" in exported.header
    assert "static inline int64_t rows_workspace_bytes(int64_t lines)" in exported.header


def test_one_name_is_one_size(tmp_path):
    need_tools("x86-64")

    def sums(x, y):
        return x.sum(0), y.sum(0)

    given = torch.ones(5, 2), torch.ones(5, 3)
    exported = capture.export(sums, given, dynamic_sizes={"x": {0: "n"}, "y": {0: "n"}})
    exported.save(str(tmp_path / "out"))
    loaded = capture.load(str(tmp_path / "out"))
    assert loaded(torch.ones(7, 2), torch.ones(7, 3))[1].tolist() == [7, 7, 7]
    with pytest.raises(ValueError, match=r"y has the sizes \[6, 3\]; exported: \[7, 3\]"):
        loaded(torch.ones(7, 2), torch.ones(6, 3))


def test_bounds_of_the_program_are_bounds_of_the_function(tmp_path):
    need_tools("x86-64")

    def short(x):
        return x[3:] + 1 if x.shape[0] < 100 else x

    exported = capture.export(short, (torch.ones(5),), dynamic_sizes={"x": {0: "n"}})
    [size] = exported.native.interface.sizes
    assert (size.least, size.most) == (4, 99)  # an empty result would be another program
    exported.save(str(tmp_path / "out"))
    loaded = capture.load(str(tmp_path / "out"))
    for count in (4, 5, 99):
        assert loaded(torch.ones(count)).tolist() == [2] * (count - 3)
    for count in (3, 100):
        with pytest.raises(ValueError, match=rf"dim 0 of x is {count}; exported were 4 to 99"):
            loaded(torch.ones(count))


def even(x):
    return x + 1 if x.shape[0] % 2 else x - 1


def test_bounds_can_decide_a_condition():
    def tens(x):
        return x + 1 if x.shape[0] // 10 * 10 <= 20 and x.shape[0] % 10 < 9 else x

    capture.export(tens, (torch.ones(5),), dynamic_sizes={"x": {0: ("n", 2, 8)}})
    with pytest.raises(capture.ExportError, match="right only for sizes with"):
        capture.export(tens, (torch.ones(5),), dynamic_sizes={"x": {0: ("n", 2, 9)}})


def fixed(x):
    for i in range(x.shape[0]):
        x = x + i
    return x


def largest(x):
    return x * max(x.shape[0], 9)


def counted(x):
    return x.sum(), x.shape[0]


def adds(x, y):
    return x + y


def line(function, behind):
    return rf"test_dynamic_sizes\.py:{function.__code__.co_firstlineno + behind}\)"


@pytest.mark.parametrize(
    "function, sizes, text",
    [
        (even, {"x": {0: "n"}}, rf"right only for sizes with .*Mod\(n, 2\).* \(.*{line(even, 1)}"),
        (fixed, {"x": {0: "n"}}, r"fixes dim 0 of x, which is to be n: 5"),
        (counted, {"x": {0: "n"}}, "returns 5, which may depend on sizes"),
        (adds, {"x": {0: "n"}, "y": {0: "m"}}, "takes m and n as equal sizes: give them one name"),
        (
            lambda x: F.conv_transpose1d(x[None], torch.ones(5, 2, 3)),
            {"x": {1: "n"}},
            "convolution.*no native form",
        ),
        (lambda x: torch.zeros(x.shape[0]) + 1, {"x": {0: "n"}}, "calls no operator with x"),
        (largest, {"x": {0: "n"}}, rf"computes a number from its sizes \(.*{line(largest, 1)}"),
    ],
)
def test_programs_that_are_not_for_all_sizes(function, sizes, text):
    count = function.__code__.co_argcount
    with pytest.raises(capture.ExportError, match=text):
        capture.export(function, (torch.ones(5, 4),) * count, dynamic_sizes=sizes)


@pytest.mark.parametrize(
    "sizes, text",
    [
        ("x", r"write \{"),
        ({"y": {0: "n"}}, "no tensor argument 'y'; there are x"),
        ({"x": "n"}, r"dynamic_sizes of x is 'n': write \{"),
        ({"x": {2: "n"}}, "x has 2 dims, 2 is none of them"),
        ({"x": {0: 3}}, r"is 3 at 0: write \{"),
        ({"x": {0: ("n", 2)}}, r"at 0: write \{"),
        ({"x": {0: "for"}}, "'for' has to be an identifier of C"),
        ({"x": {0: ("n", 1, 4)}}, "it can be 2 to 2147483647"),
        ({"x": {0: ("n", 9, 4)}}, "n has no size from 9 to 4"),
        ({"x": {0: ("n", 9, 10)}}, "is 5 here; n is from 9 to 10: give an example of such a size"),
        ({"x": {0: "n", 1: "n"}}, "dim 1 of x is 4 here, but n is 5"),
    ],
)
def test_wrong_descriptions(sizes, text):
    with pytest.raises(capture.UsageError, match=text):
        capture.export(rows, (torch.ones(5, 4),), dynamic_sizes=sizes)


def test_sizes_of_tensors_that_are_not_read_are_checked(tmp_path):
    need_tools("x86-64")
    capture.export(lambda x, y: x * y.shape[0], (torch.ones(2), torch.ones(3)), name="f").save(
        str(tmp_path / "f")
    )
    loaded = capture.load(str(tmp_path / "f"))
    assert loaded(torch.ones(2), torch.ones(3)).tolist() == [3, 3]
    with pytest.raises(ValueError, match=r"y has the sizes \[7\]; exported: \[3\]"):
        loaded(torch.ones(2), torch.ones(7))
