"""Distributions that the program's own loop makes and asks: their methods are captured, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch import distributions as d

import capture

pytest.importorskip("_capture")


@pytest.fixture(autouse=True)
def first() -> Iterator[None]:
    capture.reset()
    with capture.config.patch(when="first"):
        yield
    capture.reset()


Made = Callable[[Tensor], d.Distribution]
#: from positive numbers of [3, 4]
MADE: dict[str, Made] = {
    "categorical": lambda x: d.Categorical(probs=x),
    "categorical of logits": lambda x: d.Categorical(logits=x),
    "one-hot": lambda x: d.OneHotCategorical(logits=x),
    "bernoulli": lambda x: d.Bernoulli(logits=x),
    "normal": lambda x: d.Normal(x, x + 1),
    "normal of numbers": lambda x: d.Normal(x, 2.0),
    "log-normal": lambda x: d.LogNormal(x, 0.5),
    "uniform": lambda x: d.Uniform(x, x + 2),
    "beta": lambda x: d.Beta(x, x + 1),
    "gamma": lambda x: d.Gamma(x, x + 1),
    "dirichlet": lambda x: d.Dirichlet(x + 0.5),
    "exponential": lambda x: d.Exponential(x),
    "laplace": lambda x: d.Laplace(x, x),
    "poisson": lambda x: d.Poisson(x),
    "geometric": lambda x: d.Geometric(logits=x),
    "gumbel": lambda x: d.Gumbel(x, 1.0),
    "half-normal": lambda x: d.HalfNormal(x),
    "independent": lambda x: d.Independent(d.Normal(x, 1.0), 1),
    "multivariate": lambda x: d.MultivariateNormal(x, torch.diag_embed(x + 1)),
    "multinomial": lambda x: d.Multinomial(5, logits=x),
    "mixture": lambda x: d.MixtureSameFamily(d.Categorical(logits=x), d.Normal(x, 1.0)),
    "squashed": lambda x: d.TransformedDistribution(d.Normal(x, 1.0), [d.TanhTransform(cache_size=1)]),
    "student": lambda x: d.StudentT(x + 2, x, 1.0),
}


def asked(made: Made, x: Tensor) -> list[Any]:
    """A sample, its probability with the gradient, and the entropy where there is one."""
    torch.manual_seed(1)
    leaf = x.clone().requires_grad_()
    distribution = made(leaf)
    sample = distribution.rsample() if distribution.has_rsample else distribution.sample()
    found = [sample, distribution.log_prob(sample), distribution.batch_shape, distribution.event_shape]
    try:
        found.append(distribution.entropy())
    except NotImplementedError:
        pass
    found[1].sum().backward()
    return [*found, leaf.grad, distribution.sample((2,)), torch.rand(1)]


@pytest.mark.parametrize("name", MADE)
def test_each(name: str) -> None:
    torch.manual_seed(0)
    xs = [torch.rand(3, 4) + 0.1 for _ in range(3)]
    expected = [asked(MADE[name], x) for x in xs]
    with capture.enable():
        found = [capture.disable(asked, recursive=False)(capture.disable(MADE[name], False), x) for x in xs]
    torch.testing.assert_close(found, expected)


def test_all_methods_are_graphs() -> None:
    with capture.enable():
        capture.disable(asked, recursive=False)(capture.disable(MADE["categorical"], False), torch.rand(3, 4))
    assert capture.counters["frames"]["captured"] >= 4  # made, asked for a sample, a probability, an entropy
    assert not capture.counters["graph_breaks"]


@pytest.mark.parametrize("validated", [True, False])
def test_values_that_do_not_fit(validated: bool) -> None:
    def run() -> list[Any]:
        found: list[Any] = []
        for make in (
            lambda: d.Normal(torch.zeros(3), -torch.ones(3), validate_args=validated),
            lambda: d.Categorical(torch.tensor([0.5, -0.5]), validate_args=validated).probs,
            lambda: d.Categorical(torch.rand(3), validate_args=validated).log_prob(torch.tensor(1.5)),
            lambda: d.Normal(torch.zeros(2), torch.ones(3), validate_args=validated),
            lambda: d.Categorical(torch.rand(3), torch.rand(3)),
        ):
            try:
                found.append(make())
            except Exception as error:
                found.append((type(error), str(error)))
        return [each if isinstance(each, (tuple, Tensor)) else type(each) for each in found]

    torch.manual_seed(0)
    expected = run()
    for _ in range(3):
        torch.manual_seed(0)
        with capture.enable():
            found = capture.disable(run, recursive=False)()
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one, other) if isinstance(one, Tensor) else one == other


def test_divergence() -> None:
    def run(x: Tensor) -> list[Tensor]:
        normal, other = d.Normal(x, x + 1), d.Normal(x + 1, 1.0)
        made = [
            (normal, other),
            (d.Categorical(x), d.Categorical(logits=x)),
            (d.Beta(x, x), d.Beta(x + 1, x)),
        ]
        return [d.kl_divergence(*pair) for pair in made]

    x = torch.rand(3, 4)
    with capture.enable():
        for _ in range(3):
            torch.testing.assert_close(capture.disable(run, recursive=False)(x), run(x))
