"""Fake tensors have the sizes, strides and dtypes of the real ones, and no barred module is imported."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import DataDependentOutputException

import capture
from codegen.fake.fake import FakeTensor, fake_mode
from codegen.fake.twins import to_fake
from codegen.kernel.errors import UnsupportedTensor


def describe(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (
            tuple(value.shape),
            tuple(value.stride()),
            value.storage_offset(),
            value.dtype,
            value.requires_grad,
        )
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    return value


def layouts() -> dict[str, torch.Tensor]:
    base = torch.randn(2, 3, 4, 5)
    return {
        "contiguous": base,
        "transposed": base.transpose(1, 3),
        "channels_last": base.to(memory_format=torch.channels_last),
        "permuted": base.permute(2, 0, 3, 1),
        "expanded": torch.randn(3, 1, 5).expand(2, 3, 4, 5),
        "sliced": torch.randn(2, 6, 4, 10)[:, ::2, :, 1::2],
        "zero_dim": torch.randn(()),
        "empty": torch.randn(2, 0, 4),
        "row": torch.randn(5),
        "column": torch.randn(4, 1),
        "ones": torch.randn(1, 1, 1, 1),
        "int": torch.randint(1, 9, (4, 5)),
        "int8": torch.randint(1, 9, (3, 4, 5)).to(torch.int8),
        "bool": torch.ones(4, 5, dtype=torch.bool),
        "double": torch.rand(4, 5, dtype=torch.float64).t().contiguous().t(),
        "int_zero_dim": torch.tensor(3),
        "half": torch.randn(4, 5).to(torch.bfloat16),
    }


def test_no_function_of_ours_runs_where_torch_asks_for_the_device():
    """torch ends the process where one raises there."""
    mode = fake_mode()
    fake = to_fake(mode, torch.randn(3))
    called: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_filename)

    with mode:
        sys.setprofile(note)
        device = torch.Tensor.device.__get__(fake)
        mode.in_kernel_invocation = True
        inside = torch.Tensor.device.__get__(fake)
        mode.in_kernel_invocation = False
        sys.setprofile(None)
    assert (device, inside) == (torch.device("cpu"), torch.device("meta"))
    assert [name for name in called if os.sep + "torch" + os.sep not in name] == []


UNARY = {
    "exp": torch.exp,
    "neg": lambda x: -x,
    "relu": torch.relu,
    "logical_not": torch.logical_not,
    "floor": torch.floor,
    "add_1": lambda x: x + 1,
    "mul_float": lambda x: x * 1.5,
    "rsub": lambda x: 1 - x,
    "div_2": lambda x: x / 2,
    "gt": lambda x: x > 0,
    "floordiv": lambda x: x // 2,
    "floordiv by bool": lambda x: x.int() // (x == x),
    "pow": lambda x: x**2,
    "rpow": lambda x: 2.0**x,
    "clamp": lambda x: x.clamp(0, 1),
    "clamp_min": lambda x: x.clamp(min=0.5),
    "sum": torch.sum,
    "sum_last": lambda x: x.sum(-1),
    "keepdim": lambda x: x.sum(0, keepdim=True),
    "mean": torch.mean,
    "amax": lambda x: x.amax(-1),
    "max": lambda x: x.max(-1),
    "argmax": lambda x: x.argmax(-1),
    "any": lambda x: x.any(-1),
    "all": torch.all,
    "var": lambda x: x.var(-1),
    "var_mean": lambda x: torch.var_mean(x, 0),
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, 0),
    "cumsum": lambda x: x.cumsum(0),
    "clone": torch.clone,
    "contiguous": lambda x: x.contiguous(),
    "double": lambda x: x.double(),
    "zeros_like": torch.zeros_like,
    "to_int": lambda x: x.to(torch.int32),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "gelu": F.gelu,
    "reshape": lambda x: x.reshape(-1),
    "std": lambda x: x.std(),
    "logsumexp": lambda x: x.logsumexp(-1),
    "prod": torch.prod,
    "new": lambda x: x.new_zeros(3),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "add_": lambda x: x.clone().add_(1),
    "true_div_": lambda x: x.clone().div_(2),
    "cat": lambda x: torch.cat([x, x], -1),
    "stack": lambda x: torch.stack([x, x]),
    "select": lambda x: x[0],
    "where": lambda x: torch.where(x > 0, x, 0),
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "chunk": lambda x: x.chunk(2),
    "isnan": torch.isnan,
    "silu": F.silu,
    "pad": lambda x: F.pad(x, (1, 2)),
    "lerp": lambda x: torch.lerp(x, x + 1, 0.5),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=2),
    "leaky": lambda x: F.leaky_relu(x, 0.1),
}


def outcome(function: Any, *args: Any) -> Any:
    """The result of the call, or the type of its exception."""
    try:
        return describe(function(*args))
    except (RuntimeError, IndexError, TypeError, NotImplementedError) as error:
        return "error" if isinstance(error, (RuntimeError, IndexError, TypeError)) else type(error)


@pytest.mark.parametrize("layout", layouts())
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name: str, layout: str) -> None:
    tensor = layouts()[layout]
    mode = fake_mode()
    expected = outcome(UNARY[name], tensor)
    with mode:
        assert outcome(UNARY[name], to_fake(mode, tensor)) == expected


BINARY = {
    "add": torch.add,
    "mul": torch.mul,
    "div": torch.div,
    "lt": torch.lt,
    "maximum": torch.maximum,
    "where": lambda x, y: torch.where(x > y, x, y),
    "remainder": torch.remainder,
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "and": torch.logical_and,
    "add_": lambda x, y: x.clone().add_(y),
    "copy_": lambda x, y: x.clone().copy_(y),
}


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name: str) -> None:
    tensors = layouts()
    for left, right in itertools.product(tensors, tensors):
        expected = outcome(BINARY[name], tensors[left], tensors[right])
        mode = fake_mode()
        with mode:
            found = outcome(BINARY[name], to_fake(mode, tensors[left]), to_fake(mode, tensors[right]))
        assert found == expected, (left, right)


def conv_net(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    y = F.conv2d(x, w, b, padding=1)
    z = F.max_pool2d(F.relu(F.batch_norm(y, torch.zeros(8), torch.ones(8), training=True)), 2)
    p = F.avg_pool2d(z, 2)
    q = F.adaptive_avg_pool2d(p, (1, 1))
    return [y, z, p, q, *torch.autograd.grad(q.sum() + z.sum(), [w, b])]


def classifier(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    y = F.linear(x, w, b)
    target = torch.zeros(y.shape[0], dtype=torch.long)
    loss = F.cross_entropy(F.dropout(F.layer_norm(y, (6,)), 0.3, True), target)
    return [y, loss, *torch.autograd.grad(loss, [w, b])]


def lookup(w: torch.Tensor, index: torch.Tensor) -> list[torch.Tensor]:
    y = F.embedding(index, w)
    g = torch.gather(w, 1, torch.zeros(10, 2, dtype=torch.long))
    total = y.sum() + g.sum() + w[index].sum() + w.index_select(0, index[0]).mean()
    return [y, g, *torch.autograd.grad(total, [w])]


PROGRAMS = {
    "conv": (
        conv_net,
        lambda: (
            torch.randn(2, 3, 8, 8),
            torch.randn(8, 3, 3, 3, requires_grad=True),
            torch.zeros(8, requires_grad=True),
        ),
    ),
    "conv_channels_last": (
        conv_net,
        lambda: (
            torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last),
            torch.randn(8, 3, 3, 3, requires_grad=True),
            torch.zeros(8, requires_grad=True),
        ),
    ),
    "classifier": (
        classifier,
        lambda: (
            torch.randn(5, 4),
            torch.randn(6, 4, requires_grad=True),
            torch.zeros(6, requires_grad=True),
        ),
    ),
    "lookup": (lookup, lambda: (torch.randn(10, 4, requires_grad=True), torch.zeros(2, 3, dtype=torch.long))),
    "matmul": (
        lambda x, y: [
            x @ y,
            x.bmm(y),
            torch.baddbmm(torch.zeros(5), x, y),
            x[0] @ y[0],
            x[0] @ y[0][:, 0],
            x[0, 0] @ y[0, :, 0],
        ],
        lambda: (torch.randn(2, 3, 4), torch.randn(2, 4, 5)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    function, make_inputs = PROGRAMS[name]
    inputs = make_inputs()
    expected = describe(function(*inputs))
    mode = fake_mode()
    fakes = [to_fake(mode, tensor) for tensor in inputs]
    with mode:
        results = function(*fakes)
    assert all(isinstance(result, FakeTensor) for result in results)
    assert describe(results) == expected


def test_twins_share_storage_as_the_tensors_do() -> None:
    mode = fake_mode()
    base = torch.randn(4, 4)
    view, other = base[1:, 2:], torch.randn(4)
    twins = [to_fake(mode, tensor) for tensor in (base, view, other)]
    assert describe(twins) == describe([base, view, other])
    assert (
        twins[0].untyped_storage()._cdata
        == twins[1].untyped_storage()._cdata
        != twins[2].untyped_storage()._cdata
    )
    assert to_fake(mode, view) is twins[1]
    assert to_fake(mode, twins[1]) is twins[1]


def test_leaf_non_leaf_parameter() -> None:
    mode = fake_mode()
    leaf = torch.randn(3, requires_grad=True)
    inner = leaf * 2
    weight = torch.nn.Parameter(torch.randn(3))
    fakes = [to_fake(mode, tensor) for tensor in (leaf, inner, weight)]
    assert [fake.is_leaf for fake in fakes] == [True, False, True]
    assert [fake.requires_grad for fake in fakes] == [True, True, True]
    assert isinstance(fakes[2], torch.nn.Parameter) and not isinstance(fakes[0], torch.nn.Parameter)


class Odd(torch.Tensor):
    pass


VIEWS: dict[str, Any] = {
    "T": lambda x: x.T,
    "permute": lambda x: x.permute(1, 0),
    "mH": lambda x: x.mH,
    "select": lambda x: x[0],
    "expand": lambda x: x.expand(2, 3, 4),
    "diagonal": lambda x: x.diagonal(),
}


@pytest.mark.parametrize("lazily", [torch.conj, torch._neg_view])
@pytest.mark.parametrize("name", VIEWS)
def test_views_keep_the_bits_of_their_base(name: str, lazily: Any) -> None:
    mode, real = fake_mode(), torch.randn(3, 4, dtype=torch.complex64)
    with mode:
        fake = VIEWS[name](lazily(to_fake(mode, real)))
    eager = VIEWS[name](lazily(real))
    assert (fake.is_conj(), fake.is_neg()) == (eager.is_conj(), eager.is_neg())


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.randn(3, dtype=torch.complex64).conj(),
        lambda: torch.randn(3).as_subclass(Odd),
        lambda: torch.empty(3, device="meta"),
        lambda: torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.qint8),
    ],
)
def test_unsupported_tensors(make: Any) -> None:
    with pytest.raises(UnsupportedTensor):
        to_fake(fake_mode(), make())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        lambda x: torch.quantize_per_tensor_dynamic(x, torch.quint8, False),
    ],
    ids=["static", "dynamic"],
)
def test_operators_whose_results_have_no_fake_twin(make: Any) -> None:
    with fake_mode(), pytest.raises(UnsupportedTensor, match="quantised"):
        make(torch.ones(3))


def test_constants_can_be_read_back() -> None:
    with fake_mode():
        assert torch.tensor(2.5).item() == 2.5
        with pytest.raises(torch._subclasses.fake_tensor.DataDependentOutputException):
            torch.zeros(3).sum().item()
        with pytest.raises(torch._subclasses.fake_tensor.DynamicOutputShapeException):
            torch.zeros(3)[torch.zeros(3) > 0]


def test_answers_that_depend_on_data_are_not_made_up() -> None:
    """On zeros, the operator would say that all rows start at the left."""
    mode = fake_mode()
    x, mask = to_fake(mode, torch.randn(2, 4, 3)), to_fake(mode, torch.ones(2, 4).bool())
    with mode, pytest.raises(DataDependentOutputException):
        torch._nested_tensor_from_mask_left_aligned(x, mask)


def test_nothing_barred_is_imported() -> None:
    script = """
