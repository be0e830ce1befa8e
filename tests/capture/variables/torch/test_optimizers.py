"""Training loops with torch.optim: parameters, gradients and state as in eager, few graphs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters

O = torch.optim
STEPS = 8
#: name -> (optimizer, whether its step is one graph)
OPTIMIZERS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "sgd": (lambda p: O.SGD(p, lr=0.1), True),
    "sgd_nesterov": (lambda p: O.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01), True),
    "sgd_maximize": (lambda p: O.SGD(p, lr=0.1, maximize=True, momentum=0.5, dampening=0.1), True),
    "adam": (lambda p: O.Adam(p, lr=0.01), True),
    "adam_amsgrad": (lambda p: O.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1), True),
    "adam_fused": (lambda p: O.Adam(p, lr=0.01, fused=True), True),
    "adamw_fused": (lambda p: O.AdamW(p, lr=0.01, fused=True), True),
    "sgd_fused": (lambda p: O.SGD(p, lr=0.01, fused=True), True),
    "adagrad_fused": (lambda p: O.Adagrad(p, lr=0.01, fused=True), True),
    "adamw": (lambda p: O.AdamW(p, lr=0.01), True),
    "rmsprop": (lambda p: O.RMSprop(p, lr=0.01, momentum=0.9, centered=True), True),
    "adagrad": (lambda p: O.Adagrad(p, lr=0.01, lr_decay=0.1), True),
    "adadelta": (lambda p: O.Adadelta(p), True),
    "adamax": (lambda p: O.Adamax(p), True),
    "nadam": (lambda p: O.NAdam(p), True),
    "rprop": (lambda p: O.Rprop(p), True),
    "radam": (lambda p: O.RAdam(p), False),
    "asgd": (lambda p: O.ASGD(p), False),
    "adafactor": (lambda p: O.Adafactor(p), False),
    "adam_foreach": (lambda p: O.Adam(p, lr=0.01, foreach=True), True),
    "adamw_foreach": (lambda p: O.AdamW(p, lr=0.01, foreach=True, amsgrad=True), True),
    "nadam_foreach": (lambda p: O.NAdam(p, foreach=True), True),
    "adamax_foreach": (lambda p: O.Adamax(p, foreach=True), True),
    "adagrad_foreach": (lambda p: O.Adagrad(p, lr_decay=0.1, foreach=True), True),
    "adam_tensor_lr": (lambda p: O.Adam(p, lr=torch.tensor(0.01)), True),
    "sgd_tensor_lr": (lambda p: O.SGD(p, lr=torch.tensor(0.1), momentum=0.9), True),
}


def plain_loop(model: Any, optimizer: Any, batches: Any) -> None:
    for x in batches:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def trained(make: Any, backend: str | None, loop: Any = plain_loop, **kept: Any) -> list[Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    optimizer = make(model.parameters())
    batches = [torch.randn(5, 4) for _ in range(STEPS)]
    if backend is None:
        loop(model, optimizer, batches)
    else:
        with capture.enable(backend=backend), config.patch(raise_on_error=True):
            loop(model, optimizer, batches)
    state = [value for held in optimizer.state.values() for value in held.values()]
    return [
        *model.parameters(),
        *(p.grad for p in model.parameters()),
        *state,
        optimizer.param_groups[0]["lr"],
    ]


def assert_alike(left: list[Any], right: list[Any], exactly: bool) -> None:
    assert len(left) == len(right)
    for one, two in zip(left, right):
        if isinstance(one, torch.Tensor) and not exactly:
            torch.testing.assert_close(one, two)
        elif isinstance(one, torch.Tensor):
            assert one.dtype == two.dtype and torch.equal(one, two)
        else:
            assert one == two


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    capture.reset()
    counters.clear()
    yield
    capture.reset()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_that_of_eager_mode(name: str) -> None:
    make, whole = OPTIMIZERS[name]
    expected = trained(make, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if whole else "ignore", capture.CaptureWarning)
        assert_alike(trained(make, "eager"), expected, exactly=True)
    if whole:
        # The first forward; the first step with the rest of an unrolled iteration; the step with state; the
        # forward of a later iteration.
        assert counters["graphs"]["compiled"] <= 4
        assert sum(counters["recompiles"].values()) <= 1


NATIVE = [
    "sgd", "sgd_nesterov", "sgd_maximize", "sgd_tensor_lr", "adam", "adam_amsgrad", "adam_foreach",
    "adam_fused", "adam_tensor_lr", "adamw", "adamw_foreach", "nadam",
]  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_native_training(name: str) -> None:
    make, _ = OPTIMIZERS[name]
    assert_alike(trained(make, "llvm"), trained(make, None), exactly=False)


@pytest.mark.parametrize(
    "name",
    ["adam", "adam_foreach", "adamw_foreach", "adam_fused", "adamw_fused", "sgd_fused", "adagrad_fused"],
)
def test_learning_rates_of_a_schedule_need_one_graph(name: str) -> None:
    def loop(model: Any, optimizer: Any, batches: Any) -> None:
        schedule = O.lr_scheduler.CosineAnnealingLR(optimizer, 20)
        for x in batches:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            schedule.step()

    make = OPTIMIZERS[name][0]
    assert_alike(trained(make, "eager", loop), trained(make, None, loop), exactly=True)
    assert counters["graphs"]["compiled"] <= 5


def test_the_first_change_of_a_learning_rate_makes_no_recompile() -> None:
    weight = torch.ones(3, requires_grad=True)
    optimizer = O.AdamW([weight], lr=0.1)
    step = capture.compile(optimizer.step, backend="eager")
    weight.grad = torch.ones(3)
    for _ in range(2):
        step()  # the first one makes the state
    before = counters["recompiles"].total()
    for lr in (0.2, 0.3):
        optimizer.param_groups[0]["lr"] = lr
        step()
    assert counters["recompiles"].total() == before


def test_gradients_that_come_and_go() -> None:
    def loop(model: Any, optimizer: Any, batches: Any) -> None:
        for number, x in enumerate(batches):
            optimizer.zero_grad(set_to_none=number % 2 == 0)
            part = model[0] if number % 3 == 1 else model
            part(x).square().mean().backward()
            optimizer.step()

    for name in ("sgd_nesterov", "adam"):
        make = OPTIMIZERS[name][0]
        assert_alike(trained(make, "eager", loop), trained(make, None, loop), exactly=True)


def test_clipping() -> None:
    def loop(model: Any, optimizer: Any, batches: Any) -> None:
        for x in batches:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.01)
            optimizer.step()

    make = OPTIMIZERS["adamw"][0]
    assert_alike(trained(make, "eager", loop), trained(make, None, loop), exactly=True)


F32, F64 = torch.float32, torch.float64
CLIPPINGS: dict[str, tuple[Callable[[Any], Any], list[torch.dtype], int]] = {
    "norm": (lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0), [F32] * 3, 16),
    "foreach": (lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0, foreach=True), [F32] * 3, 16),
    "maximum": (
        lambda p: torch.nn.utils.clip_grad_norm_(iter(p), 0.1, norm_type=float("inf")),
        [F32] * 3,
        16,
    ),
    "value": (lambda p: torch.nn.utils.clip_grad_value_(p, 0.1), [F32] * 3, 4),
    "total": (lambda p: torch.nn.utils.get_total_norm([q.grad for q in p]), [F32] * 3, 11),
    "two types": (lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1, norm_type=3.0), [F32, F64, F32], 19),
}


@pytest.mark.parametrize("name", CLIPPINGS)
def test_clipping_is_one_graph(name: str) -> None:
    clip, dtypes, operations = CLIPPINGS[name]

    def clipped(function: Any) -> list[Any]:
        torch.manual_seed(0)
        parameters = [torch.nn.Parameter(torch.randn(n + 2, 3, dtype=d)) for n, d in enumerate(dtypes)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        return [function(parameters), *(parameter.grad for parameter in parameters)]

    expected = clipped(clip)
    counters.clear()
    with config.patch(raise_on_error=True):
        found = clipped(capture.compile(clip, backend="eager", fullgraph=True))
    assert_alike(found, expected, exactly=True)
    assert dict(counters["graphs"]) == {"compiled": 1, "calls_captured": operations}


def test_a_step_as_a_function_runs_kernels() -> None:
    """The loss leaves it as a view of the forward's result: the graph after the backward writes to
    parameters, and records nothing.
    """
    from codegen.launch import compiled

    def loop(model: Any, optimizer: Any, batches: Any) -> None:
        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss.detach()

        for x in batches:
            losses.append(step(x))

    make, losses = OPTIMIZERS["adamw"][0], []
    expected = trained(make, None, loop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "run_eagerly", None)  # nothing may run operator by operator
        found = trained(make, "llvm", loop)
    assert_alike(found, expected, exactly=False)
    assert_alike(losses[STEPS:], losses[:STEPS], exactly=False)


def test_step_hooks_run() -> None:
    calls: list[str] = []

    def loop(model: Any, optimizer: Any, batches: Any) -> None:
        optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
        optimizer.register_step_post_hook(lambda *_: calls.append("after"))
        plain_loop(model, optimizer, batches)

    make = OPTIMIZERS["adam"][0]
    assert_alike(trained(make, "eager", loop), trained(make, None, loop), exactly=True)
    assert calls == ["before", "after"] * STEPS * 2


def test_closure_of_lbfgs() -> None:
    def loop(model: Any, optimizer: Any, batches: Any) -> None:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = model(batches[0]).square().mean()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)

    def run(backend: str | None) -> list[Any]:
        return trained(lambda p: O.LBFGS(p, max_iter=4), backend, loop)[:8]

    assert_alike(run("eager"), run(None), exactly=True)


def test_a_float_that_changes_is_an_input() -> None:
    def scaled(x: Any, factor: float) -> Any:
        return x * factor + (factor * 2 - 1) * x.sum(), torch.add(x, x, alpha=factor), factor

    captured = capture.compile(scaled, backend="eager")
    x = torch.randn(3)
    for factor in (0.5, 0.7, 1.1, 1e30, 2.5, -0.0):
        expected, got = scaled(x, factor), captured(x, factor)
        assert all(torch.equal(a, b) for a, b in zip(expected[:2], got[:2])) and str(expected[2]) == str(
            got[2]
        )
    assert counters["graphs"]["compiled"] == 2


@pytest.mark.parametrize(
    "result",
    [
        lambda x, s: x + 1 / s,
        lambda x, s: x + (-s) ** 0.5 if s < 0 else x * 2 * s,
        lambda x, s: x.clamp(max=s),
    ],
)
def test_floats_that_must_stay_python_numbers(result: Any) -> None:
    captured = capture.compile(result, backend="eager")
    x = torch.arange(3)
    for s in (0.5, 0.7, -2.0, 0.0, 3.5):
        try:
            expected = result(x, s)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                captured(x, s)
            continue
        got = captured(x, s)
        assert got.dtype == expected.dtype and torch.equal(got, expected)


def test_decisions_on_a_changing_float() -> None:
    def chosen(x: Any, s: float) -> Any:
        return (x + s, "big") if s > 1 else (x - s, f"small {s}")

    captured = capture.compile(chosen, backend="eager")
    x = torch.ones(2)
    for s in (0.5, 0.7, 1.5, 2.5, 0.1):
        assert str(captured(x, s)) == str(chosen(x, s))


#: name -> kernels of a step over parameters that have one or more dimensions; the counter of steps may need
#: its own kernel
KERNELS = {
    "sgd": 1, "sgd_nesterov": 1, "sgd_maximize": 1, "sgd_tensor_lr": 1, "adam": 2, "adam_amsgrad": 2,
    "adamw": 2, "adam_tensor_lr": 2, "rmsprop": 2,
    "adagrad": 2, "adadelta": 2, "adamax": 2, "nadam": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("count", [4, 40])
def test_a_step_is_one_kernel_for_any_number_of_parameters(name: str, count: int) -> None:
    """The parameters have different shapes. They require grad, but are written without grad mode."""
    from codegen.launch import assembly

    make, _ = OPTIMIZERS[name]
    parameters = [torch.nn.Parameter(torch.randn(7, 5 + i % 3)) for i in range(count)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer, made = make(parameters), []
    link = assembly.link
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "link", lambda *args: made.append(link(*args)) or made[-1])
        step = capture.compile(optimizer.step)
        for _ in range(3):
            step()
    assert made and not any(graph.extern_calls for graph in made)
    assert len(made[-1].kernels) == KERNELS[name]


@pytest.mark.parametrize(
    ("name", "dtype", "fewest", "most"),
    [("adamw", torch.float32, 2, 9), ("sgd", torch.float64, 1, 9), ("adamw", torch.bfloat16, 80, 400)],
)
def test_a_step_is_one_operation_over_lists(name: str, dtype: torch.dtype, fewest: int, most: int) -> None:
    """In half precision, eager's loop rounds after each operation: so does the graph."""
    parameters = [torch.nn.Parameter(torch.randn(7, 5).to(dtype)) for _ in range(10)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = OPTIMIZERS[name][0](parameters)
    optimizer.step()  # makes the state
    step = capture.compile(optimizer.step)
    step()
    assert fewest <= counters["graphs"]["calls_captured"] <= most


def test_parameters_on_one_memory_are_updated_one_after_the_other() -> None:
    def stepped(compile: Any) -> torch.Tensor:
        torch.manual_seed(0)
        memory = torch.randn(40)
        parameters = [
            torch.nn.Parameter(memory[:25]),
            torch.nn.Parameter(memory[10:35]),
            torch.nn.Parameter(torch.randn(25)),
        ]
        for parameter in parameters:
            parameter.grad = torch.randn(25)
        step = compile(O.SGD(parameters, lr=0.1, weight_decay=0.5).step)
        for _ in range(3):
            step()
        return memory

    torch.testing.assert_close(stepped(capture.compile), stepped(lambda step: step))


CLIPPING: dict[str, Callable[[Any], Any]] = {
    "norm": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1),
    "largest": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1, norm_type=float("inf")),
    "one by one": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1, foreach=False),
    "value": lambda p: torch.nn.utils.clip_grad_value_(p, 0.1),
}


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", CLIPPING)
def test_gradients_are_clipped_in_one_graph(name, mixed):
    clip = CLIPPING[name]

    def parameters():
        torch.manual_seed(0)
        made = [torch.nn.Parameter(torch.randn(3, n)) for n in (2, 4)]
        if mixed:
            made.insert(1, torch.nn.Parameter(torch.randn(5, dtype=torch.float64)))
        for parameter in made:
            parameter.grad = torch.randn_like(parameter)
        return made

    eager, captured = parameters(), parameters()
    expected = clip(eager)
    got = capture.compile(clip, backend="eager", fullgraph=True)(captured)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close([p.grad for p in captured], [p.grad for p in eager])


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("kind", [O.AdamW, O.NAdam, O.SGD])
def test_schedules_of_all_numbers_take_no_graph_for_each_step(kind, foreach):
    """OneCycleLR changes the learning rate and `betas[0]` (or the momentum) at each step."""

    def trained(run):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 3).double()
        given = {"momentum": 0.9} if kind is O.SGD else {}
        optimizer = kind(model.parameters(), lr=1e-2, foreach=foreach, **given)
        schedule = O.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=20)
        step = run(optimizer.step)
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.randn(5, 4).double()).square().sum().backward()
            step()
            schedule.step()
        return [p.detach() for p in model.parameters()]

    expected = trained(lambda step: step)
    capture.reset()
    counters.clear()
    with config.patch(raise_on_error=True):
        found = trained(capture.compile)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
    assert counters["graphs"]["compiled"] <= 4
