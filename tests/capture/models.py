"""Small models of common kinds, each with an input.

`MODELS[name]()` gives (module, positional arguments).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]] = {}


def model(
    make: Callable[[], tuple[nn.Module, tuple[Any, ...]]],
) -> Callable[[], tuple[nn.Module, tuple[Any, ...]]]:
    MODELS[make.__name__] = make
    return make


class Residual(nn.Module):
    def __init__(self, inner, outer, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.shortcut = None
        if stride != 1 or inner != outer:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x):
        kept = x if self.shortcut is None else self.shortcut(x)
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + kept)


@model
def resnet():
    body = [nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    blocks = [Residual(8, 8), Residual(8, 16, 2), Residual(16, 16)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)]
    return nn.Sequential(*body, *blocks, *head), (torch.randn(2, 3, 16, 16),)


class UNet(nn.Module):
    def __init__(self, widths=(4, 8, 16)):
        super().__init__()
        ins = (1, *widths[:-1])
        self.downs = nn.ModuleList([self.block(a, b) for a, b in zip(ins, widths)])
        self.ups = nn.ModuleList(
            [nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths[-2::-1], widths[:0:-1])]
        )
        self.merges = nn.ModuleList([self.block(2 * a, a) for a in widths[-2::-1]])
        self.head = nn.Conv2d(widths[0], 1, 1)

    @staticmethod
    def block(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(2, b), nn.SiLU())

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.downs):
            x = down(x)
            if i < len(self.downs) - 1:
                kept.append(x)
                x = F.max_pool2d(x, 2)
        for up, merge, skip in zip(self.ups, self.merges, reversed(kept)):
            x = merge(torch.cat([up(x), skip], dim=1))
        return self.head(x)


@model
def unet():
    return UNet(), (torch.randn(2, 1, 16, 16),)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.out = nn.Linear(12, 5)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.embed(tokens))
        return F.log_softmax(self.out(hidden), -1)


@model
def lstm_tagger():
    return Tagger(), (torch.randint(0, 20, (3, 7)),)


class LoopedCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 6)
        results = []
        for t in range(x.shape[1]):
            h, c = self.cell(x[:, t], (h, c))
            results.append(self.out(h))
        return torch.stack(results, 1)


@model
def lstm_loop():
    return LoopedCell(), (torch.randn(3, 5, 4),)


class GraphConvolution(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x, edges):
        source, target = edges
        degree = torch.zeros(x.shape[0]).index_add(0, target, torch.ones(target.shape[0])).clamp(min=1)
        weight = (degree[source] * degree[target]).rsqrt()
        h = self.linear(x)
        return torch.zeros_like(h).index_add(0, target, h[source] * weight[:, None])


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([GraphConvolution(6, 8), GraphConvolution(8, 3)])

    def forward(self, x, edges):
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, edges)), 0.2, self.training)
        return self.layers[-1](x, edges)


@model
def gcn():
    return GCN(), (torch.randn(10, 6), torch.randint(0, 10, (2, 30)))


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(n, 4, mode="sum") for n in (10, 20, 30)])
        self.bottom = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4))
        self.top = nn.Sequential(nn.Linear(4 + 6, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, dense, indices, offsets):
        features = [self.bottom(dense)]
        features += [table(i, o) for table, i, o in zip(self.tables, indices, offsets)]
        stacked = torch.stack(features, 1)
        products = stacked @ stacked.transpose(1, 2)
        rows, columns = torch.tril_indices(4, 4, offset=-1)
        return self.top(torch.cat([features[0], products[:, rows, columns]], 1))


@model
def dlrm():
    indices = [torch.randint(0, n, (6,)) for n in (10, 20, 30)]
    return DLRM(), (torch.randn(3, 5), indices, [torch.tensor([0, 2, 4])] * 3)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.actor, self.critic = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, state, action, old_log_probability, advantage):
        h = self.body(state)
        log_probabilities = F.log_softmax(self.actor(h), -1)
        chosen = log_probabilities.gather(1, action[:, None])[:, 0]
        ratio = (chosen - old_log_probability).exp()
        policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        entropy = -(log_probabilities.exp() * log_probabilities).sum(-1).mean()
        return policy + 0.5 * F.mse_loss(self.critic(h)[:, 0], advantage) - 0.01 * entropy


@model
def ppo_loss():
    return Policy(), (torch.randn(5, 4), torch.randint(0, 3, (5,)), torch.randn(5), torch.randn(5))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 6))
        self.decoder = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 12))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return F.binary_cross_entropy_with_logits(self.decoder(z), x.sigmoid(), reduction="sum") + divergence


@model
def vae():
    return VAE(), (torch.randn(4, 12),)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 6)
        self.encoder = nn.GRU(6, 8, batch_first=True)
        self.decoder = nn.GRUCell(6 + 8, 8)
        self.out = nn.Linear(8, 12)

    def forward(self, source, length):
        memory, state = self.encoder(self.embed(source))
        state, token = state[0], torch.zeros(source.shape[0], dtype=torch.long)
        logits = []
        for _ in range(length):
            scores = torch.softmax((memory @ state[:, :, None])[:, :, 0], 1)
            context = (scores[:, :, None] * memory).sum(1)
            state = self.decoder(torch.cat([self.embed(token), context], 1), state)
            logits.append(self.out(state))
            token = logits[-1].argmax(-1)
        return torch.stack(logits, 1)


@model
def seq2seq():
    return Seq2Seq(), (torch.randint(0, 12, (2, 5)), 4)


# --- of the transformers package ---


def _text(vocabulary: int = 50) -> torch.Tensor:
    return torch.randint(3, vocabulary, (2, 7))


def _small(**more: Any) -> dict[str, Any]:
    return {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        **more,
    }


@model
def transformers_bert():
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(BertConfig(**_small())), (_text(),)


@model
def transformers_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32, use_cache=False)
    ), (_text(),)


@model
def transformers_llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**_small(num_key_value_heads=1, use_cache=False))), (_text(),)


@model
def transformers_t5():
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, use_cache=False)
    return T5EncoderModel(config), (_text(),)


@model
def transformers_vit():
    from transformers import ViTConfig, ViTForImageClassification

    config = _small(image_size=16, patch_size=8)
    del config["vocab_size"]
    return ViTForImageClassification(ViTConfig(**config)), (torch.randn(2, 3, 16, 16),)
