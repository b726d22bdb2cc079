"""Weights that several models of a bundle have in common, in files of their own."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise

from .artifact import Artifact

LEAST = 2**16
"""Bytes of a file that several models have: a request costs more than fewer."""

_END = b""


def share_weights(artifacts: Sequence[Artifact]) -> list[tuple[int, ...]]:
    """Offsets in the weights of each artifact, between 0 and the end, where files have to begin so that constants of
    several artifacts are in files that all of these have.

    Constants that follow each other wherever one of them is stay in one file.
    """
    parts = [_parts(artifact) for artifact in artifacts]
    owners = Counter(digest for own in parts for digest in {d for d, _ in own})
    following: dict[bytes, set[bytes]] = {}
    preceding: dict[bytes, set[bytes]] = {}
    for own in parts:
        order = [_END, *(digest for digest, _ in own), _END]
        for before, after in pairwise(order):
            following.setdefault(before, set()).add(after)
            preceding.setdefault(after, set()).add(before)

    def runs(own: Sequence[tuple[bytes, int]]) -> list[tuple[bool, int]]:
        """Whether several models have them, and their bytes."""
        found: list[tuple[bool, int]] = []
        for i, (digest, size) in enumerate(own):
            shared, before = owners[digest] > 1, own[i - 1][0] if i else _END
            joined = len(following[before]) == 1 == len(preceding[digest])
            if found and joined and found[-1][0] == shared:
                found[-1] = (shared, found[-1][1] + size)
            else:
                found.append((shared, size))
        return [(shared and size >= LEAST, size) for shared, size in found]

    return [_bounds(runs(own)) for own in parts]


def _parts(artifact: Artifact) -> list[tuple[bytes, int]]:
    """Hash and size of each constant, all of the weights where they are not known."""
    starts = artifact.constants or (0,)
    return [
        (hashlib.sha256(artifact.weights[start:end]).digest(), end - start)
        for start, end in pairwise((*starts, len(artifact.weights)))
    ]


def _bounds(runs: Sequence[tuple[bool, int]]) -> tuple[int, ...]:
    """Where shared runs begin, and others behind them."""
    bounds, at = [], 0
    for _, own in groupby(enumerate(runs), lambda run: (run[1][0], run[0] if run[1][0] else -1)):
        if at:
            bounds.append(at)
        at += sum(size for _, (_, size) in own)
    return tuple(bounds)
