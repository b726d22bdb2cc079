"""Small networks of the kinds that have sizes which vary, as one writes them in PyTorch."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS = 20, 2
MOST_FRAMES, MOST_TOKENS = 64, 32
"""Numbers of positional embeddings: the longest input."""

Cache = tuple[Tensor, Tensor]
"""Keys and values of the tokens before: batch x HEADS x past x WIDTH / HEADS."""


class Recurrent(nn.Module):
    """batch x length x 10 -> batch x length x 6, and the last states."""

    def __init__(self, kind: type[nn.LSTM | nn.GRU]) -> None:
        super().__init__()
        self.layers = kind(10, 14, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(28, 6)

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        states, last = self.layers(features)
        return self.head(states), *(last if isinstance(last, tuple) else (last,))


class Attention(nn.Module):
    """Whisper's: keys have no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(
        self, x: Tensor, states: Tensor, mask: Tensor | None = None, past: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """From `x` to `states`; also the keys and values, after those of `past`."""
        keys, values = _heads(self.key(states)), _heads(self.value(states))
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        mixed = F.scaled_dot_product_attention(_heads(self.query(x)), keys, values, mask)
        return self.out(mixed.transpose(1, 2).flatten(2)), (keys, values)


def _heads(x: Tensor) -> Tensor:
    return x.unflatten(2, (HEADS, WIDTH // HEADS)).transpose(1, 2)


class Layer(nn.Module):
    """A transformer's, normalised before each part; with `crossed` it attends to an encoder's states, too."""

    def __init__(self, crossed: bool = False) -> None:
        super().__init__()
        self.attention, self.norm = Attention(), nn.LayerNorm(WIDTH)
        if crossed:
            self.cross, self.cross_norm = Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(
        self, x: Tensor, states: Tensor | None = None, mask: Tensor | None = None, past: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        normal = self.norm(x)
        mixed, present = self.attention(normal, normal, mask, past)
        x = x + mixed
        if states is not None:
            x = x + self.cross(self.cross_norm(x), states)[0]
        return x + self.mlp(x), present


class AudioEncoder(nn.Module):
    """Whisper's: batch x 16 x frames of a mel spectrogram -> batch x ceil(frames / 2) x WIDTH."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(16, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.randn(MOST_FRAMES, WIDTH) / 4)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, mel: Tensor) -> Tensor:
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        x = x + self.positions[: x.shape[1]]
        for layer in self.layers:
            x, _ = layer(x)
        return self.norm(x)


class Decoder(nn.Module):
    """Whisper's: tokens, batch x length, and an encoder's states -> batch x length x 50 logits."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, WIDTH)
        self.positions = nn.Parameter(torch.randn(MOST_TOKENS, WIDTH) / 4)
        self.layers = nn.ModuleList(Layer(crossed=True) for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.register_buffer("mask", torch.full((MOST_TOKENS, MOST_TOKENS), -torch.inf).triu(1), persistent=False)

    def forward(self, tokens: Tensor, states: Tensor) -> Tensor:
        return self.decode(tokens, states, [None] * len(self.layers))[0]

    def decode(self, tokens: Tensor, states: Tensor, past: list[Cache | None]) -> tuple[Tensor, list[Cache]]:
        """Logits, and what the layers keep of all tokens so far."""
        before = 0 if past[0] is None else past[0][0].shape[2]
        after = before + tokens.shape[1]
        x = self.tokens(tokens) + self.positions[before:after]
        presents = []
        for layer, cache in zip(self.layers, past, strict=True):
            x, present = layer(x, states, self.mask[before:after, :after], cache)
            presents.append(present)
        return self.norm(x) @ self.tokens.weight.T, presents


class CachedDecoder(nn.Module):
    """A `Decoder` with the keys and values of the tokens before as inputs, and those of all tokens as outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder = Decoder()

    def forward(
        self, tokens: Tensor, states: Tensor, key0: Tensor, value0: Tensor, key1: Tensor, value1: Tensor
    ) -> tuple[Tensor, ...]:
        logits, ((k0, v0), (k1, v1)) = self.decoder.decode(tokens, states, [(key0, value0), (key1, value1)])
        return logits, k0, v0, k1, v1


class TextEncoder(nn.Module):
    """Embeds sentences: tokens and which of them count, batch x length -> unit vectors, batch x WIDTH."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50, WIDTH), nn.Embedding(MOST_TOKENS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x, _ = layer(x, mask=mask[:, None, None, :].bool())
        counted = mask.unsqueeze(2).to(x.dtype)
        return F.normalize((self.norm(x) * counted).sum(1) / counted.sum(1).clamp(min=1), dim=1)


class Transformer(nn.Module):
    """PyTorch's own, over batch x length x WIDTH; `mask` says what counts."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 3 * WIDTH, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.layers(x, src_key_padding_mask=mask == 0)
