"""Greedy decoding with the cache handed from run to run: by onnxruntime, or by whatever runs the same model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]

PAST, PRESENT = "past_key_values", "present"
DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


def session(model: Path | bytes) -> ort.InferenceSession:
    """An onnxruntime session of one thread."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # exporters declare some sizes of outputs to be those that they traced
    return ort.InferenceSession(
        model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
    )


def run_of(model: ort.InferenceSession) -> Run:
    names = [o.name for o in model.get_outputs()]
    return lambda feeds: dict(zip(names, model.run(names, dict(feeds)), strict=True))


@dataclass(frozen=True)
class Decoded:
    """The `tokens`, and the least `margin` by which one was the best, in standard deviations of its logits."""

    tokens: list[int]
    margin: float


def greedy(
    model: ort.InferenceSession,
    ids: Sequence[int],
    count: int,
    run: Run | None = None,
    given: Mapping[str, Array] | None = None,
    before: Mapping[str, Array] | None = None,
) -> Decoded:
    """The `count` tokens that follow `ids`, by `run`; without it by the `model`, which says in any case which inputs
    there are.

    The prompt is one run, and each token one more. The inputs `past_key_values.X` are empty at first, or what `before`
    has, and then the outputs `present.X` of the run before; where there is none they stay. `given` are inputs that are
    the same in each run, as an encoder's results. A merged model gets `use_cache_branch` from the second run on.
    """
    run = run or run_of(model)
    inputs = {i.name: i for i in model.get_inputs()}
    past = empty_cache(model) | {n: a for n, a in (before or {}).items() if n in inputs}
    length = next((a.shape[2] for n, a in past.items() if ".encoder." not in n), 0)
    new, margin, tokens = list(ids), np.inf, list[int]()
    for step in range(count):
        total = length + len(new)
        feeds: dict[str, Array] = {
            "input_ids": np.array([new]),
            "attention_mask": np.ones((1, total), np.int64),
            "position_ids": np.arange(length, total)[None],
            "cache_position": np.arange(length, total),
            "use_cache_branch": np.array([step > 0]),
            **past,
            **(given or {}),
        }
        made = run({n: a for n, a in feeds.items() if n in inputs})
        # The branch of a merged model that has a cache returns nothing in place of what it was given of the encoder.
        past |= {n: made[m] for n in past if (m := _present(n)) in made and (step == 0 or ".encoder." not in n)}
        logits = np.asarray(made["logits"])[0, -1].astype(np.float32)
        second, best = np.partition(logits, -2)[-2:]
        margin = min(margin, float((best - second) / logits.std()))
        tokens.append(int(logits.argmax()))
        new, length = tokens[-1:], total
    return Decoded(tokens, margin)


def empty_cache(model: ort.InferenceSession, size: int = 0) -> dict[str, Array]:
    """The cache before the first token, of a batch of one. `size` is that of a head, where the model leaves it open."""
    shapes = {i.name: (DTYPES[i.type], i.shape) for i in model.get_inputs() if i.name.startswith(PAST)}
    return {
        n: np.zeros(
            (1, heads, length if isinstance(length, int) else 0, last if isinstance(last, int) else size), dtype
        )
        for n, (dtype, (_, heads, length, last)) in shapes.items()
    }


def _present(name: str) -> str:
    return name.replace(PAST, PRESENT, 1)
