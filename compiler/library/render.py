"""The C source around a program's functions that makes them a library. The texts stand beside this file: `name_` and
`NAME_` in them stand for the library's prefix. Names that callers do not see begin with capitals, as no prefix does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ..program.program import Program, TensorSpec

PLACE = re.compile(r"NAME_STRING|NAME_PREFIX|\b(name|NAME)(?=_)")


@dataclass(frozen=True, slots=True)
class Library:
    """Texts of files: `source` of NAME_library.c, `header` of NAME_library.h, `cpp` of NAME.hpp."""

    source: str
    header: str
    cpp: str


def render_library(
    program: Program, prefix: str, declarations: Sequence[str], prepare: str, run: Sequence[str], threads: str
) -> Library:
    """`prefix` begins the names of what the library exports. `declarations` are of what `prepare` and `run` call:
    statements over `weights`, `prepared`, `arena`, `inputs` and `outputs`. `threads` is the file that has them."""
    parts = [
        f'#include "{prefix}_library.h"',
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
        *declarations,
        "",
        *_sizes(program),
        *_tensors(prefix, "Inputs", program.inputs),
        *_tensors(prefix, "Outputs", program.outputs),
        "",
        "static void PrepareModel(const unsigned char *weights, unsigned char *prepared) {",
        f"  {prepare}",
        "}",
        "",
        "static void RunModel(const unsigned char *weights, unsigned char *prepared, unsigned char *arena,",
        "                      const void *const *inputs, void *const *outputs) {",
        *(f"  {line}" for line in ["(void)inputs, (void)outputs;", *run]),
        "}",
        "",
        _text(threads, program.name, prefix),
        _text("library.c", program.name, prefix),
    ]
    header, cpp = (_text(name, program.name, prefix) for name in ("library.h", "library.hpp"))
    return Library("\n".join(parts), header, cpp)


def checksum(weights: bytes) -> int:
    """Fletcher's of 64-bit words, as library.c computes it."""
    words = np.frombuffer(weights, np.uint64)
    total = int(words.sum(dtype=np.uint64))
    totals = int((words * np.arange(words.size, 0, -1, dtype=np.uint64)).sum(dtype=np.uint64))
    return total ^ (totals << 32 | totals >> 32) & 2**64 - 1


def _text(file: str, model: str, prefix: str) -> str:
    plain = re.sub(r"[^\w .,()+-]", "_", model, flags=re.ASCII)
    found = {"NAME_STRING": plain, "NAME_PREFIX": prefix, "name": prefix, "NAME": prefix.upper()}
    return PLACE.sub(lambda m: found[m[0]], files(__package__).joinpath(file).read_text())


def _sizes(program: Program) -> list[str]:
    sizes = {
        "INPUTS": len(program.inputs),
        "OUTPUTS": len(program.outputs),
        "WEIGHTS_BYTES": len(program.weights),
        "WEIGHTS_CHECKSUM": f"UINT64_C({checksum(program.weights)})",
        "PREPARED_BYTES": program.prepared,
        "ARENA_BYTES": program.arena,
    }
    return [f"#define {name} {value}" for name, value in sizes.items()]


def _tensors(prefix: str, name: str, tensors: Sequence[TensorSpec]) -> list[str]:
    """The tables of their shapes, and of themselves; a table has at least one entry."""
    shapes = [
        f"static const int64_t ShapeOf{name}{i}[] = {{{', '.join(map(str, t.shape)) or '0'}}};"
        for i, t in enumerate(tensors)
    ]
    entries = [
        f'    {{{_quoted(t.name)}, "{t.dtype}", {len(t.shape)}, ShapeOf{name}{i}, {t.bytes}}},'
        for i, t in enumerate(tensors)
    ]
    return [*shapes, f"static const {prefix}_tensor {name}OfModel[] = {{", *(entries or ["    {0}"]), "};"]


def _quoted(text: str) -> str:
    """A string of C: what is not plain ASCII as octal digits of its UTF-8."""
    plain = set(map(ord, " !#$%&'()*+,-./:;<=>@[]^_`{|}~")) | set(
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'