import sys, torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import DataDependentOutputException
from codegen.fake.fake import fake_mode
from codegen.fake.twins import to_fake
mode = fake_mode()
w, x = (to_fake(mode, t) for t in (torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)))
with mode:
    y = F.dropout(F.layer_norm(F.gelu(x @ w), (4,)), 0.5, True)
    F.cross_entropy(y, torch.zeros(3, dtype=torch.long)).backward()
    heads = x.reshape(1, 1, 3, 4)
    for drops in (0.0, 0.5):
        F.scaled_dot_product_attention(heads, heads, heads, dropout_p=drops)
    F.scaled_dot_product_attention(*[(w * 2).reshape(1, 1, 4, 4)] * 3).sum().backward()
    F.group_norm((w * 2)[..., None], 2).sum().backward()
    F.binary_cross_entropy(x, x)
    pairs = [x, w.detach()], [x + 1, w.detach()]
    torch._foreach_addcmul_(*pairs, pairs[1], 0.1)
    torch._foreach_norm(torch._foreach_add(*pairs))
    torch.linalg.vector_norm(x), torch.randint(0, 5, (3,)), torch.multinomial(x, 2)
    assert "sympy" not in sys.modules
    torch.linalg.norm(x), torch.fft.fft(x), F.interpolate(x[None], 8), x.std(), torch.special.zeta(x, x)
