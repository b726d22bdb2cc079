"""The C source around a program's functions that makes them a library. The texts stand beside this file: `name_` and
`NAME_` in them stand for the library's prefix. Names that are not public begin with capitals, as no prefix does.

Lines between `/* if VARIES */`, or `unless`, and `/* end */`, and the text in `/*if VARIES: text*/`, are for models
with sizes that vary alone, or for others. SIZED are those of which a run chooses sizes, SHAPED those of which shapes of
inputs are known before a run, REFUSES those with branches that no run may take, STATES those with states, REWINDS those
of which all have rows, FAILS those of which a run may fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ..codegen.c_ports import Ports
from ..codegen.c_sizes import functions
from ..codegen.c_states import STATUSES, status_macros
from ..program.dimensions import Dimension
from ..program.plan_memory import ALIGNMENT
from ..program.program import Program, TensorSpec
from ..program.states import follows, grows
from ..text.escape import c_string, line_comment

CONDITION = re.compile(r"/\* (?:(if|unless) (\w+)|end) \*/\n")
INLINE = re.compile(r"/\*if (\w+): (.*?)\*/")
PLACE = re.compile(r"NAME_STATUSES|NAME_STATE_FUNCTIONS|NAME_STRING|NAME_PREFIX|NAME_CACHE_LINE|\b(name|NAME)(?=_)")


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
    statements over `weights`, `prepared`, `arena`, `inputs`, `outputs` and, where there are such, `state` and the
    `sizes` of `Ports`. `threads` is the file that has them."""
    ports = Ports.of(program)
    sizes = ("void *state, " if ports.states else "") + ("int64_t *sizes, " if ports.vary else "")
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
        *_states(prefix, ports),
        "",
        "static void PrepareModel(const unsigned char *weights, unsigned char *prepared) {",
        f"  {prepare}",
        "}",
        "",
        f"static {'int' if ports.returns else 'void'} RunModel("
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
    states = ports.states
    texts = {
        "NAME_STATUSES": "\n".join(status_macros(prefix.upper())),
        "NAME_STATE_FUNCTIONS": ""
        if states is None
        else "\n".join(states.declarations(prefix, f"{prefix.upper()}_API ")),
        "NAME_STRING": _plain(ports.program.name),
        "NAME_PREFIX": prefix,
        "NAME_CACHE_LINE": str(ALIGNMENT),
        "name": prefix,
        "NAME": prefix.upper(),
    }
    holds = {
        "VARIES": ports.vary,
        "SIZED": bool(ports.given),
        "REFUSES": bool(ports.program.refusals),
        "STATES": bool(states),
        "REWINDS": states is not None and states.rewinds,
        "SHAPED": ports.are_shaped,
        "FAILS": ports.returns,
    }
    text = files(__package__).joinpath(file).read_text()
    return PLACE.sub(lambda m: texts[m[0]], _chosen(text, holds))


def _chosen(text: str, holds: Mapping[str, bool]) -> str:
    """The lines of a text of which all conditions around them hold."""
    lines, around = [], list[bool]()
    for line in text.splitlines(keepends=True):
        found = CONDITION.fullmatch(line)
        if found is None:
            lines += [line] if all(around) else []
        elif found[1]:
            around.append(holds[found[2]] == (found[1] == "if"))
        else:
            around.pop()
    return INLINE.sub(lambda m: m[2] if holds[m[1]] else "", "".join(lines))


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
    dimensions = ports.given
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
        lines.append(f"#define SIZES_TAKEN {c_string(spans)}")
    if ports.are_shaped:
        lines += [
            "",
            "static void SetKnownSizes(int64_t *sizes) {",
            *(f"  {line}" for line in ports.derived() or ["(void)sizes;"]),
            "}",
        ]
    return lines


def _states(prefix: str, ports: Ports) -> list[str]:
    """The tables of states and of their lengths, and what reads these."""
    states = ports.states
    if states is None:
        return []
    lengths = states.lengths
    named = {d.name: i for i, d in enumerate(lengths)}

    def growth(d: Dimension) -> int:
        return (1 if follows(lengths, d) else 2) if grows(d) else 0

    entries = [
        f"    {{{c_string(d.name)}, {d.most}, {d.multiple}, {named.get(d.dropped_of or '', -1)}, {growth(d)}}},"
        for d in lengths
    ]
    texts = ", ".join(map(c_string, STATUSES.values()))
    return [
        f"#define STATES {len(ports.program.states)}",
        f"#define STATE_BYTES {states.size}",
        f"#define LENGTHS {len(lengths)}",
        *_tensors(prefix, "States", ports.program.states, ports),
        _table("size_t", "StateOffsets", (s.offset for s in ports.program.states)),
        f"static const {prefix}_length LengthsOfModel[] = {{",
        *(entries or ["    {0}"]),
        "};",
        f"static const char *const StateTexts[] = {{{texts}}};",
        "",
        "static int64_t *KeptOf(const void *state) {",
        f"  return (int64_t *)(void *)((unsigned char *)(uintptr_t)state + {states.at});",
        "}",
    ]


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
