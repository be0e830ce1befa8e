"""Models that generate: a variational autoencoder, a pair of adversaries, a diffusion model."""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 400)
        self.fc21 = nn.Linear(400, 20)
        self.fc22 = nn.Linear(400, 20)
        self.fc3 = nn.Linear(20, 400)
        self.fc4 = nn.Linear(400, 784)

    def encode(self, x):
        hidden = F.relu(self.fc1(x))
        return self.fc21(hidden), self.fc22(hidden)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def vae_loss(reconstruction, x, mu, logvar):
    entropy = F.binary_cross_entropy(reconstruction, x.view(-1, 784), reduction="sum")
    divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return entropy + divergence


@program(steps=80)
def vae(tick, steps):
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.rand(640, 1, 28, 28)
    train_loss, index = 0.0, 0
    while index < steps:
        for batch in data.split(64):
            optimizer.zero_grad()
            reconstruction, mu, logvar = model(batch)
            loss = vae_loss(reconstruction, batch, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
            tick(loss.item() / len(batch))
            index += 1
    return model.parameters()


def initialize(module):
    name = module.__class__.__name__
    if name.find("Conv") != -1:
        torch.nn.init.normal_(module.weight, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        torch.nn.init.normal_(module.weight, 1.0, 0.02)
        torch.nn.init.zeros_(module.bias)


def generator(width):
    return nn.Sequential(
        nn.ConvTranspose2d(32, width * 4, 4, 1, 0, bias=False),
        nn.BatchNorm2d(width * 4),
        nn.ReLU(True),
        nn.ConvTranspose2d(width * 4, width * 2, 4, 2, 1, bias=False),
        nn.BatchNorm2d(width * 2),
        nn.ReLU(True),
        nn.ConvTranspose2d(width * 2, width, 4, 2, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(True),
        nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False),
        nn.Tanh(),
    )


def discriminator(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(width, width * 2, 4, 2, 1, bias=False),
        nn.BatchNorm2d(width * 2),
        nn.LeakyReLU(0.2, True),
        nn.Conv2d(width * 2, width * 4, 4, 2, 1, bias=False),
        nn.BatchNorm2d(width * 4),
        nn.LeakyReLU(0.2, True),
        nn.Conv2d(width * 4, 1, 4, 1, 0, bias=False),
        nn.Sigmoid(),
    )


@program(steps=40)
def dcgan(tick, steps):
    net_g, net_d = generator(16).apply(initialize), discriminator(16).apply(initialize)
    criterion = nn.BCELoss()
    optimizer_d = torch.optim.Adam(net_d.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_g = torch.optim.Adam(net_g.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for _ in range(steps):
        real = torch.randn(16, 3, 32, 32)
        label = torch.full((16,), 1.0)
        net_d.zero_grad()
        error_real = criterion(net_d(real).view(-1), label)
        error_real.backward()
        fake = net_g(torch.randn(16, 32, 1, 1))
        label.fill_(0.0)
        error_fake = criterion(net_d(fake.detach()).view(-1), label)
        error_fake.backward()
        optimizer_d.step()
        net_g.zero_grad()
        label.fill_(1.0)
        error_g = criterion(net_d(fake).view(-1), label)
        error_g.backward()
        optimizer_g.step()
        tick(error_real.item() + error_fake.item() + error_g.item())
    return [*net_d.parameters(), *net_g.parameters()]


def timestep_embedding(timesteps, size):
    half = size // 2
    frequencies = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
    angles = timesteps[:, None].float() * frequencies[None]
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)


class ResidualBlock(nn.Module):
    def __init__(self, inside, outside, time):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, inside), nn.GroupNorm(4, outside)
        self.conv1 = nn.Conv2d(inside, outside, 3, padding=1)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1)
        self.time = nn.Linear(time, outside)
        self.skip = nn.Identity() if inside == outside else nn.Conv2d(inside, outside, 1)

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class DiffusionUNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.width = width
        self.embed = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
        self.start = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.ModuleList(
            ResidualBlock(a, b, 4 * width) for a, b in ((width, width), (width, 2 * width))
        )
        self.middle = ResidualBlock(2 * width, 2 * width, 4 * width)
        self.up = nn.ModuleList(
            ResidualBlock(a, b, 4 * width) for a, b in ((4 * width, width), (2 * width, width))
        )
        self.end = nn.Sequential(nn.GroupNorm(4, width), nn.SiLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x, t):
        t = self.embed(timestep_embedding(t, self.width))
        x = self.start(x)
        skips = []
        for block in self.down:
            x = block(x, t)
            skips.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, t)
        for block in self.up:
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = block(torch.cat([x, skips.pop()], dim=1), t)
        return self.end(x)


@program(steps=40)
def ddpm(tick, steps):
    model = DiffusionUNet()
    average = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    betas = torch.linspace(1e-4, 0.02, 1000)
    kept = torch.cumprod(1 - betas, 0)
    for _ in range(steps):
        x, noise, t = torch.randn(8, 1, 28, 28), torch.randn(8, 1, 28, 28), torch.randint(0, 1000, (8,))
        share = kept[t][:, None, None, None]
        noisy = share.sqrt() * x + (1 - share).sqrt() * noise
        loss = F.mse_loss(model(noisy, t), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for name, value in model.state_dict().items():
                average[name].mul_(0.99).add_(value, alpha=0.01)
        tick(loss.item())
    return [*model.parameters(), *average.values()]
