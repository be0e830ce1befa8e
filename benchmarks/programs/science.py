"""Physics and points: a time series by LBFGS, a differential equation, point clouds, rays."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1, self.lstm2 = nn.LSTMCell(1, 31), nn.LSTMCell(31, 31)
        self.linear = nn.Linear(31, 1)

    def forward(self, values, future=0):
        outputs = []
        h_t = torch.zeros(values.size(0), 31, dtype=torch.double)
        c_t = torch.zeros(values.size(0), 31, dtype=torch.double)
        h_t2 = torch.zeros(values.size(0), 31, dtype=torch.double)
        c_t2 = torch.zeros(values.size(0), 31, dtype=torch.double)
        for value in values.split(1, dim=1):
            h_t, c_t = self.lstm1(value, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


@program(steps=8)
def time_series(tick, steps):
    """A step is a step of LBFGS: up to 20 evaluations of a closure, with 40 turns of two LSTM cells."""
    t = torch.arange(41, dtype=torch.double) / 6.0
    data = torch.sin(t[None] + torch.randn(20, 1, dtype=torch.double) * 4)
    values, target = data[3:, :-1], data[3:, 1:]
    seq = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.5)
    evaluations = [0]
    for _ in range(steps):
        evaluations[0] = 0

        def closure():
            evaluations[0] += 1
            optimizer.zero_grad()
            loss = criterion(seq(values), target)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        with torch.no_grad():
            seq(data[:3, :-1], future=10)
        tick(loss.item(), evaluations[0])
    return seq.parameters()


class ODEFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))

    def forward(self, t, y):
        return self.net(y**3)


def runge_kutta(function, y, times):
    solution = [y]
    for t0, t1 in pairwise(times):
        dt = t1 - t0
        k1 = function(t0, y)
        k2 = function(t0 + dt / 2, y + dt * k1 / 2)
        k3 = function(t0 + dt / 2, y + dt * k2 / 2)
        k4 = function(t1, y + dt * k3)
        y = y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        solution.append(y)
    return torch.stack(solution)


@program(steps=60)
def neural_ode(tick, steps):
    times = torch.linspace(0.0, 2.5, 11)
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    with torch.no_grad():
        truth = runge_kutta(lambda t, y: torch.mm(y**3, matrix), torch.tensor([[2.0, 0.0]]), times)
    function = ODEFunction()
    optimizer = torch.optim.RMSprop(function.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        starts = torch.randint(0, 2, (20,))
        loss = (
            (runge_kutta(function, truth[starts, 0], times[:10]) - truth[:10].squeeze(1)[:, None])
            .abs()
            .mean()
        )
        loss.backward()
        optimizer.step()
        tick(loss.item())
    return function.parameters()


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv1, self.conv2 = nn.Conv1d(k, 32, 1), nn.Conv1d(32, 128, 1)
        self.fc1, self.fc2 = nn.Linear(128, 64), nn.Linear(64, k * k)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm1d(32), nn.BatchNorm1d(128), nn.BatchNorm1d(64)

    def forward(self, x):
        batch = x.size()[0]
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        x = torch.max(x, 2, keepdim=True)[0].view(-1, 128)
        x = self.fc2(F.relu(self.bn3(self.fc1(x))))
        return x.view(-1, self.k, self.k) + torch.eye(self.k).repeat(batch, 1, 1)


class PointNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stn = TNet(3)
        self.conv1, self.conv2 = nn.Conv1d(3, 64, 1), nn.Conv1d(64, 256, 1)
        self.bn1, self.bn2 = nn.BatchNorm1d(64), nn.BatchNorm1d(256)
        self.head = nn.Sequential(
            nn.Linear(256, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, classes)
        )

    def forward(self, x):
        transform = self.stn(x)
        x = torch.bmm(x.transpose(2, 1), transform).transpose(2, 1)
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.log_softmax(self.head(torch.max(x, 2)[0]), dim=1), transform


@program(steps=40)
def pointnet(tick, steps):
    model = PointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    eye = torch.eye(3)[None]
    for _ in range(steps):
        points, target = torch.randn(16, 3, 256), torch.randint(0, 10, (16,))
        optimizer.zero_grad()
        found, transform = model.train()(points)
        unlike = torch.norm(torch.bmm(transform, transform.transpose(2, 1)) - eye, dim=(1, 2)).mean()
        loss = F.nll_loss(found, target) + 0.001 * unlike
        loss.backward()
        optimizer.step()
        tick(loss.item())
    return model.parameters()


def positional_encoding(x, count):
    parts = [x]
    for i in range(count):
        for function in (torch.sin, torch.cos):
            parts.append(function(2.0**i * x))
    return torch.cat(parts, dim=-1)


class Radiance(nn.Module):
    def __init__(self, count=6, width=64):
        super().__init__()
        self.layer1 = nn.Linear(3 + 3 * 2 * count, width)
        self.layer2, self.layer3 = nn.Linear(width, width), nn.Linear(width, 4)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


def render(model, origins, directions, near, far, samples):
    depth = (
        torch.linspace(near, far, samples) + torch.rand(origins.shape[0], samples) * (far - near) / samples
    )
    points = origins[..., None, :] + directions[..., None, :] * depth[..., :, None]
    raw = model(positional_encoding(points.reshape(-1, 3), 6)).reshape(*points.shape[:-1], 4)
    sigma, color = F.relu(raw[..., 3]), torch.sigmoid(raw[..., :3])
    distance = torch.cat(
        [depth[..., 1:] - depth[..., :-1], torch.tensor([1e10]).expand(depth[..., :1].shape)], -1
    )
    alpha = 1.0 - torch.exp(-sigma * distance)
    through = torch.cumprod(1.0 - alpha + 1e-10, dim=-1).roll(1, dims=-1)
    through[..., 0] = 1.0
    return ((alpha * through)[..., None] * color).sum(dim=-2)


@program(steps=60)
def nerf(tick, steps):
    model = Radiance()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        directions = F.normalize(torch.randn(128, 3), dim=-1)
        origins = torch.tensor([0.0, 0.0, -4.0]).expand(128, 3)
        colors = render(model, origins, directions, 2.0, 6.0, 32)
        loss = F.mse_loss(colors, directions.abs())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            -10.0 * math.log10(loss.item())
        tick(loss.item())
    return model.parameters()
