"""Tables, functions and random walks: recommendations, a Gaussian process, a stochastic equation."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


class DLRM(nn.Module):
    """Dense features by a network, sparse ones by embedding bags; all pairs interact by products."""

    def __init__(self, sizes, dim, bottom, top):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(size, dim, mode="sum") for size in sizes)
        self.bottom, self.top = self.create_mlp(bottom, -1), self.create_mlp(top, len(top) - 2)

    def create_mlp(self, sizes, sigmoid):
        layers = []
        for i in range(len(sizes) - 1):
            layers.append(nn.Linear(sizes[i], sizes[i + 1]))
            layers.append(nn.Sigmoid() if i == sigmoid else nn.ReLU())
        return nn.Sequential(*layers)

    def apply_emb(self, offsets, indices):
        found = []
        for k, group in enumerate(indices):
            found.append(self.tables[k](group, offsets[k]))
        return found

    def interact(self, x, ly):
        batch, d = x.shape
        T = torch.cat([x, *ly], dim=1).view((batch, -1, d))
        Z = torch.bmm(T, torch.transpose(T, 1, 2))
        _, ni, nj = Z.shape
        li = torch.tensor([i for i in range(ni) for j in range(i)])
        lj = torch.tensor([j for i in range(nj) for j in range(i)])
        return torch.cat([x, Z[:, li, lj]], dim=1)

    def forward(self, dense, offsets, indices):
        x = self.bottom(dense)
        return self.top(self.interact(x, self.apply_emb(offsets, indices)))


@program(steps=50)
def dlrm(tick, steps):
    sizes, dim, batch = [1000, 500, 200, 50], 16, 128
    model = DLRM(sizes, dim, [13, 64, 32, dim], [dim + 10, 64, 32, 1])
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    criterion = nn.BCELoss(reduction="mean")
    total_loss, total_iter = 0.0, 0
    for step in range(steps):
        lengths = [torch.randint(1, 4, (batch,)) for _ in sizes]
        offsets = [torch.cat([torch.zeros(1, dtype=torch.long), n.cumsum(0)[:-1]]) for n in lengths]
        indices = [torch.randint(0, size, (int(n.sum()),)) for size, n in zip(sizes, lengths)]
        found = model(torch.rand(batch, 13), offsets, indices)
        loss = criterion(found, torch.randint(0, 2, (batch, 1)).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * batch
        total_iter += 1
        if (step + 1) % 10 == 0:
            f"Finished training it {step + 1}/{steps}, loss {total_loss / total_iter:.6f}"
            total_loss, total_iter = 0.0, 0
        tick(loss.item())
    return model.parameters()


class Positive(nn.Module):
    def forward(self, raw):
        return F.softplus(raw) + 1e-4


class RBFKernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.zeros(1))
        self.raw_outputscale = nn.Parameter(torch.zeros(1))
        self.positive = Positive()

    @property
    def lengthscale(self):
        return self.positive(self.raw_lengthscale)

    def forward(self, a, b):
        a, b = a.div(self.lengthscale), b.div(self.lengthscale)
        squared = (a.pow(2).sum(-1)[:, None] + b.pow(2).sum(-1)[None] - 2 * a @ b.t()).clamp_min(0)
        return self.positive(self.raw_outputscale) * torch.exp(-0.5 * squared)


class ExactGP(nn.Module):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y, self.kernel = x, y, RBFKernel()
        self.mean, self.raw_noise = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.tensor([-2.0]))

    def covariance(self):
        return self.kernel(self.x, self.x) + F.softplus(self.raw_noise) * torch.eye(len(self.x))

    def loss(self):
        root = torch.linalg.cholesky(self.covariance())
        centred = (self.y - self.mean)[:, None]
        fit = centred.t() @ torch.cholesky_solve(centred, root)
        volume = 2 * torch.log(torch.diagonal(root)).sum()
        return 0.5 * (fit.squeeze() + volume + len(self.x) * math.log(2 * math.pi)) / len(self.x)

    def predict(self, new):
        root = torch.linalg.cholesky(self.covariance())
        cross = self.kernel(new, self.x)
        mean = self.mean + (cross @ torch.cholesky_solve((self.y - self.mean)[:, None], root)).squeeze(-1)
        half = torch.linalg.solve_triangular(root, cross.t(), upper=False)
        return mean, (self.kernel(new, new).diagonal() - half.pow(2).sum(0)).clamp_min(1e-6)


@program(steps=60)
def gaussian_process(tick, steps):
    x = torch.linspace(0, 1, 200)[:, None]
    model = ExactGP(x, torch.sin(x[:, 0] * (2 * math.pi)) + torch.randn(200) * 0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for i in range(steps):
        optimizer.zero_grad()
        loss = model.loss()
        loss.backward()
        f"Iter {i + 1}/{steps} - Loss: {loss.item():.3f} scale: {model.kernel.lengthscale.item():.3f}"
        optimizer.step()
        tick(loss.item())
    with torch.no_grad():
        mean, variance = model.predict(torch.linspace(0, 1, 51)[:, None])
    return [mean, variance]


class Walk(nn.Module):
    """Drift and diffusion of a stochastic differential equation."""

    noise_type, sde_type = "diagonal", "ito"

    def __init__(self, size=8, width=32):
        super().__init__()
        self.drift = nn.Sequential(nn.Linear(size + 1, width), nn.Softplus(), nn.Linear(width, size))
        self.spread = nn.ModuleList(
            nn.Sequential(nn.Linear(1, 8), nn.Softplus(), nn.Linear(8, 1), nn.Sigmoid()) for _ in range(size)
        )

    def f(self, t, y):
        return self.drift(torch.cat([t.expand(y.shape[0], 1), y], dim=1))

    def g(self, t, y):
        columns = torch.split(y, split_size_or_sections=1, dim=1)
        return torch.cat([net(column) for net, column in zip(self.spread, columns)], dim=1)


def euler_maruyama(sde, y0, ts):
    ys = [y0]
    for t, following in pairwise(ts):
        dt = following - t
        noise = torch.randn_like(ys[-1]) * dt.sqrt()
        ys.append(ys[-1] + sde.f(t, ys[-1]) * dt + sde.g(t, ys[-1]) * noise)
    return torch.stack(ys, dim=0)


@program(steps=40)
def neural_sde(tick, steps):
    sde, initial = Walk(), nn.Parameter(torch.randn(8))
    optimizer = torch.optim.Adam([*sde.parameters(), initial], lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.997)
    ts = torch.linspace(0, 1, 11)
    truth = torch.sin(ts * 6)[:, None, None].expand(11, 32, 8)
    for _ in range(steps):
        sde.zero_grad()
        ys = euler_maruyama(sde, initial.expand(32, 8), ts)
        loss = -torch.distributions.Normal(ys, 0.3).log_prob(truth).sum(dim=(0, 2)).mean(dim=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        tick(loss.item())
    return [*sde.parameters(), initial]
