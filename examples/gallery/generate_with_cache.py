"""Generation with a KV cache: one captured step, called once for each new token."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import capture

VOCABULARY, WIDTH, HEADS, LONGEST = 50, 32, 4, 24


class Decoder(nn.Module):
    """One layer of attention. `cache` has keys and values of shape (2, 1, HEADS, LONGEST, WIDTH / HEADS)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LONGEST, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, token: torch.Tensor, place: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        x = self.embed(token) + self.places(place)
        query, key, value = self.qkv(x).view(1, 1, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        cache[0].index_copy_(2, place, key)
        cache[1].index_copy_(2, place, value)
        seen = torch.arange(LONGEST) <= place
        mixed = scaled_dot_product_attention(query, cache[0], cache[1], attn_mask=seen[None, None, None])
        return self.head(x + mixed.transpose(1, 2).reshape(1, 1, WIDTH)).argmax(-1)[0]


@torch.no_grad()
def generate(step: nn.Module, tokens: int) -> list[int]:
    cache = torch.zeros(2, 1, HEADS, LONGEST, WIDTH // HEADS)
    token, text = torch.tensor([7]), [7]
    for place in range(tokens):
        token = step(token, torch.tensor([place]), cache)
        text.append(token.item())
    return text


def main() -> None:
    torch.manual_seed(0)
    model = Decoder()
    expected = generate(model, LONGEST)
    found = generate(capture.compile(model, fullgraph=True), LONGEST)
    print(found)
    print(f"{capture.counters['graphs']['compiled']} graph for {LONGEST} tokens")
    assert found == expected


if __name__ == "__main__":
    main()
