"""Traces are functional, keep random draws, and record writes; a small graph takes about a millisecond."""

from __future__ import annotations

import operator
import time
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx
from torch._ops import OpOverload

import capture
from codegen.fake.fake import fake_mode
from codegen.kernel.errors import UntraceableError
from codegen.trace.behaviour import behaviour_of, functional_of
from codegen.trace.draws import draw
from codegen.trace.trace import Trace, trace

aten = torch.ops.aten


def traced(function: Any, *inputs: Any) -> tuple[Trace, fx.Graph]:
    mode = fake_mode()
    result = trace(fx.symbolic_trace(function), inputs, mode)
    with mode:
        result.copy_back()
        graph = result.finish([result.output_node(value) for value in result.outputs])
    return result, graph


def calls(graph: fx.Graph) -> list[Any]:
    return [
        node.target
        for node in graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]


def outputs(graph: fx.Graph) -> tuple[Any, ...]:
    return next(node for node in graph.nodes if node.op == "output").args[0]


def test_two_operators() -> None:
    _, graph = traced(lambda x, y: (x * y + 1,), torch.randn(3, 4), torch.randn(4))
    assert calls(graph) == [aten.mul.Tensor, aten.add.Tensor]
    assert [tuple(node.meta["val"].shape) for node in graph.nodes if node.op != "output"] == [
        (3, 4),
        (4,),
        (3, 4),
        (3, 4),
    ]


def test_composites_are_taken_apart() -> None:
    _, graph = traced(
        lambda x, w, b: (F.linear(x, w, b),), torch.randn(2, 3), torch.randn(4, 3), torch.randn(4)
    )
    assert calls(graph) == [aten.t.default, aten.addmm.default]


def test_rewriting_leaves_no_composite_or_normalisation() -> None:
    def function(x: Any, t: Any) -> Any:
        return F.cross_entropy(F.gelu(F.layer_norm(x, (6,))), t), F.softmax(x, 1)

    _, graph = traced(function, torch.randn(5, 6), torch.zeros(5, dtype=torch.long))
    for target in calls(graph):
        assert isinstance(target, OpOverload) and behaviour_of(target).handle in ("pure", "view"), target


def test_a_write_to_an_input_is_copied_back_once() -> None:
    def function(x: Any) -> Any:
        x.add_(1)
        x.mul_(2)
        return x + 1

    result, graph = traced(function, torch.randn(3))
    assert calls(graph) == [aten.add.Tensor, aten.mul.Tensor, aten.add.Tensor, aten.copy_.default]
    copy = next(node for node in graph.nodes if node.target is aten.copy_.default)
    assert copy.args[0].op == "placeholder" and [t.memory.placeholder.name for t in result.written] == ["x"]


def test_no_node_writes_but_the_copies_at_the_end() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y[0].add_(1)
        y.t()[1].zero_()
        return y

    _, graph = traced(function, torch.randn(3, 4))
    assert not any(isinstance(t, OpOverload) and t._schema.is_mutable for t in calls(graph))


def test_random_draws_stay_in_order_even_unused() -> None:
    def function(x: Any) -> Any:
        F.dropout(x, 0.5, True)
        return torch.rand_like(x) + F.dropout(x, 0.1, True)

    _, graph = traced(function, torch.randn(3))
    drawn = [node for node in graph.nodes if node.target in (draw, aten.rand_like.default)]
    assert [node.target for node in drawn] == [draw, aten.rand_like.default, draw]
    assert drawn[0].args[0] is aten.bernoulli_.float and not drawn[0].users


def test_unused_calls_are_dropped() -> None:
    _, graph = traced(lambda x: (x.exp().sum(), x * 2)[1:], torch.randn(3))
    assert calls(graph) == [aten.mul.Tensor]


def test_outputs_that_are_inputs_and_views_of_inputs() -> None:
    def function(x: Any) -> Any:
        row = x[0]
        x.add_(1)
        return x, row, x.t()

    _, graph = traced(function, torch.randn(3, 4))
    itself, row, transposed = outputs(graph)
    assert itself.op == "placeholder"
    assert row.args[0] is itself and transposed.args[0] is itself, (
        "views of the input itself, not of the new value"
    )


