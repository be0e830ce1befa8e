"""`torch.distributions` in captured code: sampling, densities, checks of arguments, policies."""

from __future__ import annotations

import torch
import torch.distributions as D

from tests.capture.cases.registry import case


def leaf():
    torch.manual_seed(0)
    return (torch.randn(3, 4, requires_grad=True),)


def drawn(distribution):
    sample = distribution.rsample() if distribution.has_rsample else distribution.sample()
    return sample, distribution.log_prob(sample)


@case(1, None, leaf)
def normal(x):
    distribution = D.Normal(x, x.exp())
    return *drawn(distribution), distribution.entropy()


@case(1, None, leaf)
def categorical(x):
    distribution = D.Categorical(logits=x)
    return *drawn(distribution), distribution.entropy(), distribution.probs


@case(1, None, leaf)
def bernoulli_of_probabilities(x):
    return drawn(D.Bernoulli(x.sigmoid()))


@case(1, None, leaf)
def exponential_family(x):
    scale = x.exp()
    kinds = (D.Exponential(scale), D.Gamma(scale, scale), D.Beta(scale, scale), D.Dirichlet(scale))
    return [drawn(kind) for kind in kinds]


@case(1, None, leaf)
def heavy_tails(x):
    scale = x.exp()
    kinds = (D.Cauchy(x, scale), D.Laplace(x, scale), D.Pareto(scale, scale), D.HalfCauchy(scale))
    return [drawn(kind) for kind in kinds]


@case(1, None, leaf)
def counts(x):
    kinds = (D.Binomial(5, logits=x), D.Geometric(logits=x), D.Poisson(x.exp()), D.Multinomial(5, logits=x))
    return [drawn(kind) for kind in kinds]


@case(1, None, leaf)
def transformed(x):
    base = D.Normal(x, x.exp())
    return drawn(D.TransformedDistribution(base, [D.AffineTransform(1.0, 2.0), D.SigmoidTransform()]))


@case(1, None, leaf)
def mixture(x):
    return drawn(D.MixtureSameFamily(D.Categorical(logits=x[0]), D.Normal(x[1], x[1].exp())))


@case(1, None, leaf)
def divergence(x):
    first, second = D.Normal(x, x.exp()), D.Normal(torch.zeros(3, 4), torch.ones(3, 4))
    return D.kl_divergence(first, second), D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=-x))


@case(1, None, leaf)
def expanded(x):
    distribution = D.Normal(x, x.exp()).expand((2, 3, 4))
    return distribution.sample(), distribution.mean, distribution.variance, distribution.batch_shape


# Where Python runs the frame, the methods of the distribution are graphs, too.
@case(None, None, falls_back=True)
def invalid_arguments(x):
    return D.Normal(x, -x.abs(), validate_args=True)


@case(None, None, falls_back=True)
def invalid_arguments_are_caught(x):
    try:
        D.Normal(x, -x.abs(), validate_args=True)
    except ValueError as error:
        return x * 2, str(error)


@case(None, None, leaf, falls_back=True)
def a_value_outside_of_the_support(x):
    return D.Exponential(x.exp(), validate_args=True).log_prob(-x.exp())


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = torch.nn.Linear(4, 2)
        self.critic = torch.nn.Linear(4, 1)

    def forward(self, states, actions=None):
        distribution = D.Categorical(logits=self.actor(states))
        if actions is None:
            actions = distribution.sample()
        return actions, distribution.log_prob(actions), distribution.entropy(), self.critic(states)


def policy():
    torch.manual_seed(0)
    return Policy(), torch.randn(3, 4)


@case(1, None, policy)
def acting(model, states):
    return model(states)


@case(1, None, policy)
def proximal_loss(model, states):
    _, log_prob, entropy, value = model(states, torch.tensor([0, 1, 1]))
    ratio = (log_prob - log_prob.detach()).exp()
    advantage = torch.ones(3)
    clipped = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    return -clipped.mean() + value.square().mean() - 0.01 * entropy.mean()


@case(1, None, leaf)
def squashed_action(x):
    distribution = D.Normal(x, x.clamp(-5, 2).exp())
    raw = distribution.rsample()
    action = torch.tanh(raw)
    return action, (distribution.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1)


@case(1, 2)
def a_new_tensor_of_a_size(x):
    return x.new(x.shape).zero_()


@case(1, 3)
def a_new_tensor_of_no_dimension(x):
    return x.new(x.sum().shape).zero_()


@case(1, None)
def a_distribution_of_constants_beside_a_write(x):
    quantile = D.Normal(0, 1).icdf(torch.tensor(0.75))
    x.add_(1)
    return x * quantile


@case(None, None)
def constants_that_a_distribution_refuses(x):
    x.add_(1)
    return D.Normal(0, -1).icdf(torch.tensor(0.75)) * x
