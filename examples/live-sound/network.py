"""The listener: the energy of 32 bands, and a recurrent layer over them, in chunks of 32 ms."""

from __future__ import annotations

import math

import torch
from sounds import CHUNK, NAMES, RATE
from torch import Tensor, nn

BANDS, WINDOW, HOP, WIDTH = 32, 256, 128, 40
CONTEXT = WINDOW - HOP
"""Samples of the chunk before that the first window of a chunk covers."""


def filters() -> Tensor:
    """Cosines and sines of each band below a Hann window, float32 [2 * BANDS, 1, WINDOW]; bands are as far from each
    other as pitches sound, from 80 Hz to 7 kHz."""
    low, high = (1127 * math.log(1 + hertz / 700) for hertz in (80, 7000))
    hertz = 700 * ((torch.linspace(low, high, BANDS) / 1127).exp() - 1)
    angles = 2 * math.pi * hertz[:, None] * (torch.arange(WINDOW) - WINDOW / 2) / RATE
    window = torch.hann_window(WINDOW) / (WINDOW / 4)
    return torch.cat([angles.cos() * window, angles.sin() * window])[:, None]


class Listener(nn.Module):
    """Probabilities [1, 3] that `samples` [1, CHUNK] are of a voice, a whistle, a clap; then the end of the samples
    [1, CONTEXT] and what the recurrent layer keeps [1, 1, WIDTH], both of them states: zeros at first, then what the
    chunk before has given."""

    def __init__(self) -> None:
        super().__init__()
        self.bands = nn.Conv1d(1, 2 * BANDS, WINDOW, stride=HOP, bias=False)
        self.bands.weight = nn.Parameter(filters(), requires_grad=False)
        self.mix = nn.Linear(BANDS, WIDTH)
        self.memory = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.scores = nn.Linear(WIDTH, len(NAMES))

    def forward(self, samples: Tensor, context: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sound = torch.cat([context, samples], 1)
        waves = self.bands(sound[:, None]).square()
        energy = (waves[:, :BANDS] + waves[:, BANDS:] + 1e-7).log() / 4 + 2
        rows, hidden = self.memory(self.mix(energy.transpose(1, 2)).relu(), hidden)
        return self.scores(rows[:, -1]).sigmoid(), sound[:, -CONTEXT:], hidden

    def logits(self, clips: Tensor) -> Tensor:
        """Logits [batch, chunks, 3] of clips [batch, chunks, CHUNK]: the chunks one after the other, from zeros."""
        sound = torch.cat([torch.zeros(len(clips), CONTEXT), clips.flatten(1)], 1)
        waves = self.bands(sound[:, None]).square()
        energy = (waves[:, :BANDS] + waves[:, BANDS:] + 1e-7).log() / 4 + 2
        rows, _ = self.memory(self.mix(energy.transpose(1, 2)).relu())
        return self.scores(rows[:, CHUNK // HOP - 1 :: CHUNK // HOP])
