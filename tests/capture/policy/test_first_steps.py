"""A step of a training that finds no gradients or no state of its optimizer runs in Python, once."""

import pytest
import torch
from torch import nn

import capture


def problem(optimizer_class, **options):
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)), torch.randn(4, 6)
    optimizer = optimizer_class(model.parameters(), **options)
    return model, optimizer, x


def step_of(model, optimizer, x):
    def step():
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def step_that_clears_behind(model, optimizer, x):
    def step():
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def step_with_loops_over_parameters(model, optimizer, x):
    average = [parameter.detach().clone() for parameter in model.parameters()]

    def step():
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            parameter.grad.clamp_(-0.1, 0.1)
        optimizer.step()
        with torch.no_grad():
            for mean, parameter in zip(average, model.parameters()):
                mean.lerp_(parameter, 0.1)
        return loss

    return step


@pytest.mark.parametrize("make_step", [step_of, step_that_clears_behind, step_with_loops_over_parameters])
@pytest.mark.parametrize(
    "optimizer", [(torch.optim.Adam, {}), (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9})]
)
def test_a_step_is_captured_once(make_step, optimizer):
    capture.reset()
    runs = []
    for compiled in (False, True):
        model, *rest = problem(optimizer[0], **optimizer[1])
        step = make_step(model, *rest)
        step = capture.compile(step) if compiled else step
        losses = [step().detach() for _ in range(5)]
        runs.append([*losses, *(p.detach() for p in model.parameters())])
    torch.testing.assert_close(runs[1], runs[0])
    assert sum(capture.counters["recompiles"].values()) == 0
    assert capture.counters["graphs"]["compiled"] == 2


def test_the_first_call_is_captured_where_that_was_asked_for():
    capture.reset()
    explained = capture.explain(step_of(*problem(torch.optim.Adam)))()
    assert explained.graph_count == 2


def test_another_backend_gets_the_first_call():
    capture.reset()
    graphs = []
    step = step_of(*problem(torch.optim.Adam))
    capture.compile(step, backend=lambda graph, inputs: graphs.append(graph) or graph.forward)()
    assert len(graphs) == 2


def test_a_frame_with_a_loop_does_not_wait():
    """It may be called once."""
    capture.reset()
    model, optimizer, x = problem(torch.optim.Adam)

    @capture.compile
    def train():
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
        return loss

    train()
    assert capture.counters["graphs"]["compiled"] > 0


def test_a_frame_with_its_loop_behind_the_first_look_does_not_wait():
    capture.reset()
    model, optimizer, x = problem(torch.optim.Adam)

    @capture.compile
    def train():
        optimizer.zero_grad()
        for _ in range(3):
            model(x).pow(2).mean().backward()
            optimizer.step()

    train()
    assert capture.counters["graphs"]["compiled"] > 0


def test_a_comprehension_of_steps_does_not_wait():
    capture.reset()
    model, optimizer, x = problem(torch.optim.Adam)

    @capture.compile
    def train():
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        return [optimizer.step() for _ in range(3)]

    train()
    assert capture.counters["graphs"]["compiled"] > 0


@pytest.mark.parametrize("prepare", [lambda model: model.to("cpu"), nn.Module.zero_grad])
def test_a_frame_that_prepares_a_training_does_not_wait(prepare):
    """The loop of the training is in a function that it calls afterwards."""
    capture.reset()
    model, optimizer, x = problem(torch.optim.Adam)

    def steps():
        for _ in range(3):
            step_of(model, optimizer, x)()

    @capture.compile
    def train():
        prepare(model)
        steps()

    train()
    assert capture.counters["graphs"]["compiled"] > 0


def test_what_never_gets_a_gradient_is_captured_at_the_second_call():
    capture.reset()
    weight, x = nn.Parameter(torch.ones(3)), torch.arange(3.0)

    @capture.compile
    def masked():
        return x * 2 if weight.grad is None else x * weight.grad

    for _ in range(3):
        torch.testing.assert_close(masked(), x * 2)
    assert capture.counters["frames"]["captured"] == 1
    weight.grad = torch.full((3,), 5.0)
    torch.testing.assert_close(masked(), x * 5)


def test_reset_lets_frames_wait_again():
    for _ in range(2):
        capture.reset()
        step = capture.compile(step_of(*problem(torch.optim.Adam)))
        step()
        assert not capture.counters["graphs"]["compiled"]