def test_constants_are_fresh_in_each_run() -> None:
    module = fx.symbolic_trace(lambda x: (x,))
    with module.graph.inserting_before(list(module.graph.nodes)[1]):
        made = module.graph.call_function(torch.tensor, ([1.0, 2.0],))
    next(n for n in module.graph.nodes if n.op == "output").args = ((made,),)
    module.recompile()
    result = trace(module, [torch.randn(2)], fake_mode())
    graph = result.finish([result.output_node(value) for value in result.outputs])
    assert calls(graph) == [aten.clone.default]


def test_module_tensors_become_inputs() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    module = fx.symbolic_trace(layer)
    result = trace(module, [torch.randn(4, 3)], fake_mode())
    lifted = [layer[0].weight, layer[0].bias, layer[1].weight, layer[1].bias, *layer[1].buffers()]
    assert [a is b for a, b in zip(result.lifted, lifted, strict=True)] == [True] * len(lifted)
    assert len(result.written) == 3, "the running statistics and the count"


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("resize", lambda x: x.resize_(2)),
        ("transpose in place", lambda x: x.t_()),
        ("unfold", lambda x: x.unfold(0, 2, 1).add_(1)),
    ],
)
def test_what_has_no_functional_form_is_refused(name: str, function: Any) -> None:
    with pytest.raises(UntraceableError):
        traced(
            lambda x: (function(x),), torch.randn(4, 4) if name == "transpose in place" else torch.randn(4)
        )


def run_traced(function: Any, *inputs: Any) -> tuple[Any, ...]:
    _, graph = traced(function, *inputs)
    return fx.Interpreter(fx.GraphModule(graph.owning_module, graph)).run(*inputs)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x.clone().t_() @ x,),
        lambda x: (x.clone().unsqueeze_(0).add_(1).squeeze_(0), x),
        lambda x: (x.add(1).transpose_(0, 1).mul_(2).t_().sum(0),),
        lambda x: (torch.arange(0, 4, 2, out=x.new_empty(2)) + x[:2, :2],),
        lambda x: (torch.linalg.det(x, out=x.new_empty(())),),
        lambda x: (torch.sort(x, out=(x.new_empty(0), x.new_empty(0, dtype=torch.int64)))[0] + 1,),
    ],
)
def test_layouts_that_change_in_place(function: Any) -> None:
    x = torch.randn(4, 4)
    for mine, expected in zip(run_traced(function, x), function(x), strict=True):
        assert torch.equal(mine, expected) and mine.stride() == expected.stride()


ONLY_EAGER_KNOWS = {
    "an operand": lambda x: torch.cat([x[:1], x[1:]], out=x),
    "the whole operand": lambda x: torch.cumsum(x, 0, out=x),
    "another dtype": lambda x: torch.aminmax(x, out=(torch.empty(()).double(), torch.empty(()).double())),
    "no integers": lambda x: torch.multinomial(x.abs(), 2, out=torch.empty(4, 2)),
    "a kernel without conversion": lambda x: torch.neg(x, out=torch.empty(4, 4).double()),
    "a rewritten operator": lambda x: torch.softmax(x, 0, out=torch.empty(4, 4).double()),
    "two results": lambda x: torch.cummax(x, 0, out=(torch.empty(4, 4).double(), torch.empty(4, 4).long())),
    "a conversion": lambda x: torch.add(x, 1, out=torch.empty(4, 4).double()),
}


@pytest.mark.parametrize("name", ONLY_EAGER_KNOWS)
def test_tensors_given_for_results_that_only_eager_knows(name: str) -> None:
    function = ONLY_EAGER_KNOWS[name]
    x = torch.randn(4, 4)
    with pytest.raises(UntraceableError, match="a call of aten"):
        run_traced(lambda x: (function(x),), x.clone())
    outcomes: list[Any] = []
    for run in (function, capture.compile(function)):
        try:
            outcomes.append(run(x.clone()))
        except RuntimeError as error:
            outcomes.append(str(error))
    if isinstance(outcomes[0], torch.Tensor):
        assert torch.equal(*outcomes) and outcomes[0].dtype is outcomes[1].dtype
    else:
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("count", [1, 3])
def test_writes_to_pieces_that_autograd_takes_for_tensors_of_their_own(count: int) -> None:
    def function(x: torch.Tensor) -> Any:
        pieces = torch.unsafe_split(x * 1, 2)
        for piece in pieces[:count]:
            piece.mul_(2)
        return pieces

    grads = []
    for run in (function, capture.compile(function)):
        x = torch.ones(6, 2, requires_grad=True)
        grads += torch.autograd.grad(sum(piece.sum() for piece in run(x)), x)
    assert torch.equal(*grads)


