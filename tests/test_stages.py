"""Every stage of the compiler, on rows of the operator table: kernels are valid and compute what NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import NARROW, WIDE, check_stages
from op_table import Case, all_cases, feeds, make_model
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes

EVERY = 6
"""One in so many rows of each operator runs, and the first."""


def sample() -> list[Case]:
    """Rows without NaN, infinities and overflow, which the operator table holds against onnxruntime."""
    seen: dict[str, int] = {}
    taken = []
    for case in all_cases():
        finite = all(
            np.isfinite(a).all() and np.abs(a.astype(np.float64)).max(initial=0) < 1e6
            for a in case.inputs
            if a is not None and a.dtype.kind == "f"
        )
        if finite:
            seen[case.op] = seen.get(case.op, -1) + 1
            if seen[case.op] % EVERY == 0:
                taken.append(case)
    return taken


@pytest.mark.parametrize(
    ("number", "case"), [*enumerate(sample())], ids=lambda v: v.id if isinstance(v, Case) else None
)
def test_stages(number: int, case: Case) -> None:
    """Odd rows for narrow vectors, even ones for wide."""
    given = feeds(case)
    graph = run_graph_passes(import_model(make_model(case), ModelInputs({name: a.shape for name, a in given.items()})))
    check_stages(graph, given, [(WIDE, NARROW)[number % 2]], tolerance=max(case.tolerance, 2e-5))
