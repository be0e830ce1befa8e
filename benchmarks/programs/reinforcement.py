"""Agents: policy gradients, an actor with a critic, Q-learning from a buffer, proximal policies."""

from __future__ import annotations

import math
import random
from collections import deque, namedtuple
from itertools import count

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

from benchmarks.programs.registry import program


class Pole:
    """A pole on a cart (the equations of Barto, Sutton and Anderson, 1983)."""

    def __init__(self, seed=0):
        self.random = random.Random(seed)
        self.state = (0.0, 0.0, 0.0, 0.0)

    def reset(self):
        self.state = tuple(self.random.uniform(-0.05, 0.05) for _ in range(4))
        self.turns = 0
        return list(self.state)

    def step(self, action):
        x, speed, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        cosine, sine = math.cos(angle), math.sin(angle)
        push = (force + 0.05 * spin * spin * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
        pull = push - 0.05 * turn * cosine / 1.1
        self.state = (x + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn)
        self.turns += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return list(self.state), 1.0, fallen or self.turns >= 60


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 128)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(128, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


def discounted(rewards, gamma=0.99):
    returns, total = deque(), 0.0
    for reward in rewards[::-1]:
        total = reward + gamma * total
        returns.appendleft(total)
    returns = torch.tensor(list(returns))
    return (returns - returns.mean()) / (returns.std() + 1e-6)


@program(steps=40)
def reinforce(tick, steps):
    env, policy = Pole(), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def select_action(state):
        probs = policy(torch.tensor(state).float().unsqueeze(0))
        m = Categorical(probs)
        action = m.sample()
        policy.saved_log_probs.append(m.log_prob(action))
        return action.item()

    def finish_episode():
        policy_loss = [
            -log_prob * value for log_prob, value in zip(policy.saved_log_probs, discounted(policy.rewards))
        ]
        optimizer.zero_grad()
        loss = torch.cat(policy_loss).sum()
        loss.backward()
        optimizer.step()
        del policy.rewards[:]
        del policy.saved_log_probs[:]
        return loss.item()

    running_reward = 10.0
    for _ in range(steps):
        state, episode_reward = env.reset(), 0.0
        for _ in range(1, 10000):
            state, reward, done = env.step(select_action(state))
            policy.rewards.append(reward)
            episode_reward += reward
            if done:
                break
        running_reward = 0.05 * episode_reward + 0.95 * running_reward
        turns = len(policy.rewards)
        tick(finish_episode() * 0.0, turns)
    return []


SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 128)
        self.action_head = nn.Linear(128, 2)
        self.value_head = nn.Linear(128, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


@program(steps=40)
def actor_critic(tick, steps):
    env, model = Pole(), ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    for _ in range(steps):
        state = env.reset()
        for _ in count():
            probs, value = model(torch.tensor(state).float())
            m = Categorical(probs)
            action = m.sample()
            model.saved_actions.append(SavedAction(m.log_prob(action), value))
            state, reward, done = env.step(action.item())
            model.rewards.append(reward)
            if done:
                break
        policy_losses, value_losses = [], []
        for (log_prob, value), goal in zip(model.saved_actions, discounted(model.rewards)):
            policy_losses.append(-log_prob * (goal - value.item()))
            value_losses.append(F.smooth_l1_loss(value, torch.tensor([goal])))
        optimizer.zero_grad()
        loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
        loss.backward()
        optimizer.step()
        turns = len(model.rewards)
        model.rewards.clear()
        model.saved_actions.clear()
        tick(loss.item() * 0.0, turns)
    return []


Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2, self.layer3 = nn.Linear(4, 128), nn.Linear(128, 128), nn.Linear(128, 2)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


@program(steps=300)
def dqn(tick, steps):
    random.seed(0)
    env, memory = Pole(), ReplayMemory(10000)
    policy_net, target_net = QNet(), QNet()
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-4, amsgrad=True)
    batch_size, gamma, tau = 64, 0.99, 0.005
    done_steps = 0

    def select_action(state):
        nonlocal done_steps
        threshold = 0.05 + 0.85 * math.exp(-1.0 * done_steps / 1000)
        done_steps += 1
        if random.random() > threshold:
            with torch.no_grad():
                return policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(2)]], dtype=torch.long)

    def optimize_model():
        if len(memory) < batch_size:
            return 0.0
        batch = Transition(*zip(*memory.sample(batch_size)))
        mask = torch.tensor(tuple(s is not None for s in batch.next_state), dtype=torch.bool)
        following = torch.cat([s for s in batch.next_state if s is not None])
        values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
        next_values = torch.zeros(batch_size)
        with torch.no_grad():
            next_values[mask] = target_net(following).max(1).values
        expected = next_values * gamma + torch.cat(batch.reward)
        loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        return loss.item()

    taken = 0
    while taken < steps:
        state = torch.tensor(env.reset()).unsqueeze(0)
        done = False
        while not done and taken < steps:
            action = select_action(state)
            observation, reward, done = env.step(action.item())
            next_state = None if done else torch.tensor(observation).unsqueeze(0)
            memory.push(state, action, next_state, torch.tensor([reward]))
            state = next_state
            optimize_model()
            target, policy = target_net.state_dict(), policy_net.state_dict()
            for key in policy:
                target[key] = policy[key] * tau + target[key] * (1 - tau)
            target_net.load_state_dict(target)
            tick(0.0)
            taken += 1
    return []


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )
        self.actor = nn.Sequential(
            nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


@program(steps=12)
def ppo(tick, steps):
    """A step is a rollout of 4 environments over 32 turns, and 4 epochs over minibatches."""
    envs, agent = [Pole(seed) for seed in range(4)], Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    turns, gamma, lam, clip = 32, 0.99, 0.95, 0.2
    obs = torch.zeros((turns, 4, 4))
    actions, logprobs, rewards, dones, values = (torch.zeros((turns, 4)) for _ in range(5))
    next_obs = torch.tensor([env.reset() for env in envs])
    next_done = torch.zeros(4)
    for iteration in range(steps):
        optimizer.param_groups[0]["lr"] = (1.0 - iteration / steps) * 2.5e-4
        for turn in range(turns):
            obs[turn], dones[turn] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[turn] = value.flatten()
            actions[turn], logprobs[turn] = action, logprob
            found = [env.step(a) for env, a in zip(envs, action.tolist())]
            rewards[turn] = torch.tensor([reward for _, reward, _ in found])
            next_done = torch.tensor([float(done) for _, _, done in found])
            next_obs = torch.tensor(
                [env.reset() if done else state for env, (state, _, done) in zip(envs, found)]
            )
        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages, last = torch.zeros_like(rewards), 0
            for t in reversed(range(turns)):
                final = t == turns - 1
                alive = 1.0 - (next_done if final else dones[t + 1])
                delta = rewards[t] + gamma * (next_value if final else values[t + 1]) * alive - values[t]
                advantages[t] = last = delta + gamma * lam * alive * last
            returns = advantages + values
        flat = [part.reshape(-1, *part.shape[2:]) for part in (obs, logprobs, actions, advantages, returns)]
        for _ in range(4):
            for indices in torch.randperm(turns * 4).split(32):
                o, old, a, advantage, goal = (part[indices] for part in flat)
                _, new, entropy, value = agent.get_action_and_value(o, a.long())
                ratio = (new - old).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = torch.clamp(ratio, 1 - clip, 1 + clip)
                policy_loss = torch.max(-advantage * ratio, -advantage * clipped).mean()
                value_loss = 0.5 * ((value.view(-1) - goal) ** 2).mean()
                loss = policy_loss - 0.01 * entropy.mean() + value_loss * 0.5
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        tick(0.0)
    return []
