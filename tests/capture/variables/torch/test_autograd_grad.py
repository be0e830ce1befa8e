"""`torch.autograd.grad` and leaves in captured frames, against eager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import Variable, grad
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

import capture
from capture.report.config import config
from capture.report.counters import counters

HOOKS = ("pep523", "settrace")


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    with config.patch(raise_on_error=True, when="first"):
        capture.reset()
        yield
    capture.reset()


def net(inputs: int = 3, outputs: int = 1) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, 8), nn.Softplus(), nn.Linear(8, outputs)
    )


def compare(program: Callable[..., Any], hook: str = "pep523", breaks: int | None = 0, calls: int = 3) -> Any:
    """Runs `program(run)`, where `run` is a decorator for functions: nothing, then what captures them."""
    torch.manual_seed(1)
    expected = [program(lambda function: function) for _ in range(calls)]
    torch.manual_seed(1)
    found = [program(lambda function: capture.enable(hook=hook)(function)) for _ in range(calls)]
    assert_close(found, expected)
    if breaks is not None:
        assert counters["graph_breaks"].total() == breaks, counters["graph_breaks"]
    return found


def assert_close(found: Any, expected: Any) -> None:
    for one, other in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6, equal_nan=True)
            assert (one.requires_grad, one.is_leaf) == (other.requires_grad, other.is_leaf)
        else:
            assert one == other


def gradients_of(model: nn.Module) -> list[torch.Tensor | None]:
    return [p.grad for p in model.parameters()]


# --- programs ----------------------------------------------------------------------------------------------


def gradient_penalty(run: Any) -> Any:
    critic = net()

    @run
    def penalty(real: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
        share = torch.rand(real.size(0), 1).expand_as(real)
        between = (share * real + (1 - share) * made.detach()).requires_grad_(True)
        score = critic(between)
        slope = grad(
            outputs=score, inputs=between, grad_outputs=torch.ones_like(score),
            create_graph=True, retain_graph=True, only_inputs=True,
        )[0]  # fmt: skip
        slope = slope.view(slope.size(0), -1)
        return critic(made).mean() - critic(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()

    loss = penalty(torch.randn(5, 3), torch.randn(5, 3))
    loss.backward()
    return loss.detach(), gradients_of(critic)


def gradient_penalty_in_a_step(run: Any) -> Any:
    """The sample requires grad, because the generator made it."""
    critic, generator = net(), net(outputs=3)
    optimizer = torch.optim.SGD(critic.parameters(), 0.1)

    @run
    def loss_of(real: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        between = 0.3 * real + 0.7 * generator(noise)
        between = Variable(between.data, requires_grad=True)
        score = critic(between)
        (slope,) = grad(score, between, torch.ones_like(score), create_graph=True)
        return score.mean() + ((slope.norm(2, dim=1) - 1) ** 2).mean()

    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of(torch.randn(5, 3), torch.randn(5, 3))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, gradients_of(critic), list(generator.parameters())


def heat_equation(run: Any) -> Any:
    model = net(2)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)

    @run
    def residual(points: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
        x = points.clone().requires_grad_(True)
        t = times.clone().requires_grad_(True)
        u = model(torch.cat([x, t], dim=1))
        u_x, u_t = grad(u, [x, t], torch.ones_like(u), create_graph=True)
        u_xx = grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        return (u_t + u * u_x - 0.1 * u_xx).square().mean()

    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = residual(torch.rand(6, 1), torch.rand(6, 1))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, list(model.parameters())


def heat_equation_at_given_points(run: Any) -> Any:
    """The points are leaves of the program."""
    model = net(2)
    x, t = torch.rand(6, 1, requires_grad=True), torch.rand(6, 1, requires_grad=True)

    @run
    def residual() -> torch.Tensor:
        u = model(torch.cat([x, t], dim=1))
        u_x = grad(u.sum(), x, create_graph=True)[0]
        u_t = grad(u.sum(), t, create_graph=True)[0]
        u_xx = grad(u_x.sum(), x, create_graph=True)[0]
        return (u_t - u_xx).square().mean()

    losses = []
    for _ in range(3):
        loss = residual()
        loss.backward()
        losses.append(loss.detach())
    return losses, x.grad, t.grad, gradients_of(model)


def fast_gradient_sign(run: Any) -> Any:
    model = net(4, 3)

    @run
    def attack(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        images = images.clone().detach()
        images.requires_grad = True
        cost = F.cross_entropy(model(images), labels)
        slope = grad(cost, images, retain_graph=False, create_graph=False)[0]
        return torch.clamp(images + 0.1 * slope.sign(), 0, 1).detach()

    return attack(torch.rand(5, 4), torch.randint(3, (5,))), gradients_of(model)


def projected_descent(run: Any) -> Any:
    model = net(4, 3)

    @run
    def attack(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        moved = (images + torch.empty_like(images).uniform_(-0.1, 0.1)).clamp(0, 1).detach()
        for _ in range(3):
            moved.requires_grad_()
            with torch.enable_grad():
                cost = F.cross_entropy(model(moved), labels)
            slope = grad(cost, [moved])[0]
            moved = moved.detach() + 0.03 * slope.sign()
            moved = torch.min(torch.max(moved, images - 0.1), images + 0.1).clamp(0, 1)
        return moved

    return attack(torch.rand(5, 4), torch.randint(3, (5,))), gradients_of(model)


def inner_step(run: Any) -> Any:
    weights = [torch.full((3, 4), 0.1, requires_grad=True), torch.zeros(4, requires_grad=True)]

    def predict(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (x @ w + b).tanh().sum(1)

    @run
    def outer(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = F.mse_loss(predict(x, *weights), y)
        grads = grad(loss, weights, create_graph=True)
        stepped = [w - 0.4 * g for w, g in zip(weights, grads)]
        return F.mse_loss(predict(x, *stepped), y)

    loss = outer(torch.rand(5, 3), torch.rand(5))
    loss.backward()
    return loss.detach(), [w.grad for w in weights]


def hessian_product(run: Any) -> Any:
    model = net()

    @run
    def product(x: torch.Tensor, *direction: torch.Tensor) -> Any:
        weights = list(model.parameters())
        loss = model(x).square().mean()
        grads = grad(loss, model.parameters(), create_graph=True)
        inner = sum((g * d).sum() for g, d in zip(grads, direction))
        return grad(inner, weights, retain_graph=False)

    return product(torch.rand(5, 3), *[torch.rand(p.shape) for p in model.parameters()])


def score_matching(run: Any) -> Any:
    model = net(3)

    @run
    def loss_of(samples: torch.Tensor) -> torch.Tensor:
        samples = samples.detach().requires_grad_()
        energy = -model(samples)
        score = grad(energy.sum(), samples, create_graph=True)[0]
        trace = torch.zeros(samples.size(0))
        for i in range(samples.size(1)):
            trace = trace + grad(score[:, i].sum(), samples, create_graph=True, retain_graph=True)[0][:, i]
        return (trace + 0.5 * score.square().sum(1)).mean()

    loss = loss_of(torch.randn(4, 3))
    loss.backward()
    return loss.detach(), gradients_of(model)


def gradients_as_results(run: Any) -> Any:
    """The gradients have derivatives themselves, or none."""
    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)

    @run
    def slopes() -> Any:
        y = (x.sin() * x).sum()
        (kept,) = grad(y, x, create_graph=True)
        (cut,) = grad(kept.sum(), x, retain_graph=True)
        return kept, cut, y

    kept, cut, y = slopes()
    return kept.detach(), cut, grad(kept.exp().sum(), x, retain_graph=True), grad(y, x)


def unused(run: Any) -> Any:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

    @run
    def slopes() -> Any:
        y = (x * 2).square().sum()
        first, none = grad(y, [x, w], allow_unused=True, retain_graph=True)
        second, zeros = grad(y, [x, w], materialize_grads=True)
        return first, none is None, second, zeros

    return slopes()


def without_grad_mode(run: Any) -> Any:
    model = net()

    @run
    def guide(x: torch.Tensor) -> Any:
        with torch.no_grad():
            y = x * 2
            with torch.enable_grad():
                leaf = y.detach().requires_grad_(True)
                energy = model(leaf).sum()
            step = grad(energy, leaf)[0]
            return y - 0.1 * step

    return guide(torch.rand(4, 3))


def given_gradients(run: Any) -> Any:
    """A gradient that comes through unchanged is the tensor that was given."""
    x, way = torch.ones(3, requires_grad=True), torch.arange(3.0)

    @run
    def slopes(way: torch.Tensor) -> Any:
        y = x + 1
        (same,) = grad(y, x, way)
        same.add_(1)
        return same is way, same, way * 1

    return slopes(way), way


def converted_inputs(run: Any) -> Any:
    """Both inputs have a history in front of the frame, one that does not lead to the other."""
    model = net(2)

    @run
    def residual(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        u = model(torch.cat([x, t], 1))
        u_t = grad(u, t, torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        u_x = grad(u, x, torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        u_xx = grad(u_x, x, torch.ones_like(u_x), retain_graph=True, create_graph=True)[0]
        return u_t + u * u_x - 0.1 * u_xx

    points = torch.rand(6, 2, dtype=torch.float64)
    first, second = (points[:, i : i + 1].clone().requires_grad_() for i in range(2))
    loss = residual(first.float(), second.float()).square().mean()
    loss.backward()
    return loss, first.grad, second.grad, gradients_of(model)


def inputs_of_one_operation(run: Any) -> Any:
    @run
    def slope(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return grad((x * y.sin()).sum(), y, create_graph=True)[0] * 2

    both = torch.rand(2, 3, requires_grad=True)
    found = slope(*both.unbind())
    return found, grad(found.sum(), both)


PROGRAMS = [
    converted_inputs, inputs_of_one_operation,
    gradient_penalty, gradient_penalty_in_a_step, heat_equation, heat_equation_at_given_points,
    fast_gradient_sign, projected_descent, inner_step, hessian_product, score_matching, gradients_as_results,
    unused, without_grad_mode, given_gradients,
]  # fmt: skip


@pytest.mark.filterwarnings("error::capture.CaptureWarning")
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_eager(program: Callable[..., Any], hook: str) -> None:
    compare(program, hook)


# --- what eager refuses, or does beside ---------------------------------------------------------------------


def outcome(program: Callable[[], Any]) -> Any:
    try:
        return program()
    except RuntimeError as error:
        return str(error)


def unused_input(run: Any) -> Any:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    return outcome(lambda: run(lambda: grad((x * 2).sum(), [x, w]))())


def output_without_grad(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    return outcome(lambda: run(lambda: grad((x.detach() * 2).sum(), x))())


def no_scalar(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    return outcome(lambda: run(lambda: grad(x * 2, x))())


def wrong_size(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    return outcome(lambda: run(lambda: grad(x * 2, x, torch.ones(2)))())


def freed_in_the_frame(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def twice() -> Any:
        y = x.exp().sum()
        return grad(y, x), grad(y, x)

    return outcome(twice)


def freed_behind_the_frame(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def slope() -> Any:
        y = x.exp().sum()
        return y, grad(y, x)[0]

    y, found = slope()
    return outcome(lambda: grad(y, x)), found, y


def freed_in_part(run: Any) -> Any:
    """Steps that save nothing can run again, and so do those that the call has not run."""
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

    @run
    def slope() -> Any:
        h = w.exp()
        y = (x + 1) + h
        return y, h, grad(y.sum(), x)[0]

    y, h, found = slope()
    return grad(y.sum(), [x, w], retain_graph=True), grad(h.sum(), w), found


def kept_behind_the_frame(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def slope() -> Any:
        y = x.exp().sum()
        return y, grad(y, x, retain_graph=True)[0]

    y, found = slope()
    y.backward()
    return outcome(y.backward), found, x.grad


def written_saved_tensor(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def slope() -> Any:
        h = x.exp()
        y = h.exp().sum()
        h.detach().mul_(2)
        return grad(y, x)

    return outcome(slope)


def in_batches(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    return run(lambda: grad(x * x, x, torch.eye(3), is_grads_batched=True))()


def by_name(run: Any) -> Any:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    return run(lambda: grad((x * w).sum(), {"x": x, "w": w}))()


def under_anomaly_mode(run: Any) -> Any:
    x = torch.zeros(3, requires_grad=True)

    @run
    def slope() -> Any:
        return grad((x.sqrt() * 0).sum(), x)[0]

    first = slope()
    with torch.autograd.set_detect_anomaly(True, check_nan=True):
        return first, "returned nan values" in outcome(slope)


def hook_on_an_input(run: Any) -> Any:
    log: list[Any] = []
    x = torch.ones(3, requires_grad=True)

    @run
    def slope(x: torch.Tensor) -> Any:
        return grad(x.exp().sum(), x)[0]

    found = [slope(x)]
    handle = x.register_hook(lambda tangent: log.append(tangent) or tangent * 2)
    found.append(slope(x))
    handle.remove()
    found.append(slope(x))
    return found, log


def hook_in_the_frame(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def slope() -> Any:
        h = x.exp()
        h.register_hook(lambda tangent: tangent * 2)
        return grad(h.sum(), x)[0]

    return slope()


def hook_of_the_frame_on_an_input(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def slope() -> Any:
        handle = x.register_hook(lambda tangent: tangent * 2)
        found = grad(x.exp().sum(), x)[0]
        handle.remove()
        return found

    return slope()


def gradient_of_an_input_that_is_kept(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def slope(h: torch.Tensor) -> Any:
        return grad(h.exp().sum(), h)[0]

    found = []
    for keep in (False, True, False):
        h = x * 2
        if keep:
            h.retain_grad()
        found.append((slope(h), h.grad if keep else None))
        h.sum().backward()
    return found, x.grad


def way_outside_of_the_frame(run: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    @run
    def slope(first: torch.Tensor, second: torch.Tensor, leaf: torch.Tensor) -> Any:
        return grad((first * second).sum(), [first, leaf], retain_graph=True)

    first = x * 2
    return slope(first, first.exp(), x)


@pytest.mark.filterwarnings("error::capture.CaptureWarning")
@pytest.mark.parametrize("hook", HOOKS)
def test_histories_that_lead_to_each_other_later(hook: str) -> None:
    """The graph is made for inputs that are apart. Python runs the frame where a way leads from one to the
    other, and where their histories are too long to say.
    """

    def slope(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return grad((x * y.sin()).sum(), y, create_graph=True)[0] * 2

    def inputs(kind: str) -> tuple[torch.Tensor, torch.Tensor]:
        leaf = torch.rand(4, requires_grad=True)
        x, y = torch.rand(4, requires_grad=True) * 3, leaf if "leaf" in kind else leaf.exp()
        if "from y" in kind:
            x = (y * y).cos().view(4) + 1
        if "long" in kind:
            for _ in range(100):
                x = x + 1
        return x, y

    kinds = ["apart", "from y", "apart", "long", "long from y", "leaf", "leaf from y", "apart", "from y"]
    fast = capture.enable(hook=hook)(slope)
    for seed, kind in enumerate(kinds):
        found = []
        for function in (slope, fast):
            torch.manual_seed(seed)
            x, y = inputs(kind)
            made = function(x, y)
            found.append((made, grad(made.sum(), (x, y), retain_graph=True)))
        assert_close(found[1], found[0])
    assert counters["graphs"]["compiled"] == 2, counters["graphs"]  # for a leaf, and for another input
    assert counters["graph_breaks"].total() == 0, counters["graph_breaks"]


def custom_function(run: Any) -> Any:
    log = []

    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
            log.append(1)
            return tangent * 3

    x = torch.ones(3, requires_grad=True)
    return run(lambda: grad(Noted.apply(x).sum(), x))(), len(log)


REFUSED = [
    unused_input, output_without_grad, no_scalar, wrong_size, freed_in_the_frame, freed_behind_the_frame,
    freed_in_part, kept_behind_the_frame, written_saved_tensor, in_batches, by_name, under_anomaly_mode,
    hook_on_an_input, hook_in_the_frame, hook_of_the_frame_on_an_input, gradient_of_an_input_that_is_kept,
    way_outside_of_the_frame, custom_function,
]  # fmt: skip


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("program", REFUSED)
def test_errors_and_effects(program: Callable[..., Any], hook: str) -> None:
    compare(program, hook, breaks=None)


# --- leaves that leave the frame ----------------------------------------------------------------------------


def leaf_as_a_result(run: Any) -> Any:
    model = net()

    @run
    def start(x: torch.Tensor) -> Any:
        leaf = (x * 2).detach().requires_grad_()
        return leaf, model(leaf).sum()

    leaf, energy = start(torch.rand(4, 3))
    energy.backward()
    return leaf, leaf.grad, energy


def leaf_under_no_grad(run: Any) -> Any:
    @run
    def start(x: torch.Tensor) -> Any:
        with torch.no_grad():
            return (x * 2).requires_grad_(), x.detach().requires_grad_()

    return start(torch.rand(4, 3))


def views_without_grad_mode(run: Any) -> Any:
    """A view of a tensor that requires grad says that it does, too. It is no leaf of the frame."""
    x = torch.rand(4, 3, requires_grad=True)

    @run
    def views() -> Any:
        with torch.no_grad():
            return x.view(-1), x[0].requires_grad_(), x * 2

    return views()


def view_of_a_leaf(run: Any) -> Any:
    @run
    def start(x: torch.Tensor) -> Any:
        leaf = (x * 2).requires_grad_()
        return leaf[0], x.detach().requires_grad_().view(-1)

    row, flat = start(torch.rand(4, 3))
    (row.sum() + flat.exp().sum()).backward()
    return row, flat


def leaf_in_an_object(run: Any) -> Any:
    held: list[Any] = []

    @run
    def start(x: torch.Tensor) -> Any:
        leaf = (x * 2).requires_grad_()
        held.append(leaf)
        return (leaf * 3).sum()

    start(torch.rand(4, 3)).backward()
    return held, held[0].grad


def leaf_behind_a_break(run: Any) -> Any:
    @run
    def start(x: torch.Tensor) -> Any:
        leaf = (x * 2).requires_grad_()
        energy = leaf.exp().sum()
        energy.backward()
        return leaf.grad, leaf.detach()

    return start(torch.rand(4, 3))


def result_of_a_leaf_alone(run: Any) -> Any:
    @run
    def start(x: torch.Tensor) -> Any:
        return (Variable(x, requires_grad=True) * 2).sum()

    found = start(torch.rand(4, 3))
    found.backward()
    return found


def leaf_that_is_written(run: Any) -> Any:
    model = net()

    @run
    def climb(x: torch.Tensor) -> Any:
        moved = torch.zeros_like(x).requires_grad_()
        for _ in range(2):
            slope = grad(model(x + moved).sum(), moved)[0]
            with torch.no_grad():
                moved.add_(0.1 * slope.sign()).clamp_(-0.15, 0.15)
        return (x + moved).detach()

    return climb(torch.rand(4, 3))


LEAVES = [
    leaf_as_a_result, leaf_under_no_grad, views_without_grad_mode, view_of_a_leaf, leaf_in_an_object,
    leaf_behind_a_break, result_of_a_leaf_alone, leaf_that_is_written,
]  # fmt: skip


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("program", LEAVES)
def test_leaves(program: Callable[..., Any], hook: str) -> None:
    compare(program, hook, breaks=None)


# --- sizes, the whole program, the store --------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"dynamic": True}, {"backend": "eager"}, {"backend": "aot_eager"}])
@pytest.mark.parametrize("program", PROGRAMS)
def test_other_compilers(program: Callable[..., Any], options: dict[str, Any]) -> None:
    torch.manual_seed(1)
    expected = [program(lambda function: function) for _ in range(2)]
    torch.manual_seed(1)
    found = [program(lambda function: capture.compile(function, **options)) for _ in range(2)]
    assert_close(found, expected)


def test_sizes_that_change() -> None:
    model = net()

    def penalty(x: torch.Tensor) -> torch.Tensor:
        leaf = x.detach().requires_grad_()
        (slope,) = grad(model(leaf).sum(), leaf, create_graph=True)
        return slope.square().sum()

    def losses(function: Callable[..., Any]) -> list[Any]:
        found = []
        for rows in (2, 3, 5, 7):
            torch.manual_seed(rows)
            loss = function(torch.randn(rows, 3))
            found.append((loss.detach(), grad(loss, list(model.parameters()), allow_unused=True)))
        return found

    assert_close(losses(capture.compile(penalty)), losses(penalty))


@pytest.mark.parametrize("program", [*PROGRAMS, *REFUSED, *LEAVES])
def test_entries_of_the_store(
    program: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    with config.patch(cache_dir=str(tmp_path), store_entries=True):
        for _ in range(2):
            compare(program, breaks=None, calls=2)
            loaded = counters["entries"]["loaded"]
            capture.reset()
        if program in PROGRAMS:
            assert loaded > 0