names = ("torch._dynamo", "torch._inductor", "torch._functorch.aot_autograd")
barred = [m for m in sys.modules if m.startswith(names)]
assert not barred, barred
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_directional_derivatives_leave_the_thread_as_it_was() -> None:
    """torch makes texts of tensors there, for overloads that do not take them. If that fails, the thread's
    switches stay as they were inside.
    """

    def program(x: torch.Tensor, tangent: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.zeros(1, 2, 1, dtype=torch.long)
        return torch.func.jvp(
            lambda item: torch.nn.functional.max_unpool1d(item, places, 1), (x,), (tangent,)
        )

    before = str(torch._C._dispatch_tls_local_exclude_set())
    x = torch.randn(1, 2, 1)
    for expected, found in zip(program(x, x), capture.compile(program)(x, x), strict=True):
        assert torch.equal(expected, found)
    assert str(torch._C._dispatch_tls_local_exclude_set()) == before


def test_a_number_asked_of_a_prim_leaves_the_dispatcher_as_it_was() -> None:
    """Otherwise the operators of the next capture would run on tensors without memory."""
    mode = fake_mode()
    value = to_fake(mode, torch.tensor(2.0))
    with mode, pytest.raises(DataDependentOutputException):
        torch.ops.prims.item.default(value)
    assert not torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.Python)


