"""`torch.compile(..., backend="capture")`: native code in the graphs of torch.compile, for all sizes."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest
import torch

from capture.backends import torch_compile
from capture.backends.torch_compile import CompiledAtFirstCall, torch_compile_backend
from codegen.launch.compiled import EagerGraph

SIZES = (3, 5, 7, 2, 1)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def reads_a_size(x):
    return (x.sin() * x.shape[0] + 1).sum(0)


def returns_sizes(x):
    return torch.cat([x * float(x.shape[0]), x + x.shape[0]]), x.shape[0] * 2


def breaks(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def assert_same_gradients(compiled, program, x):
    mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    compiled(mine).sum().backward()
    program(other).sum().backward()
    torch.testing.assert_close(mine.grad, other.grad)


@pytest.mark.parametrize("program", [network(), reads_a_size, breaks], ids=["module", "sizes", "break"])
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_results_and_gradients_at_several_sizes(program, dynamic):
    compiled = torch.compile(program, backend=torch_compile_backend, dynamic=dynamic)
    for size in SIZES:
        x = torch.randn(size, 4)
        torch.testing.assert_close(compiled(x), program(x))
        assert_same_gradients(compiled, program, x)


def test_sizes_among_the_results():
    compiled = torch.compile(returns_sizes, backend=torch_compile_backend, dynamic=True)
    for size in SIZES:
        x = torch.randn(size, 4)
        torch.testing.assert_close(compiled(x), returns_sizes(x))


def test_a_write_to_an_input():
    def adds(x):
        x.add_(1)
        return x.view(-1)

    compiled = torch.compile(adds, backend=torch_compile_backend, dynamic=True)
    for size in (3, 5):
        x = torch.zeros(size, 4)
        assert torch.equal(compiled(x), torch.ones(size * 4))
        assert torch.equal(x, torch.ones(size, 4))


def test_one_compilation_serves_all_sizes(monkeypatch):
    made = []
    backend = torch_compile.torch_compile_backend

    def keeps(gm, inputs, **kwargs):
        made.append(backend(gm, inputs, **kwargs))
        return made[-1]

    compiled = torch.compile(reads_a_size, backend=keeps, dynamic=True, fullgraph=True)
    for size in SIZES[:-1]:
        compiled(torch.randn(size, 4))
    [graph] = made
    assert isinstance(graph, CompiledAtFirstCall)
    assert graph.compiled.symbolic is not None
    assert graph.compiled.compiled == {}, "no graph was compiled for one size alone"


def test_numbers_that_only_a_run_knows():
    made = []

    def keeps(gm, inputs):
        made.append(torch_compile_backend(gm, inputs))
        return made[-1]

    def scales(x):
        return x * x.sum().item()

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(scales, backend=keeps, fullgraph=True)
        for size in (3, 5):
            x = torch.randn(size, 4)
            torch.testing.assert_close(compiled(x), scales(x))
    assert all(isinstance(graph, EagerGraph) for graph in made)


@pytest.mark.parametrize("settings", [{"mode": "reduce-overhead"}, {"options": {"freeze": True}}])
def test_modes_and_options(settings):
    net = network()
    compiled = torch.compile(net, backend=torch_compile_backend, **settings)
    x = torch.randn(3, 4)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), net(x))
        net[0].weight.mul_(2)
        torch.testing.assert_close(compiled(x), net(x))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"mode": "reduce"}, "no mode is named 'reduce'"),
        ({"options": {"frezee": 1}}, "did you mean 'freeze'"),
    ],
)
def test_a_wrong_mode_or_option_is_named(settings, text):
    compiled = torch.compile(reads_a_size, backend=torch_compile_backend, **settings)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=text):
        compiled(torch.ones(3, 4))


def test_the_name_leads_to_the_backend():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["torch_dynamo_backends"]["capture"].partition(":")
    assert getattr(importlib.import_module(module), name) is torch_compile_backend


def test_torch_compile_does_not_capture_our_compiler(caplog):
    """The backward behind a break is compiled while torch.compile looks at each frame."""

    @torch.compile(backend=torch_compile_backend)
    def step(net, x):
        loss = net(x).sum()
        loss.backward()
        return loss.detach()

    net, other, x = network(), network(), torch.randn(3, 4)
    torch.testing.assert_close(step(net, x), other(x).sum().detach())
    other(x).sum().backward()
    torch.testing.assert_close(net[0].weight.grad, other[0].weight.grad)
    assert [record for record in caplog.records if record.name.startswith("capture")] == []
