"""Decoding: transformers that write token after token, with caches that grow or are filled in place."""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


class MultiHead(nn.Module):
    """Attention; `cache` keeps the keys and values of the earlier tokens, or those of the encoder."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.query, self.value, self.out = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
        self.key = nn.Linear(size, size, bias=False)

    def forward(self, x, source=None, mask=None, cache=None):
        q = self.query(x)
        if source is None:
            k, v = self.key(x), self.value(x)
            if cache is not None:
                if id(self) in cache:
                    past_k, past_v = cache[id(self)]
                    k, v = torch.cat([past_k, k], dim=1), torch.cat([past_v, v], dim=1)
                cache[id(self)] = (k, v)
        elif cache is not None and id(self) in cache:
            k, v = cache[id(self)]
        else:
            k, v = self.key(source), self.value(source)
            if cache is not None:
                cache[id(self)] = (k, v)
        _, length, size = q.shape
        scale = (size // self.heads) ** -0.25
        q = q.view(*q.shape[:2], self.heads, -1).permute(0, 2, 1, 3) * scale
        k = k.view(*k.shape[:2], self.heads, -1).permute(0, 2, 3, 1) * scale
        v = v.view(*v.shape[:2], self.heads, -1).permute(0, 2, 1, 3)
        scores = q @ k
        if mask is not None:
            scores = scores + mask[:length, :length]
        weights = F.softmax(scores.float(), dim=-1).to(q.dtype)
        return self.out((weights @ v).permute(0, 2, 1, 3).flatten(start_dim=2))


class DecoderBlock(nn.Module):
    def __init__(self, size, heads, cross=False):
        super().__init__()
        self.attn, self.attn_ln = MultiHead(size, heads), nn.LayerNorm(size)
        self.cross_attn = MultiHead(size, heads) if cross else None
        self.cross_ln = nn.LayerNorm(size) if cross else None
        self.mlp = nn.Sequential(nn.Linear(size, size * 4), nn.GELU(), nn.Linear(size * 4, size))
        self.mlp_ln = nn.LayerNorm(size)

    def forward(self, x, source=None, mask=None, cache=None):
        x = x + self.attn(self.attn_ln(x), mask=mask, cache=cache)
        if self.cross_attn is not None:
            x = x + self.cross_attn(self.cross_ln(x), source, cache=cache)
        return x + self.mlp(self.mlp_ln(x))


def sinusoids(length, channels):
    steps = torch.exp(-math.log(10000) / (channels // 2 - 1) * torch.arange(channels // 2))
    angles = torch.arange(length)[:, None] * steps[None]
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


class AudioEncoder(nn.Module):
    def __init__(self, mels, context, size, heads, layers):
        super().__init__()
        self.conv1 = nn.Conv1d(mels, size, 3, padding=1)
        self.conv2 = nn.Conv1d(size, size, 3, stride=2, padding=1)
        self.register_buffer("positions", sinusoids(context, size))
        self.blocks = nn.ModuleList([DecoderBlock(size, heads) for _ in range(layers)])
        self.ln_post = nn.LayerNorm(size)

    def forward(self, x):
        x = F.gelu(self.conv2(F.gelu(self.conv1(x)))).permute(0, 2, 1)
        assert x.shape[1:] == self.positions.shape, "incorrect audio shape"
        x = (x + self.positions).to(x.dtype)
        for block in self.blocks:
            x = block(x)
        return self.ln_post(x)


class TextDecoder(nn.Module):
    def __init__(self, words, context, size, heads, layers):
        super().__init__()
        self.tokens = nn.Embedding(words, size)
        nn.init.normal_(self.tokens.weight, std=0.05)
        self.positions = nn.Parameter(torch.randn(context, size) * 0.02)
        self.blocks = nn.ModuleList([DecoderBlock(size, heads, cross=True) for _ in range(layers)])
        self.ln = nn.LayerNorm(size)
        self.register_buffer("mask", torch.empty(context, context).fill_(-math.inf).triu_(1), False)

    def forward(self, x, audio, cache=None):
        offset = next(iter(cache.values()))[0].shape[1] if cache else 0
        x = self.tokens(x) + self.positions[offset : offset + x.shape[-1]]
        for block in self.blocks:
            x = block(x, audio, mask=self.mask, cache=cache)
        return (self.ln(x) @ torch.transpose(self.tokens.weight, 0, 1)).float()


class SuppressTokens:
    def __init__(self, tokens):
        self.tokens = list(tokens)

    def apply(self, logits, tokens):
        logits[:, self.tokens] = -math.inf


class SuppressBlank:
    def __init__(self, begin, blank):
        self.begin, self.blank = begin, blank

    def apply(self, logits, tokens):
        if tokens.shape[1] == self.begin:
            logits[:, self.blank] = -math.inf


class GreedyDecoder:
    def __init__(self, temperature, end):
        self.temperature, self.end = temperature, end

    def update(self, tokens, logits, sum_logprobs):
        if self.temperature == 0:
            following = logits.argmax(dim=-1)
        else:
            following = torch.distributions.Categorical(logits=logits / self.temperature).sample()
        logprobs = F.log_softmax(logits.float(), dim=-1)
        current = logprobs[torch.arange(logprobs.shape[0]), following]
        sum_logprobs += current * (tokens[:, -1] != self.end)
        following[tokens[:, -1] == self.end] = self.end
        tokens = torch.cat([tokens, following[:, None]], dim=-1)
        return tokens, bool((tokens[:, -1] == self.end).all())


@program(steps=16, optimizers=False)
def whisper(tick, steps):
    """A step is a recording: it is encoded, and 16 tokens are decoded from it."""
    encoder, decoder = AudioEncoder(40, 100, 96, 4, 2).eval(), TextDecoder(400, 64, 96, 4, 2).eval()
    filters = [SuppressBlank(3, 7), SuppressTokens([1, 2, 5, 399])]
    found = []
    for step in range(steps):
        audio = encoder(torch.randn(1, 40, 200)).detach()
        tokens, sum_logprobs = torch.tensor([[0, 10, 11]]), torch.zeros(1)
        greedy, cache = GreedyDecoder(0.0 if step % 4 else 0.5, end=399), {}
        for i in range(16):
            with torch.no_grad():
                logits = decoder(tokens if i == 0 else tokens[:, -1:], audio, cache)[:, -1]
                for part in filters:
                    part.apply(logits, tokens)
                tokens, completed = greedy.update(tokens, logits, sum_logprobs)
            if completed or tokens.shape[-1] > 60:
                break
        found.append(sum_logprobs)
        tick(sum_logprobs.item() / tokens.shape[1])
    return found


class StaticCache:
    """Keys and values in memory for the longest sequence; each step writes its own rows."""

    def __init__(self, layers, batch, heads, length, size):
        self.keys = [torch.zeros(batch, heads, length, size) for _ in range(layers)]
        self.values = [torch.zeros(batch, heads, length, size) for _ in range(layers)]

    def update(self, layer, position, k, v):
        self.keys[layer].index_copy_(2, position, k)
        self.values[layer].index_copy_(2, position, v)
        return self.keys[layer], self.values[layer]


class CachedLayer(nn.Module):
    def __init__(self, number, size, heads):
        super().__init__()
        self.number, self.heads = number, heads
        self.norm1, self.norm2 = nn.RMSNorm(size), nn.RMSNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size, bias=False), nn.Linear(size, size, bias=False)
        self.gate, self.up = nn.Linear(size, 2 * size, bias=False), nn.Linear(size, 2 * size, bias=False)
        self.down = nn.Linear(2 * size, size, bias=False)

    def forward(self, x, rotary, mask, position, cache):
        batch, length, size = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, *rotary), rotate(k, *rotary)
        k, v = cache.update(self.number, position, k, v)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, size))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def rotate(x, cos, sin):
    left, right = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class CachedModel(nn.Module):
    def __init__(self, words=500, size=128, heads=4, layers=3, length=128):
        super().__init__()
        self.embed, self.norm = nn.Embedding(words, size), nn.RMSNorm(size)
        self.layers = nn.ModuleList(CachedLayer(i, size, heads) for i in range(layers))
        self.head = nn.Linear(size, words, bias=False)
        self.length = length
        self.register_buffer("inverse", 1.0 / 10000 ** (torch.arange(0, size // heads, 2) / (size // heads)))

    def forward(self, tokens, position, cache):
        angles = position[:, None].float() * self.inverse[None]
        angles = torch.cat((angles, angles), dim=-1)
        mask = torch.arange(self.length)[None] <= position[:, None]
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, (angles.cos(), angles.sin()), mask, position, cache)
        return self.head(self.norm(x[:, -1:]))


@torch.inference_mode()
def complete(model, prompt, count, temperature=1.0, top_p=0.9):
    cache = StaticCache(len(model.layers), prompt.shape[0], 4, model.length, 32)
    tokens, position = prompt, torch.arange(prompt.shape[1])
    for _ in range(count):
        logits = model(tokens if position.numel() > 1 else tokens[:, -1:], position, cache)[:, -1]
        probs = F.softmax(logits / temperature, dim=-1)
        ordered, index = torch.sort(probs, dim=-1, descending=True)
        ordered[torch.cumsum(ordered, dim=-1) - ordered > top_p] = 0.0
        chosen = torch.multinomial(ordered / ordered.sum(dim=-1, keepdim=True), 1)
        tokens = torch.cat((tokens, torch.gather(index, -1, chosen)), dim=1)
        position = position[-1:] + 1
    return tokens


@program(steps=16, optimizers=False)
def static_cache(tick, steps):
    """A step is a prompt of another length, and 16 tokens behind it."""
    model = CachedModel().eval()
    tokens = torch.zeros(1, 1)
    for step in range(steps):
        prompt = torch.randint(0, 500, (2, 8 + step % 5))
        tokens = complete(model, prompt, 16)
        tick(0.0)
    return [tokens.float()]


@torch.no_grad()
def beam_search(model, prompt, beams, count, end=3):
    """The best of `beams` sequences; the cache is reordered when a beam is left."""
    cache = {}
    tokens, scores = prompt.repeat(beams, 1), torch.tensor([0.0] + [-1e9] * (beams - 1))
    audio = torch.zeros(beams, 4, 96)
    for i in range(count):
        logits = model(tokens if i == 0 else tokens[:, -1:], audio, cache)[:, -1]
        total = F.log_softmax(logits, dim=-1) + scores[:, None]
        scores, flat = total.view(-1).topk(beams)
        beam, word = flat // logits.shape[-1], flat % logits.shape[-1]
        tokens = torch.cat([tokens[beam], word[:, None]], dim=1)
        for key, (k, v) in cache.items():
            cache[key] = (k.index_select(0, beam), v.index_select(0, beam))
        if bool((word == end).all()):
            break
    return tokens[scores.argmax()], scores.max()


@program(steps=16, optimizers=False)
def beams(tick, steps):
    """A step is a prompt, and 12 tokens behind it by a search with four beams."""
    model = TextDecoder(400, 64, 96, 4, 2).eval()
    best = torch.zeros(1)
    for _ in range(steps):
        _, best = beam_search(model, torch.randint(4, 400, (1, 4)), 4, 12)
        tick(best.item())
    return [best]
