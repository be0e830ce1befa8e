"""Continuous actions and samples: a soft actor and critic; a diffusion network and its sampler."""

from __future__ import annotations

import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.generative import timestep_embedding
from benchmarks.programs.registry import program


class SoftQNetwork(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(observations + actions, 64), nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)

    def forward(self, x, a):
        x = torch.cat([x, a], 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Actor(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(observations, 64), nn.Linear(64, 64)
        self.fc_mean, self.fc_logstd = nn.Linear(64, actions), nn.Linear(64, actions)
        self.register_buffer("action_scale", torch.tensor(2.0))
        self.register_buffer("action_bias", torch.tensor(0.0))

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        log_std = torch.tanh(self.fc_logstd(x))
        return self.fc_mean(x), -5 + 0.5 * 7 * (log_std + 1)

    def get_action(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t) - torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        return action, log_prob.sum(1, keepdim=True), torch.tanh(mean) * self.action_scale


@program(steps=80)
def sac(tick, steps):
    """A step is a turn of the environment and an update of critics, actor, temperature and targets."""
    random.seed(0)
    actor, buffer = Actor(3, 1), deque(maxlen=5000)
    q1, q2, t1, t2 = (SoftQNetwork(3, 1) for _ in range(4))
    t1.load_state_dict(q1.state_dict())
    t2.load_state_dict(q2.state_dict())
    q_optimizer = torch.optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=1e-3)
    actor_optimizer = torch.optim.Adam(list(actor.parameters()), lr=3e-4)
    target_entropy, log_alpha = -1.0, torch.zeros(1, requires_grad=True)
    alpha = log_alpha.exp().item()
    a_optimizer = torch.optim.Adam([log_alpha], lr=1e-3)
    for _ in range(64):
        buffer.append(tuple(torch.randn(size) for size in (3, 1, 3, 1)))
    obs = torch.randn(3)
    for step in range(steps):
        with torch.no_grad():
            action, _, _ = actor.get_action(obs[None])
        following = torch.tanh(obs + 0.1 * action[0]) + 0.05 * torch.randn(3)
        buffer.append((obs, action[0], following, -(obs**2).sum().view(1)))
        obs = following
        o, a, n, r = (torch.stack(part) for part in zip(*random.sample(buffer, 64)))
        with torch.no_grad():
            next_action, next_log_pi, _ = actor.get_action(n)
            smallest = torch.min(t1(n, next_action), t2(n, next_action)) - alpha * next_log_pi
            goal = r.flatten() + 0.99 * smallest.view(-1)
        q_loss = F.mse_loss(q1(o, a).view(-1), goal) + F.mse_loss(q2(o, a).view(-1), goal)
        q_optimizer.zero_grad()
        q_loss.backward()
        q_optimizer.step()
        if step % 2 == 0:
            for _ in range(2):
                pi, log_pi, _ = actor.get_action(o)
                actor_loss = ((alpha * log_pi) - torch.min(q1(o, pi), q2(o, pi))).mean()
                actor_optimizer.zero_grad()
                actor_loss.backward()
                actor_optimizer.step()
                with torch.no_grad():
                    _, log_pi, _ = actor.get_action(o)
                alpha_loss = (-log_alpha.exp() * (log_pi + target_entropy)).mean()
                a_optimizer.zero_grad()
                alpha_loss.backward()
                a_optimizer.step()
                alpha = log_alpha.exp().item()
        for critic, target in ((q1, t1), (q2, t2)):
            for param, target_param in zip(critic.parameters(), target.parameters()):
                target_param.data.copy_(0.005 * param.data + 0.995 * target_param.data)
        tick(q_loss.item())
    return [*q1.parameters(), *actor.parameters(), *t1.parameters(), log_alpha]


class ResnetBlock(nn.Module):
    def __init__(self, inside, outside, time):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, inside), nn.GroupNorm(8, outside)
        self.conv1 = nn.Conv2d(inside, outside, 3, padding=1)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1)
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time, outside * 2))
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x, t):
        scale, shift = self.mlp(t)[:, :, None, None].chunk(2, dim=1)
        h = self.norm1(self.conv1(F.silu(x))) if x.shape[1] == self.norm2.num_channels else self.conv1(x)
        h = F.silu(self.norm2(h) * (scale + 1) + shift)
        return self.conv2(h) + self.skip(x)


