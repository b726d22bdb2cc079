"""The C source around a program's functions that makes them a library. The texts stand beside this file: `name_` and
`NAME_` in them stand for the library's prefix. Names that are not public begin with capitals, as no prefix does.

Lines between `/* if VARIES */`, or `unless`, and `/* end */` are for models with sizes that vary alone, or for others;
SIZED are those of which a run chooses sizes, REFUSES those with branches that no run may take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ..codegen.c_ports import Ports, functions
from ..program.plan_memory import ALIGNMENT
from ..program.program import Program, TensorSpec
from ..text.escape import c_string, line_comment

CONDITIONAL = re.compile(r"^/\* (if|unless) (\w+) \*/\n(.*?)^/\* end \*/\n", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"NAME_STRING|NAME_PREFIX|NAME_CACHE_LINE|\b(name|NAME)(?=_)")


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
    statements over `weights`, `prepared`, `arena`, `inputs`, `outputs` and, where sizes vary, the `sizes` of `Ports`.
    `threads` is the file that has them."""
    ports = Ports.of(program)
    sizes = "int64_t *sizes, " if ports.vary else ""
    parts = [
        f'#include "{prefix}_library.h"',
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
        *functions((*ports.derived(), *run)),
        *declarations,
        "",
        *_sizes(program),
        *_tensors(prefix, "Inputs", program.inputs, ports),
        *_tensors(prefix, "Outputs", program.outputs, ports),
        *_dimensions(prefix, ports),
        *_refusals(program),
        "",
        "static void PrepareModel(const unsigned char *weights, unsigned char *prepared) {",
        f"  {prepare}",
        "}",
        "",
        f"static {'int' if program.refusals else 'void'} RunModel("
        "const unsigned char *weights, unsigned char *prepared, unsigned char *arena,",
        f"                      {sizes}const void *const *inputs, void *const *outputs) {{",
        *(f"  {line}" for line in ["(void)inputs, (void)outputs;", *run]),
        "}",
        "",
        _text(threads, prefix, ports),
        _text("library.c", prefix, ports),
    ]
    header, cpp = (_text(name, prefix, ports) for name in ("library.h", "library.hpp"))
    return Library("\n".join(parts), header, cpp)


def checksum(weights: bytes) -> int:
    """Fletcher's of 64-bit words, as library.c computes it."""
    words = np.frombuffer(weights, np.uint64)
    total = int(words.sum(dtype=np.uint64))
    totals = int((words * np.arange(words.size, 0, -1, dtype=np.uint64)).sum(dtype=np.uint64))
    return total ^ (totals << 32 | totals >> 32) & 2**64 - 1


def _text(file: str, prefix: str, ports: Ports) -> str:
    texts = {
        "NAME_STRING": _plain(ports.program.name),
        "NAME_PREFIX": prefix,
        "NAME_CACHE_LINE": str(ALIGNMENT),
        "name": prefix,
        "NAME": prefix.upper(),
    }
    holds = {
        "VARIES": ports.vary,
        "SIZED": bool(ports.program.dimensions),
        "REFUSES": bool(ports.program.refusals),
    }
    text = files(__package__).joinpath(file).read_text()
    text = CONDITIONAL.sub(lambda m: m[3] if holds[m[2]] == (m[1] == "if") else "", text)
    return PLACE.sub(lambda m: texts[m[0]], text)


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


def _tensors(prefix: str, name: str, tensors: Sequence[TensorSpec], ports: Ports) -> list[str]:
    """The tables of their shapes and dimensions, and of themselves; a table has at least one entry."""
    shapes = [_table("int64_t", f"ShapeOf{name}{i}", t.extents) for i, t in enumerate(tensors)]
    axes = [
        _table("int", f"DimensionsOf{name}{i}", map(ports.number, t.shape)) for i, t in enumerate(tensors) if ports.vary
    ]
    entries = [
        f'    {{{c_string(t.name)}, "{t.dtype}", {len(t.shape)}, ShapeOf{name}{i}, {t.bytes}'
        + (f", DimensionsOf{name}{i}}}," if ports.vary else "},")
        for i, t in enumerate(tensors)
    ]
    return [*shapes, *axes, f"static const {prefix}_tensor {name}OfModel[] = {{", *(entries or ["    {0}"]), "};"]


def _dimensions(prefix: str, ports: Ports) -> list[str]:
    """The table of them, where sizes vary; sizes that follow from them, and a text of what a run takes."""
    if not ports.vary:
        return []
    dimensions = ports.program.dimensions
    inputs = {t.name: i for i, t in enumerate(ports.program.inputs)}
    entries = [
        f"    {{{c_string(d.name)}, {d.least}, {d.most}, {d.multiple}, {inputs.get(d.value_of or '', -1)}}},"
        for d in dimensions
    ]
    lines = [
        f"#define DIMENSIONS {len(dimensions)}",
        f"#define SIZES {ports.count}",
        f"static const {prefix}_range DimensionsOfModel[] = {{",
        *(entries or ["    {0}"]),
        "};",
    ]
    if dimensions:
        spans = "; ".join(f"{d.name}: {d.span}" + (", as that input has it" if d.value_of else "") for d in dimensions)
        lines += [
            f"#define SIZES_TAKEN {c_string(spans)}",
            "",
            "static void SetKnownSizes(int64_t *sizes) {",
            *(f"  {line}" for line in ports.derived() or ["(void)sizes;"]),
            "}",
        ]
    return lines


def _refusals(program: Program) -> list[str]:
    if not program.refusals:
        return []
    texts = ", ".join(c_string(r.text) for r in program.refusals)
    return [f"#define REFUSALS {len(program.refusals)}", f"static const char *const Refusals[] = {{{texts}}};"]


def _table(kind: str, name: str, numbers: Iterable[int]) -> str:
    return f"static const {kind} {name}[] = {{{', '.join(map(str, numbers)) or '0'}}};"


def _plain(name: str) -> str:
    """A name that comments and strings of the texts beside this file contain unchanged: both `comment` and `c_string`
    keep it."""
    return re.sub(r"[^\w .,()+-]", "_", line_comment(name), flags=re.ASCII)
