"""A C model as a program of its own, so that sanitizers and other compilers see all of it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import webnn_compile
from webnn_compile.c.render import render
from webnn_compile.codegen.c_ports import Ports
from webnn_compile.execution.c_model import CModel

Array = np.ndarray[Any, np.dtype[Any]]

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

MAIN = """#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>
static void *fill(const char *path, size_t size) {{
  unsigned char *p = malloc(size + !size);
  FILE *f = fopen(path, "rb");
  if (!p || !f || fread(p, 1, size, f) != size) exit(3);
  fclose(f);
  return p;
}}
static void write_out(const char *path, void *p, size_t size) {{
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(p, 1, size, f) != size) exit(4);
  fclose(f);
  free(p);
}}
int main(void) {{
  void *weights = fill("weights", {upper}_WEIGHTS_BYTES), *prepared = malloc({upper}_PREPARED_BYTES + 1);
  void *arena = malloc({upper}_ARENA_BYTES + 1);
{begin}
  {name}_prepare(weights, prepared);
  {name}_run(weights, prepared, arena{arguments});
{end}
  free(weights), free(prepared), free(arena);
  return 0;
}}
"""


def run_program(
    model: onnx.ModelProto, feeds: Mapping[str, Array], command: Sequence[str], folder: Path
) -> list[Array]:
    """The outputs by a program that `command` (a compiler with flags) makes of the model in `folder`."""
    shapes = {name: a.shape for name, a in feeds.items()}
    compiled = webnn_compile.compile(model, target="c", shapes=shapes)
    assert isinstance(compiled, CModel)
    program = compiled.program
    source = render(program)
    ins = [(f"in{i}", t) for i, t in enumerate(program.inputs)]
    outs = [(f"out{i}", t) for i, t in enumerate(program.outputs)]
    begin = [f'  void *{n} = fill("{n}", {t.bytes});' for n, t in ins]
    begin += [f"  void *{n} = malloc({t.bytes} + 1);" for n, t in outs]
    end = [f'  write_out("{n}", {n}, {t.bytes});' for n, t in outs] + [f"  free({n});" for n, _ in ins]
    ports = Ports.of(program)
    if ports.vary:  # sizes that data decides: shapes are fixed
        begin.append(f"  void *sizes = malloc({8 * ports.count});")
        end.append(f'  write_out("sizes", sizes, {8 * ports.count});')
    main = MAIN.format(
        name=source.name,
        upper=source.name.upper(),
        begin="\n".join(begin),
        end="\n".join(end),
        arguments="".join(f", {n}" for n in (*(["sizes"] if ports.vary else []), *(n for n, _ in (*ins, *outs)))),
    )
    files = {f"{source.name}.c": source.code, f"{source.name}.h": source.header, "main.c": main}
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "weights").write_bytes(program.weights)
    for name, t in ins:
        (folder / name).write_bytes(np.ascontiguousarray(feeds[t.name]).tobytes())
    made = subprocess.run(
        [*command, *STRICT, f"{source.name}.c", "main.c", "-o", "program", "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[:4000]
    done = subprocess.run([folder / "program"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    sizes = np.fromfile(folder / "sizes", np.int64) if ports.vary else np.zeros(0, np.int64)
    shapes = [tuple(n if isinstance(n, int) else int(sizes[ports.number(n)]) for n in t.shape) for _, t in outs]
    read = [np.fromfile(folder / n, t.dtype.numpy) for n, t in outs]
    return [a[: prod(shape)].reshape(shape) for a, shape in zip(read, shapes, strict=True)]
