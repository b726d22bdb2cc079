"""C of each construct, exactly, with the types and functions that it uses.

After a change that is meant: pytest --update-golden, then read the difference like code.
"""

from __future__ import annotations

import numpy as np
import pytest
from constructs import CONSTRUCTS
from kernel_checks import inputs_for, run_kernel
from test_golden import GOLDEN, compare
from webnn_compile.c.lower import PASSES
from webnn_compile.c.prelude import HEAD, NEEDS_VECTORS, Prelude
from webnn_compile.c.render import render_kernel
from webnn_compile.cpu.compile_for_cpu import lower_kernel


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_golden(construct: str, request: pytest.FixtureRequest) -> None:
    prelude = Prelude()
    text = render_kernel(lower_kernel(CONSTRUCTS[construct](), PASSES), construct, prelude)
    head = prelude.text().removeprefix(HEAD).replace(f"{NEEDS_VECTORS}\n", "")
    text = f"{head}\n{text}".lstrip()
    compare(GOLDEN / "c" / f"{construct}.c", text, request.config.getoption("update_golden"))


def test_no_golden_file_is_left_over() -> None:
    assert sorted(p.stem for p in (GOLDEN / "c").iterdir()) == sorted(CONSTRUCTS)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_every_pass_keeps_the_meaning(construct: str) -> None:
    kernel = CONSTRUCTS[construct]()
    inputs = inputs_for(kernel)
    want = run_kernel(kernel, inputs)
    for run in PASSES:
        kernel = run(kernel)
        for a, b in zip(run_kernel(kernel, inputs), want, strict=True):
            np.testing.assert_allclose(a.reshape(b.shape), b, rtol=1e-5, atol=1e-6)
