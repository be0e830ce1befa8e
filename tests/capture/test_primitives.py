"""capture.primitives: what a call does, as primitives that run and compile."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch

import capture
from codegen.compile_fx import compile_fx
from codegen.launch.compiled import EagerGraph

prims = torch.ops.prims


def targets(graph):
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def count(graph, primitive):
    return targets(graph).count(primitive.default)


def check(fn, *args, **kwargs):
    """The graph and its native code give what eager gives, also in the written tensors."""
    graph = capture.primitives(fn)(*args, **kwargs)
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    held = copy.deepcopy(fn) if isinstance(fn, torch.nn.Module) else fn
    given, mine, natives = ([tensor.detach().clone() for tensor in tensors] for _ in range(3))
    rest = iter(given)
    replaced = [next(rest) if isinstance(value, torch.Tensor) else value for value in args]
    named = {k: next(rest) if isinstance(value, torch.Tensor) else value for k, value in kwargs.items()}
    native = compile_fx(graph, natives)
    assert not isinstance(native, EagerGraph), native.reason
    expected = held(*replaced, **named)
    with torch.no_grad():
        found = graph(*mine)
        compiled = native(*natives)
    expected, found = ((value,) if isinstance(value, torch.Tensor) else value for value in (expected, found))
    for results in (found, compiled, mine, natives):
        wanted = expected if results is found or results is compiled else given
        for one, other in zip(results, wanted, strict=True):
            torch.testing.assert_close(one, other.detach())
    return graph


def test_add_of_two_float32_tensors_is_one_add():
    graph = check(torch.add, torch.randn(3, 4), torch.randn(3, 4))
    assert targets(graph) == [prims.add.default]


def test_float16_is_computed_in_float32():
    graph = check(torch.add, torch.randn(3, 4).half(), 1)
    convert = prims.convert_element_type.default
    assert targets(graph) == [convert, prims.add.default, convert]
    there, _, back = [node for node in graph.graph.nodes if node.op == "call_function"]
    assert (there.args[1], back.args[1]) == (torch.float32, torch.float16)


def test_two_float16_operands_and_a_mixed_pair():
    assert (
        count(check(torch.add, torch.randn(4).half(), torch.randn(4).half()), prims.convert_element_type) == 3
    )
    graph = check(torch.add, torch.randn(4).half(), torch.randn(4))  # the result is float32
    assert count(graph, prims.convert_element_type) == 1


def test_sizes_that_differ_are_broadcast():
    graph = check(torch.add, torch.randn(3, 1, 4), torch.randn(5, 4))
    broadcast = prims.broadcast_in_dim.default
    assert targets(graph) == [broadcast, broadcast, prims.add.default]


def test_alpha_is_a_product():
    graph = check(torch.add, torch.randn(3), torch.randn(3), alpha=2)
    assert targets(graph) == [prims.mul.default, prims.add.default]


def test_out_is_a_copy():
    out = torch.zeros(3)
    graph = check(torch.add, torch.randn(3), torch.randn(3), out=out)
    assert targets(graph) == [prims.add.default, prims.copy_to.default]
    assert out.any()  # the call has run


def test_out_can_be_named():
    x, y, out = torch.randn(3), torch.randn(3), torch.zeros(3)
    graph = capture.primitives(torch.add)(x, y, out=torch.zeros(3))
    assert graph(x, y, out=out) is out
    assert torch.equal(out, x + y)


def test_out_of_an_integer_dtype_raises_eagers_error():
    out = torch.zeros(3, dtype=torch.long)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        capture.primitives(torch.add)(torch.randn(3), torch.randn(3), out=out)


def test_the_trace_is_printed(capsys):
    capture.primitives(torch.add)(torch.ones(3, 1, 4), torch.ones(5, 4))
    assert capsys.readouterr().out.splitlines() == [
        "add(arg0: f32[3, 1, 4], arg1: f32[5, 4])",
        "  broadcast_in_dim = prims.broadcast_in_dim(arg0, [3, 5, 4], [0, 1, 2])  # f32[3, 5, 4]",
        "  broadcast_in_dim_1 = prims.broadcast_in_dim(arg1, [3, 5, 4], [1, 2])  # f32[3, 5, 4]",
        "  add = prims.add(broadcast_in_dim, broadcast_in_dim_1)  # f32[3, 5, 4]",
        "  return add",
    ]


def layer_norm_and_gelu(x, scale):
    x = torch.nn.functional.layer_norm(x, (8,)) * scale
    return torch.nn.functional.gelu(x), x.softmax(-1)


def write_a_row(x):
    x[1].add_(1)
    return x.T


def result_made_before_the_write(x):
    y = x.clone()
    x.mul_(2)
    return y, x[0]


@pytest.mark.parametrize(
    "fn, shapes",
    [
        (layer_norm_and_gelu, [(4, 8), (8,)]),
        (lambda x, y: torch.where(x > y, x, y).flip(0).cumsum(0), [(4, 6), (4, 6)]),
        (lambda x: (x.reshape(6, 4), x.sum(0), x.var(1)), [(4, 6)]),
        (lambda x: torch.nn.functional.pad(x, (1, 2, 0, 1), value=3.0), [(4, 6)]),
        (lambda x: torch.nn.functional.pad(x, (0, 0)), [(4, 6)]),
        (lambda x: torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho")), [(4, 6)]),
    ],
)
def test_functions_are_primitives_alone(fn, shapes):
    graph = check(fn, *map(torch.randn, shapes))
    assert graph.meta["kept"] == {}
    assert {target.namespace for target in targets(graph)} == {"prims"}


@pytest.mark.parametrize(
    "fn", [write_a_row, result_made_before_the_write, lambda x: x.split(2), lambda x: x[1:, ::2].diagonal()]
)
@pytest.mark.parametrize("make", [torch.clone, lambda x: x.repeat(3, 1)[4:8], lambda x: x.T])
def test_parts_of_tensors_of_any_layout(fn, make):
    x = make(torch.randn(4, 4))
    graph = capture.primitives(fn)(x)
    assert torch.ops.prims.as_strided.default not in targets(graph)
    whole = torch.randn(80)
    one, other = (whole.clone().as_strided(x.shape, x.stride(), x.storage_offset() + 5) for _ in range(2))
    torch.testing.assert_close(graph(one), fn(other))
    torch.testing.assert_close(one, other)


def test_views_of_arguments_stay_views():
    x = torch.randn(3, 4)
    graph = capture.primitives(lambda x: x.T)(x)
    assert graph(x).data_ptr() == x.data_ptr()
    copied = capture.primitives(lambda x: x.clone())(x)
    assert copied(x).data_ptr() != x.data_ptr()


def test_parameters_are_attributes():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
    x = torch.randn(2, 4)
    graph = check(model, x)
    assert [node.name for node in graph.graph.nodes if node.op == "placeholder"] == ["input_1"]
    assert {id(parameter) for parameter in graph.parameters()} == {id(p) for p in model.parameters()}
    assert list(graph.meta["kept"]) == ["aten.mm.default"]
    assert "aten.mm" in graph.code


def test_buffers_are_written():
    model = torch.nn.BatchNorm1d(4)
    x = torch.randn(8, 4)
    graph = capture.primitives(model)(x)
    reference = copy.deepcopy(model)
    with torch.no_grad():
        graph(x)
    reference(x)
    torch.testing.assert_close(model.running_var, reference.running_var)
    assert model.num_batches_tracked == reference.num_batches_tracked == 2


class Odd(torch.nn.Module):
    """Its parameters have names that a graph module uses itself."""

    def __init__(self):
        super().__init__()
        self.code = torch.nn.Parameter(torch.ones(3))
        self.graph = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        return x * self.code + self.graph


def test_names_of_attributes_do_not_hide_the_graph():
    check(Odd(), torch.randn(3))


def test_casts_of_autocast_are_in_the_graph():
    x, w = torch.randn(2, 3), torch.randn(4, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        graph = capture.primitives(torch.nn.functional.linear)(x, w)
        expected = torch.nn.functional.linear(x, w)
    assert count(graph, prims.convert_element_type) == 2
    assert torch.equal(graph(x, w), expected)


def test_native_code_has_gradients():
    x, y = torch.randn(3, 1, requires_grad=True), torch.randn(4, requires_grad=True)
    graph = capture.primitives(torch.mul)(x, y)
    native = compile_fx(graph, [x, y])
    found = torch.autograd.grad(native(x, y)[0].sum(), [x, y])
    for one, other in zip(found, torch.autograd.grad((x * y).sum(), [x, y])):
        torch.testing.assert_close(one, other)


def test_random_operators_stay_calls():
    x = torch.randn(8)
    graph = capture.primitives(torch.nn.functional.dropout)(x)
    assert "draws random numbers" in graph.meta["kept"]["aten.bernoulli_.float"]
    torch.manual_seed(3)
    found = graph(x)
    torch.manual_seed(3)
    assert torch.equal(found, torch.nn.functional.dropout(x))


def test_nested_arguments_are_placeholders():
    a, b = torch.randn(3), torch.randn(3)
    graph = capture.primitives(torch.cat)([a, b])
    assert [node.name for node in graph.graph.nodes if node.op == "placeholder"] == ["arg0_0", "arg0_1"]
    assert torch.equal(graph(b, a), torch.cat([b, a]))


def test_a_tensor_given_twice_is_one_argument():
    x = torch.randn(3)
    graph = capture.primitives(torch.add)(x, x)
    assert torch.equal(graph(x), x + x)
    with pytest.raises(TypeError):
        graph(x, x)


@pytest.mark.parametrize("other", [torch.randn(5, 4), torch.randn(3, 4).double(), torch.randn(4, 3).T, 2.0])
def test_other_sizes_and_dtypes_are_refused(other):
    graph = capture.primitives(torch.mean)(torch.randn(3, 4))
    with pytest.raises(TypeError, match=r"arg0: f32\[3, 4\]"):
        graph(other)


def branch(x):
    if x.sum() > 0:
        return x
    return -x


@pytest.mark.parametrize(
    "fn, message",
    [
        (branch, r"branch is not one graph: a branch depends .*test_primitives.py:\d+"),
        (lambda x: x.sum().item(), "DataDependentOutputException"),
        (lambda x: x.nonzero(), "DynamicOutputShapeException"),
        (lambda x: 3, "calls no operator"),
        (lambda x: x + 1 if x.tolist()[0] > 2 else x, "is not one graph"),
    ],
)
def test_what_is_not_one_graph_is_an_error(fn, message):
    with pytest.raises(capture.UsageError, match=message):
        capture.primitives(fn)(torch.randn(3))


def test_wrong_use():
    with pytest.raises(capture.UsageError, match="a function or a module, not 3"):
        capture.primitives(3)
    with pytest.raises(capture.UsageError, match=r"write capture.primitives\(fn\)\(\*args\)"):
        capture.primitives(torch.add, torch.ones(3))
    with pytest.raises(capture.ArgumentError):
        capture.primitives(torch.add, fullgraph=True)


def raises(x):
    raise KeyError("mine")


def test_errors_of_the_program_pass_through():
    with pytest.raises(KeyError, match="mine"):
        capture.primitives(raises)(torch.ones(3))
    with pytest.raises(RuntimeError, match="must match the size"):
        capture.primitives(torch.add)(torch.ones(3), torch.ones(4))


PROGRAM = """
import sys, torch, capture
from codegen.compile_fx import compile_fx
x = torch.randn(3, 1)
graph = capture.primitives(torch.softmax)(x, 0)
compile_fx(graph, [x])(x)
barred = ("torch._dynamo", "torch._inductor", "torch._functorch.aot")
print([name for name in sys.modules if name.startswith(barred)])
"""


@pytest.mark.slow
def test_torchs_compiler_is_not_imported():
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