class CrossAttention(nn.Module):
    def __init__(self, size, context, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, size)
        self.to_q = nn.Linear(size, size, bias=False)
        self.to_k, self.to_v = nn.Linear(context, size, bias=False), nn.Linear(context, size, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(size, size), nn.Dropout(0.0)])

    def forward(self, x, context):
        batch, channels, height, width = x.shape
        h = self.norm(x).permute(0, 2, 3, 1).reshape(batch, height * width, channels)
        q, k, v = self.to_q(h), self.to_k(context), self.to_v(context)
        q, k, v = (
            part.view(batch, -1, self.heads, channels // self.heads).transpose(1, 2) for part in (q, k, v)
        )
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, -1, channels)
        for layer in self.to_out:
            h = layer(h)
        return x + h.reshape(batch, height, width, channels).permute(0, 3, 1, 2)


class ConditionedUNet(nn.Module):
    def __init__(self, width=32, context=24, levels=(1, 2)):
        super().__init__()
        self.width, time = width, width * 4
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.start = nn.Conv2d(4, width, 3, padding=1)
        self.down, self.up, inside = nn.ModuleList(), nn.ModuleList(), width
        for level in levels:
            outside = width * level
            self.down.append(
                nn.ModuleList(
                    [
                        ResnetBlock(inside, outside, time),
                        CrossAttention(outside, context),
                        nn.Conv2d(outside, outside, 3, stride=2, padding=1),
                    ]
                )
            )
            inside = outside
        self.middle, self.attention = ResnetBlock(inside, inside, time), CrossAttention(inside, context)
        for level in reversed(levels):
            outside = width * level
            self.up.append(
                nn.ModuleList(
                    [ResnetBlock(inside + outside, outside, time), CrossAttention(outside, context)]
                )
            )
            inside = outside
        self.end = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, sample, timestep, context):
        if not torch.is_tensor(timestep):
            timestep = torch.tensor([timestep], dtype=torch.long)
        t = self.time(timestep_embedding(timestep.expand(sample.shape[0]), self.width))
        x, skips = self.start(sample), ()
        for block, attention, smaller in self.down:
            x = attention(block(x, t), context)
            skips += (x,)
            x = smaller(x)
        x = self.attention(self.middle(x, t), context)
        for block, attention in self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = attention(block(torch.cat([x, skips[-1]], dim=1), t), context)
            skips = skips[:-1]
        return self.end(x)


class Scheduler:
    """Deterministic steps from noise to a sample (DDIM)."""

    def __init__(self, count=1000):
        self.kept = torch.cumprod(1 - torch.linspace(0.00085**0.5, 0.012**0.5, count) ** 2, dim=0)
        self.final = torch.tensor(1.0)

    def set_timesteps(self, count):
        self.ratio = len(self.kept) // count
        self.timesteps = torch.arange(0, count).mul(self.ratio).flip(0)

    def step(self, output, timestep, sample):
        before = timestep - self.ratio
        kept, kept_before = self.kept[timestep], self.kept[before] if before >= 0 else self.final
        original = (sample - (1 - kept) ** 0.5 * output) / kept**0.5
        return kept_before**0.5 * original + (1 - kept_before) ** 0.5 * output


@program(steps=60, optimizers=False)
def diffusion_sampling(tick, steps):
    """A step is a step of the sampler, with guidance: the network runs with and without a condition."""
    model, scheduler = ConditionedUNet().eval(), Scheduler()
    latents, done = torch.zeros(1, 4, 16, 16), 0
    while done < steps:
        scheduler.set_timesteps(10)
        latents, context = torch.randn(1, 4, 16, 16), torch.randn(2, 6, 24)
        for t in scheduler.timesteps:
            with torch.no_grad():
                without, given = model(torch.cat([latents] * 2), t, context).chunk(2)
            latents = scheduler.step(without + 2.0 * (given - without), t, latents)
            tick(latents.mean().item())
            done += 1
    return [latents]