def test_a_tensor_given_for_the_result_may_be_an_operand_of_an_elementwise_operator() -> None:
    x = torch.randn(4, 4)
    (found,) = run_traced(lambda x: (torch.add(x, 1, out=x),), x.clone())
    assert torch.equal(found, x + 1)


def test_views_made_before_a_change_of_layout_see_later_writes() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone()
        row = y[0]
        y.t_()
        y[1].mul_(3)
        return (row, y)

    x = torch.randn(2, 3)
    assert all(map(torch.equal, run_traced(function, x), function(x)))


def test_a_written_argument_beside_a_result() -> None:
    x, weight, mean, var = torch.randn(4, 3), torch.ones(3), torch.zeros(3), torch.ones(3)

    def function(x: Any, weight: Any, mean: Any, var: Any) -> Any:
        out = aten._batch_norm_with_update(x, weight, weight, mean, var, 0.5, 1e-5)[0]
        return (out, mean + 1)

    expected = function(x, weight, mean.clone(), var.clone())
    assert all(map(torch.equal, run_traced(function, x, weight, mean.clone(), var.clone()), expected))


def test_writes_to_inputs_on_one_memory_are_refused() -> None:
    base = torch.randn(4)
    with pytest.raises(UntraceableError, match="shares its memory"):
        traced(lambda x, y: (x.add_(1), y), base, base[1:])


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (aten.add_.Tensor, aten.add.Tensor),
        (aten.add.out, aten.add.Tensor),
        (aten.zero_.default, aten.zeros_like.default),
        (aten.index_put_.default, aten.index_put.default),
        (aten.sum.IntList_out, aten.sum.dim_IntList),
        (aten.arange.start_out, aten.arange.start_step),
        (aten.polygamma_.default, aten.polygamma.default),
        (aten.squeeze_.dim, aten.squeeze.dim),
    ],
)
def test_functional_forms(op: OpOverload, expected: OpOverload) -> None:
    behaviour = behaviour_of(op)
    assert behaviour.functional is expected
    assert functional_of(op, op._schema.name.partition("::")[2], {i for i, _ in behaviour.writes}) is expected


def test_inputs_are_not_changed_by_tracing() -> None:
    x = torch.randn(3)
    before = x.clone()
    state = torch.get_rng_state()
    traced(lambda x: (F.dropout(x.add_(1), 0.5, True),), x)
    assert torch.equal(x, before) and x._version == 0 and torch.equal(torch.get_rng_state(), state)


def best_of(count: int, run: Any) -> float:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def test_tracing_is_fast() -> None:
    x, y = torch.randn(4), torch.randn(4)
    small = fx.symbolic_trace(lambda x, y: (x * y + 1,))
    chain = fx.symbolic_trace(lambda x, y: ((((x * y).tanh() * y).exp() + x).sigmoid() * y - x).relu() + 1)
    assert best_of(10, lambda: trace(small, [x, y], fake_mode())) < 2e-3
    assert best_of(10, lambda: trace(chain, [x, y], fake_mode())) < 6e-3


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: torch.add(x[1:], 1, out=x[:-1]),
        lambda x: x.view(2, 2).mul_(x.view(2, 2).T),
    ],
)
def test_writes_to_a_part_of_an_operand_are_left_to_eager(write: Any) -> None:
    """Eager refuses them."""

    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        write(y)
        return y

    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        run(torch.arange(4.0))
    with pytest.raises(UntraceableError, match="a part of one of its operands"):
        traced(run, torch.arange(4.0))


def test_writes_beside_an_operand_are_traced() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[:2].add_(y[2:])
        y[::2].mul_(y[1::2])
        return y.add_(y)

    assert torch.equal(capture.compile(run)(torch.arange(4.0)), run(torch.arange(4.0)))
    traced(run, torch.arange(4.0))
