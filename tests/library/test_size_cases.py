"""Sizes that a library takes, and the shapes that follow from them: the table that Python and JavaScript share."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from ctypes import CDLL, c_char_p, c_int64
from pathlib import Path

import pytest
from size_cases import SizeModel, size_models
from webnn_compile.library.render import render_library
from webnn_compile.program.program import Program


@pytest.mark.parametrize("model", size_models(), ids=lambda m: "-".join(d.name for d in m.dimensions))
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_cases(model: SizeModel, tmp_path: Path) -> None:
    program = Program("net", (), (), model.inputs, (), b"", 0, dimensions=model.dimensions)
    made = render_library(program, "net", ["#define PROCESSOR_SUITS 1"], "", ["(void)sizes;"], "openmp.c")
    (tmp_path / "net_library.c").write_text(made.source)
    (tmp_path / "net_library.h").write_text(made.header)
    subprocess.run(["cc", "-shared", "-fPIC", "net_library.c", "-o", "net.so"], cwd=tmp_path, check=True)
    library = CDLL(str(tmp_path / "net.so"))

    library.net_message.restype = c_char_p

    def shape_of(number: int, sizes: Sequence[int]) -> tuple[str, tuple[int, ...]]:
        shape = (c_int64 * 8)()
        status = library.net_input_shape(number, (c_int64 * len(sizes))(*sizes), shape)
        return library.net_message(status).decode(), tuple(shape[: len(model.inputs[number].shape)])

    for case in model.cases:
        if case.sizes is None:  # of a shape that contradicts another one, or the dimension
            continue
        for number, shape in enumerate(case.shapes):
            message, found = shape_of(number, case.sizes)
            if case.error:
                assert message.startswith("sizes that the model was not compiled for: it takes "), case
            else:
                assert (message, found) == ("no error", shape), case
