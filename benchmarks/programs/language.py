"""Language models: words by an LSTM, characters by a transformer with sampling, translation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


class WordModel(nn.Module):
    def __init__(self, words, size, layers, dropout=0.2):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, size)
        self.rnn = nn.LSTM(size, size, layers, dropout=dropout)
        self.decoder = nn.Linear(size, words)
        self.decoder.weight = self.encoder.weight
        self.words, self.size, self.layers = words, size, layers
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, text, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(text)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.words)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return (
            weight.new_zeros(self.layers, batch, self.size),
            weight.new_zeros(self.layers, batch, self.size),
        )


def repackage_hidden(hidden):
    if isinstance(hidden, torch.Tensor):
        return hidden.detach()
    return tuple(repackage_hidden(part) for part in hidden)


@program(steps=40)
def word_lm(tick, steps):
    length, batch, words = 35, 10, 1000
    source = torch.randint(0, words, (steps * length + 1, batch))
    model = WordModel(words, 128, 2)
    criterion = nn.NLLLoss()
    lr, total = 5.0, 0.0
    model.train()
    hidden = model.init_hidden(batch)
    for number, i in enumerate(range(0, source.size(0) - 1, length)):
        data, targets = source[i : i + length], source[i + 1 : i + 1 + length].reshape(-1)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-lr)
        total += loss.item()
        if number % 10 == 0 and number > 0:
            math.exp(total / 10)
            total = 0.0
        tick(loss.item())
    return model.parameters()


@dataclass
class GPTConfig:
    block_size: int = 64
    vocab_size: int = 65
    n_layer: int = 4
    n_head: int = 4
    n_embd: int = 128
    dropout: float = 0.0
    bias: bool = True


class LayerNorm(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0, is_causal=True
        )
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class GPTBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.attn = LayerNorm(config.n_embd, config.bias), SelfAttention(config)
        self.ln_2, self.mlp = LayerNorm(config.n_embd, config.bias), MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, config.n_embd),
                "wpe": nn.Embedding(config.block_size, config.n_embd),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList([GPTBlock(config) for _ in range(config.n_layer)]),
                "ln_f": LayerNorm(config.n_embd, config.bias),
            }
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        _, t = idx.size()
        assert t <= self.config.block_size, f"Cannot forward sequence of length {t}"
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    def configure_optimizers(self, decay, lr):
        named = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in named.values() if p.dim() >= 2], "weight_decay": decay},
            {"params": [p for p in named.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.99))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        for _ in range(max_new_tokens):
            idx_cond = idx if idx.size(1) <= self.config.block_size else idx[:, -self.config.block_size :]
            logits, _ = self(idx_cond)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return idx


@program(steps=60)
def nanogpt(tick, steps):
    config = GPTConfig()
    data = torch.randint(0, config.vocab_size, (10000,))
    batch_size, warmup, eval_interval, lr = 8, 10, 30, 1e-3

    def get_batch():
        ix = torch.randint(len(data) - config.block_size, (batch_size,))
        x = torch.stack([data[i : i + config.block_size] for i in ix])
        y = torch.stack([data[i + 1 : i + 1 + config.block_size] for i in ix])
        return x, y

    def get_lr(it):
        if it < warmup:
            return lr * (it + 1) / (warmup + 1)
        ratio = (it - warmup) / (steps - warmup)
        return 1e-4 + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (lr - 1e-4)

    @torch.no_grad()
    def estimate_loss():
        out = {}
        model.eval()
        for split in ("train", "val"):
            losses = torch.zeros(2)
            for k in range(2):
                _, loss = model(*get_batch())
                losses[k] = loss.item()
            out[split] = losses.mean()
        model.train()
        return out

    model = GPT(config)
    optimizer = model.configure_optimizers(0.1, lr)
    X, Y = get_batch()
    for it in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it)
        if it % eval_interval == 0:
            estimate_loss()
        _, loss = model(X, Y)
        X, Y = get_batch()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        tick(loss.item())
    model.eval()
    model.generate(torch.zeros((1, 1), dtype=torch.long), 4, top_k=10)
    return model.parameters()


@program(steps=60)
def gpt_sampling(tick, steps):
    """A step is one token; the sequence grows."""
    model = GPT(GPTConfig(block_size=128)).eval()
    idx = torch.zeros((1, 1), dtype=torch.long)
    for _ in range(steps):
        idx = model.generate(idx, 1, temperature=0.8, top_k=20)
        tick(idx[0, -1].item() * 0.0)
    return [idx.float()]


class Positions(nn.Module):
    def __init__(self, size, dropout, length=100):
        super().__init__()
        scale = torch.exp(-torch.arange(0, size, 2) * math.log(10000) / size)
        angles = torch.arange(0, length).reshape(length, 1) * scale
        table = torch.zeros((length, size))
        table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", table.unsqueeze(-2))

    def forward(self, tokens):
        return self.dropout(tokens + self.table[: tokens.size(0), :])


class Translator(nn.Module):
    def __init__(self, words=500, size=64):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=size,
            nhead=4,
            num_encoder_layers=2,
            num_decoder_layers=2,
            dim_feedforward=128,
            dropout=0.0,
        )
        self.source, self.target = nn.Embedding(words, size), nn.Embedding(words, size)
        self.positions = Positions(size, 0.0)
        self.generator = nn.Linear(size, words)
        self.size = size

    def forward(self, source, target, mask, source_padding, target_padding):
        embedded = self.positions(self.source(source) * math.sqrt(self.size))
        shifted = self.positions(self.target(target) * math.sqrt(self.size))
        out = self.transformer(
            embedded, shifted, None, mask, None, source_padding, target_padding, source_padding
        )
        return self.generator(out)


def subsequent_mask(size):
    mask = (torch.triu(torch.ones((size, size))) == 1).transpose(0, 1)
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)


@program(steps=40)
def translation(tick, steps):
    """Each batch has the length of its longest sentence."""
    pad = 1
    model = Translator()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    criterion = nn.CrossEntropyLoss(ignore_index=pad)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    model.train()
    for _ in range(steps):
        lengths = [int(torch.randint(8, 12, ())), int(torch.randint(8, 12, ()))]
        source = torch.randint(2, 500, (lengths[0], 16))
        target = torch.randint(2, 500, (lengths[1], 16))
        source[-2:, ::2] = pad
        shifted = target[:-1]
        mask = subsequent_mask(shifted.shape[0])
        padding = [(source == pad).transpose(0, 1), (shifted == pad).transpose(0, 1)]
        logits = model(source, shifted, mask, *padding)
        optimizer.zero_grad()
        loss = criterion(logits.reshape(-1, logits.shape[-1]), target[1:].reshape(-1))
        loss.backward()
        optimizer.step()
        tick(loss.item())
    return model.parameters()
