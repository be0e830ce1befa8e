"""Ways to train: a trainer with callbacks, low-rank adapters, private gradients, a state space model."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad_and_value, vmap
from torch.utils.data import DataLoader, Dataset, RandomSampler

from benchmarks.programs.language import GPT, GPTConfig
from benchmarks.programs.registry import program


class SortDataset(Dataset):
    """Sequences of digits followed by the sorted digits; what is not to be predicted is -1."""

    def __init__(self, length=6, digits=3):
        self.length, self.digits = length, digits

    def __len__(self):
        return 10000

    def __getitem__(self, index):
        source = torch.randint(self.digits, size=(self.length,), dtype=torch.long)
        whole = torch.cat((source, torch.sort(source)[0]), dim=0)
        x, y = whole[:-1].clone(), whole[1:].clone()
        y[: self.length - 1] = -1
        return x, y


class Trainer:
    def __init__(self, config, model, dataset):
        self.config, self.model, self.dataset = config, model, dataset
        self.callbacks = defaultdict(list)
        self.iter_num, self.iter_time, self.iter_dt = 0, 0.0, 0.0

    def add_callback(self, event, callback):
        self.callbacks[event].append(callback)

    def trigger_callbacks(self, event):
        for callback in self.callbacks.get(event, []):
            callback(self)

    def run(self):
        model, config = self.model, self.config
        self.optimizer = model.configure_optimizers(config.weight_decay, config.learning_rate)
        loader = DataLoader(
            self.dataset,
            sampler=RandomSampler(self.dataset, replacement=True, num_samples=int(1e10)),
            shuffle=False,
            batch_size=config.batch_size,
        )
        model.train()
        self.iter_time = time.time()
        data_iter = iter(loader)
        while True:
            try:
                batch = next(data_iter)
            except StopIteration:
                data_iter = iter(loader)
                batch = next(data_iter)
            x, y = [t.to("cpu") for t in batch]
            _, self.loss = model(x, y)
            model.zero_grad(set_to_none=True)
            self.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_norm_clip)
            self.optimizer.step()
            self.trigger_callbacks("on_batch_end")
            self.iter_num += 1
            now = time.time()
            self.iter_dt, self.iter_time = now - self.iter_time, now
            if config.max_iters is not None and self.iter_num >= config.max_iters:
                break


@torch.no_grad()
def count_sorted(model, dataset, batches=2):
    model.eval()
    right = 0
    for _ in range(batches):
        x = torch.stack([dataset[i][0][: dataset.length] for i in range(16)])
        found = model.generate(x, dataset.length, top_k=1)[:, dataset.length :]
        right += (found == torch.sort(x)[0]).all(1).sum().item()
    model.train()
    return right


@program(steps=60)
def mingpt(tick, steps):
    dataset = SortDataset()
    model = GPT(GPTConfig(block_size=11, vocab_size=3, n_layer=3, n_head=3, n_embd=48))
    config = SimpleNamespace(
        batch_size=64, learning_rate=5e-4, weight_decay=0.1, grad_norm_clip=1.0, max_iters=steps
    )
    trainer = Trainer(config, model, dataset)

    def batch_end(trainer):
        if trainer.iter_num % 10 == 0:
            f"iter_dt {trainer.iter_dt * 1000:.2f}ms; iter {trainer.iter_num}: {trainer.loss.item():.5f}"
        if trainer.iter_num % 25 == 24:
            count_sorted(model, dataset)
        tick(trainer.loss.item())

    trainer.add_callback("on_batch_end", batch_end)
    trainer.run()
    return model.parameters()


class LoRALinear(nn.Module):
    """A frozen layer with a low-rank part that is trained beside it."""

    def __init__(self, base, r, alpha, dropout):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.zeros(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.lora_dropout = nn.Dropout(p=dropout) if dropout > 0.0 else nn.Identity()
        self.scaling, self.merged = alpha / r, False
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        result = self.base(x)
        if not self.merged:
            low = F.linear(self.lora_dropout(x), self.lora_A)
            result = result + self.scaling * F.linear(low, self.lora_B)
        return result


def add_adapters(module, names, **options):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and name in names:
            setattr(module, name, LoRALinear(child, **options))
        else:
            add_adapters(child, names, **options)


@program(steps=50)
def lora(tick, steps):
    """Batches have three lengths; gradients of two of them are added up."""
    model = GPT(GPTConfig(n_layer=4, n_embd=96, vocab_size=100))
    for parameter in model.parameters():
        parameter.requires_grad = False
    add_adapters(model.transformer.h, ("c_attn", "c_fc"), r=4, alpha=8, dropout=0.0)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    model.train()
    for step in range(steps):
        tokens = torch.randint(0, 100, (8, (33, 41, 57)[step % 3]))
        _, loss = model(tokens[:, :-1], tokens[:, 1:].contiguous())
        (loss / 2).backward()
        if step % 2 == 1:
            nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        tick(loss.detach().float())
    return trained


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 8, 2, padding=3), nn.Conv2d(16, 32, 4, 2)
        self.fc1, self.fc2 = nn.Linear(32 * 4 * 4, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2, 1)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2, 1)
        return self.fc2(F.relu(self.fc1(x.view(x.shape[0], -1))))


@program(steps=30)
def dp_sgd(tick, steps):
    """The gradient of each sample is clipped; noise is added to their sum."""
    model = SmallNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    clip, noise, batch = 1.0, 0.5, 16

    def sample_loss(params, image, label):
        output = functional_call(model, params, (image.unsqueeze(0),))
        return F.cross_entropy(output, label.unsqueeze(0))

    per_sample = vmap(grad_and_value(sample_loss), in_dims=(None, 0, 0))
    for _ in range(steps):
        images, labels = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
        params = {name: value.detach() for name, value in model.named_parameters()}
        grads, losses = per_sample(params, images, labels)
        norms = torch.stack([grad.flatten(1).norm(2, dim=1) for grad in grads.values()], dim=1).norm(2, dim=1)
        factor = (clip / (norms + 1e-6)).clamp(max=1.0)
        for name, parameter in model.named_parameters():
            summed = torch.einsum("i,i...", factor, grads[name])
            summed += torch.normal(0.0, noise * clip, summed.shape)
            parameter.grad = summed / batch
        optimizer.step()
        optimizer.zero_grad()
        tick(losses.mean().item())
    return model.parameters()


class MambaMixer(nn.Module):
    """A selective state space, scanned step by step."""

    def __init__(self, hidden, state=16, kernel=4):
        super().__init__()
        self.inner, self.state, self.rank = 2 * hidden, state, math.ceil(hidden / 16)
        self.conv1d = nn.Conv1d(self.inner, self.inner, kernel, groups=self.inner, padding=kernel - 1)
        self.act = nn.SiLU()
        self.in_proj = nn.Linear(hidden, self.inner * 2, bias=False)
        self.x_proj = nn.Linear(self.inner, self.rank + state * 2, bias=False)
        self.dt_proj = nn.Linear(self.rank, self.inner)
        steps = torch.arange(1, state + 1, dtype=torch.float32)[None].expand(self.inner, -1).contiguous()
        self.A_log, self.D = nn.Parameter(torch.log(steps)), nn.Parameter(torch.ones(self.inner))
        self.out_proj = nn.Linear(self.inner, hidden, bias=False)

    def forward(self, input_states):
        batch, length, _ = input_states.shape
        dtype = input_states.dtype
        hidden, gate = self.in_proj(input_states).transpose(1, 2).chunk(2, dim=1)
        ssm_state = torch.zeros((batch, self.inner, self.state), dtype=dtype)
        hidden = self.act(self.conv1d(hidden)[..., :length])
        parameters = self.x_proj(hidden.transpose(1, 2))
        time_step, B, C = torch.split(parameters, [self.rank, self.state, self.state], dim=-1)
        time_step = F.softplus(self.dt_proj(time_step)).transpose(1, 2)
        A = -torch.exp(self.A_log.float())
        discrete_A = torch.exp(A[None, :, None, :] * time_step[:, :, :, None])
        discrete_B = time_step[:, :, :, None] * B[:, None, :, :].float()
        deltaB_u = discrete_B * hidden[:, :, :, None].float()
        scan_outputs = []
        for i in range(length):
            ssm_state = discrete_A[:, :, i, :] * ssm_state + deltaB_u[:, :, i, :]
            scan_output = torch.matmul(ssm_state.to(dtype), C[:, i, :].unsqueeze(-1))
            scan_outputs.append(scan_output[:, :, 0])
        scan_output = torch.stack(scan_outputs, dim=-1)
        scan_output = (scan_output + hidden * self.D[None, :, None]) * self.act(gate)
        return self.out_proj(scan_output.transpose(1, 2))


class MambaModel(nn.Module):
    def __init__(self, words=200, hidden=48, layers=2):
        super().__init__()
        self.embeddings = nn.Embedding(words, hidden)
        self.layers = nn.ModuleList(
            nn.ModuleDict({"norm": nn.RMSNorm(hidden), "mixer": MambaMixer(hidden)}) for _ in range(layers)
        )
        self.norm_f, self.lm_head = nn.RMSNorm(hidden), nn.Linear(hidden, words, bias=False)

    def forward(self, ids, labels=None):
        hidden = self.embeddings(ids)
        for block in self.layers:
            hidden = hidden + block["mixer"](block["norm"](hidden))
        logits = self.lm_head(self.norm_f(hidden)).float()
        loss = None
        if labels is not None:
            shifted = logits[..., :-1, :].contiguous()
            loss = F.cross_entropy(shifted.view(-1, logits.size(-1)), labels[..., 1:].contiguous().view(-1))
        return SimpleNamespace(loss=loss, logits=logits)


@program(steps=40)
def mamba(tick, steps):
    model = MambaModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        ids = torch.randint(0, 200, (4, 24))
        loss = model(ids, labels=ids).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        tick(loss.item())
    return model.parameters()