MIXED_DTYPES: dict[str, Any] = {
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(2), torch.ones(2)),
    "layer_norm": lambda x: F.layer_norm(x, (4,), torch.ones(4)),
    "lerp": lambda x: x.lerp(torch.zeros(4), 0.3),
    "nll_loss": lambda x: F.nll_loss(x[0, 0], torch.zeros(4, dtype=torch.long), torch.ones(4)),
    "cdist": lambda x: torch.cdist(x, torch.ones(2, 2, 4, 4)),
    "cross": lambda x: torch.linalg.cross(x[..., :3], torch.ones(2, 2, 4, 3)),
    "put": lambda x: x.put(torch.tensor([0]), torch.ones(1)),
    "grid_sample": lambda x: F.grid_sample(x, torch.zeros(2, 3, 3, 2), align_corners=False),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", MIXED_DTYPES)
def test_mixed_dtypes_raise_as_in_eager(name: str, dynamic: bool) -> None:
    """Also where nobody reads the result."""
    x = torch.randn(2, 2, 4, 4, dtype=torch.float64)

    def unread(x: torch.Tensor) -> torch.Tensor:
        MIXED_DTYPES[name](x)
        return x * 2

    with pytest.raises(RuntimeError) as expected:
        MIXED_DTYPES[name](x)
    for function in (MIXED_DTYPES[name], unread):
        with pytest.raises(RuntimeError) as found:
            capture.compile(function, dynamic=dynamic)(x)
        assert str(found.value) == str(expected.value)


def _initialized(x: torch.Tensor) -> torch.Tensor:
    return torch._sobol_engine_initialize_state_(torch.zeros(x.shape[0], 30, dtype=torch.long), 8)


def _saturated(x: torch.Tensor) -> torch.Tensor:
    return torch._saturate_weight_to_fp16(x)


def _packed(x: torch.Tensor) -> torch.Tensor:
    return x + len(torch.fbgemm_pack_quantized_matrix(x.to(torch.int8)))


@pytest.mark.filterwarnings("ignore:fbgemm_pack_quantized_matrix")
@pytest.mark.parametrize("function", [_initialized, _saturated, _packed])
def test_kernels_that_read_memory_do_not_run_on_fake_tensors_with_symbolic_sizes(function: Any) -> None:
    """These sizes hide from torch's kernels that there is no memory."""
    x = torch.ones(8, 8)
    assert torch.equal(capture.compile(function, dynamic=True)(x), function(x))
