"""Copies between an array of a run's shape and memory for the largest one: `strided_cases.json`, which the runtime's
tests read too, gives the places in that memory, in elements, by the order of the array's."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from ctypes import CDLL, c_int64, c_void_p
from pathlib import Path

import numpy as np
import pytest
from webnn_compile.codegen.c_ports import Ports
from webnn_compile.codegen.c_sizes import functions
from webnn_compile.dtypes import I16
from webnn_compile.ir.nodes import Scalar
from webnn_compile.program.dimensions import Dimension
from webnn_compile.program.program import Program, TensorSpec, read_tensor, write_tensor

CASES = [
    tuple(tuple(case[key]) for key in ("extents", "shape", "places"))
    for case in json.loads((Path(__file__).parent / "strided_cases.json").read_text())
]
OFFSET, SCALARS, ARENA = 6, 256, 512
Ints = tuple[int, ...]


def spec_of(extents: Ints, vary: Sequence[bool]) -> TensorSpec:
    """A tensor of which these axes vary."""
    axes = zip(extents, vary, strict=True)
    return TensorSpec("x", I16, tuple(Scalar(f"n{i}", n + 1) if v else n for i, (n, v) in enumerate(axes)), OFFSET)


def arena_with(array: np.ndarray, places: Ints) -> np.ndarray:
    arena = np.zeros(ARENA, np.uint8)
    arena[OFFSET:SCALARS].view(np.int16)[list(places)] = array.reshape(-1)
    return arena


@pytest.mark.parametrize(("extents", "shape", "places"), CASES, ids=str)
def test_python(extents: Ints, shape: Ints, places: Ints) -> None:
    spec = spec_of(extents, [True] * len(extents))
    array = np.arange(1, len(places) + 1, dtype=np.int16).reshape(shape)
    arena = np.zeros(ARENA, np.uint8)
    write_tensor(arena, spec, array)
    np.testing.assert_array_equal(arena, arena_with(array, places))
    sizes = {n: extent for n, extent in zip(spec.shape, shape, strict=True) if isinstance(n, Scalar)}
    np.testing.assert_array_equal(read_tensor(arena, spec, sizes), array, strict=True)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c(tmp_path: Path) -> None:
    """Where all axes vary, and where those alone do that are shorter than memory."""
    rows = [
        (case, spec_of(case[0], vary))
        for case in CASES
        for vary in {(True,) * len(case[0]), tuple(n != extent for n, extent in zip(case[1], case[0], strict=True))}
    ]
    lines = []
    for number, (_, spec) in enumerate(rows):
        scalars = [n for n in spec.shape if isinstance(n, Scalar)]
        dimensions = tuple(Dimension(s.name, s) for s in scalars)
        at = {s: SCALARS + 4 * i for i, s in enumerate(scalars)}
        ports = Ports.of(Program("net", (), (), (spec,), (spec,), b"", ARENA, dimensions=dimensions, scalars=at))
        for name, body in (("write", ports.before("arena", ["array"])), ("read", ports.after("arena", ["array"]))):
            lines += [f"void {name}{number}(unsigned char *arena, int64_t *sizes, void *array) {{", *body, "}"]
    source = ["#include <stdint.h>", "#include <string.h>", *functions(lines), *lines]
    (tmp_path / "copies.c").write_text("\n".join(source) + "\n")
    subprocess.run(["cc", "-shared", "-fPIC", "copies.c", "-o", "copies.so"], cwd=tmp_path, check=True)
    library = CDLL(str(tmp_path / "copies.so"))
    for number, ((_, shape, places), spec) in enumerate(rows):
        array = np.arange(1, len(places) + 1, dtype=np.int16).reshape(shape)
        varying = [extent for n, extent in zip(spec.shape, shape, strict=True) if isinstance(n, Scalar)]
        sizes = (c_int64 * max(1, len(varying)))(*varying)
        arena, result = np.zeros(ARENA, np.uint8), np.zeros(shape, np.int16)
        for name, data in (("write", array), ("read", result)):
            getattr(library, f"{name}{number}")(arena.ctypes.data_as(c_void_p), sizes, data.ctypes.data_as(c_void_p))
        np.testing.assert_array_equal(arena[:SCALARS], arena_with(array, places)[:SCALARS])
        np.testing.assert_array_equal(arena[SCALARS:].view(np.int32)[: len(varying)], varying)
        np.testing.assert_array_equal(result, array, strict=True)
