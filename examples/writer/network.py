"""The decoder: four layers of attention with rotary positions, over characters."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, CONTEXT = 128, 4, 3, 256
SIZE = WIDTH // HEADS

Cache = tuple[Tensor, Tensor]


class Layer(nn.Module):
    """Attention over the cache's keys and values and the new ones, and two products; each behind a normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_products = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.query, self.key, self.value, self.mix = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.dropout = nn.Dropout(0.05)

    def forward(self, x: Tensor, turns: Cache, hidden: Tensor, past: Cache | None) -> tuple[Tensor, Cache]:
        normal = self.before_attention(x)
        query, key, value = (_heads(layer(normal)) for layer in (self.query, self.key, self.value))
        query, key = _turned(query, turns), _turned(key, turns)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        scores = query @ key.transpose(2, 3) * SIZE**-0.5 + hidden
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        x = x + self.dropout(self.mix(mixed))
        return x + self.dropout(self.down(F.gelu(self.up(self.before_products(x))))), (key, value)


class Decoder(nn.Module):
    """Logits [1, length, vocabulary] of the characters behind each of `ids` [1, length], and each layer's keys and
    values [1, HEADS, past + length, SIZE]."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(vocabulary, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH, bias=False)
        self.logits = nn.Linear(WIDTH, vocabulary, bias=False)
        angles = torch.arange(CONTEXT)[:, None] * 10000.0 ** -(torch.arange(0, SIZE, 2) / SIZE)
        self.register_buffer("cosines", angles.cos().repeat(1, 2))
        self.register_buffer("sines", angles.sin().repeat(1, 2))
        for layer in self.modules():
            if isinstance(layer, nn.Linear | nn.Embedding):
                nn.init.normal_(layer.weight, std=0.5 * WIDTH**-0.5)

    def forward(self, ids: Tensor, past: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        behind = 0 if past is None else past[0][0].shape[2]
        places = torch.arange(behind, behind + ids.shape[1])
        turns = self.cosines[places], self.sines[places]
        later = torch.arange(behind + ids.shape[1]) > places[:, None]
        hidden = torch.where(later, -1e9, 0.0)
        x = self.characters(ids)
        present = []
        for i, layer in enumerate(self.layers):
            x, cache = layer(x, turns, hidden, None if past is None else past[i])
            present.append(cache)
        return self.logits(self.last(x)), present


def _heads(x: Tensor) -> Tensor:
    return x.unflatten(2, (HEADS, SIZE)).transpose(1, 2)


def _turned(x: Tensor, turns: Cache) -> Tensor:
    """Rows of heads, each pair of halves turned by its position's angle (RoPE, Su et al., 2021)."""
    first, second = x.chunk(2, -1)
    return x * turns[0] + torch.cat([-second, first], -1) * turns[1]
