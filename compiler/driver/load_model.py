"""The Python interface to models that were compiled before."""

from __future__ import annotations

from pathlib import Path

from ..execution.load_library import LoadedModel, load_library
from ..generation.decoder import generation_of
from ..generation.generating import Generating


def load(path: str | Path, threads: int = 1) -> LoadedModel | Generating:
    """The model in a folder that `webnn-compile --targets native` wrote, or `--targets c` once its source is built:
    libNAME.so and NAME.weights. `path` may also be that of the library. A decoder that was compiled with --generate has
    `generate`; the tokens that end a text are those of its `end`. Raises InputError where there is none, or where it
    cannot be used."""
    loaded = load_library(path, threads)
    generation = generation_of(loaded.inputs, loaded.outputs, loaded.states)
    return loaded if generation is None else Generating(loaded, generation)
