"""Writes docs/operators.md: the operators by element type and target, from the rows of the operator table.

    python tests/operators_page.py

compiles the rows of types of 64 bits for WebGPU; `tests/node_scores.py`, `tests/ort_web_scores.py` and
`tests/webnn_scores.py` write the scores on it.
`tests/docs/test_operators.py` holds the page against the table.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from node_scores import HEADING, section
from op_table import Case, all_cases, make_model
from ort_web_scores import HEADING as ORT_WEB
from scores import PAGE, section_of, written_counts
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.pipeline.weights import Weights
from webnn_compile.system.cache import open_cache
from webnn_scores import HEADING as WEBNN

OWN = "webnn_compile"
"""The domain of operators that the compiler adds to a model, for pictures, sounds and answers."""
WIDE = ("float64", "int64", "uint64")
"""Types that GPUs lack."""

Operator = tuple[str, str]
HEAD = """# Operators

<!-- written by tests/operators_page.py -->

Every operator runs on every target: WebGPU, WebGL 2, WebAssembly, native code, C, OpenCL and CUDA. Tests compare each
on each with onnxruntime, with the types of elements below. Shaders have no types of 64 bits: a kernel that computes
in one of the last column runs in WebAssembly between those of the GPU (in Python, on the processor), and the
compiler's table says so. int64 runs on the GPU where its values provably fit 32 bits, as those of indices, sizes and
class numbers do.

ONNX models of any opset are taken. Control flow (If, Loop, Scan), functions, sequences and optional values have no
row here: they are part of the model, not of a kernel. [Command line](command-line.md#operators-and-types) says which
types of elements a model may have.

com.microsoft.DynamicQuantizeLSTM quantises the states of a batch with one scale, as onnxruntime does with one thread.
With several threads and a batch above 1, onnxruntime quantises parts of the batch apart, and its results differ a
little with their number.
com.microsoft.QLinearAveragePool with ceil_mode=1 and count_include_pad=1 divides by the elements of a window that lie
within the padded input, as AveragePool does; onnxruntime divides by all of the window.

## Models

Tests compile these and compare them with onnxruntime: {models}. The fuzzer adds random graphs of all operators.

{scores}## By type of element

| operator | types of elements in tests | on a GPU, computed in WebAssembly |
| --- | --- | --- |
"""


def models() -> str:
    """The names of the networks that the tests have."""
    from exported import MODELS
    from test_light_models import NAMES
    from test_models import NETWORKS

    exports = dict.fromkeys(name.rpartition("_")[0].replace("_", " ") for name in MODELS)
    return (
        f"{', '.join(network.file for network in NETWORKS)}; of ONNX's own tests {', '.join(NAMES)}; "
        f"by PyTorch's exporters {', '.join(exports)}, with sizes that vary; silero vad"
    )


def types_of(case: Case) -> set[str]:
    return {str(a.dtype) for a in case.inputs if a is not None}


def by_operator() -> dict[Operator, list[Case]]:
    """The rows of each operator that a model may have."""
    rows: dict[Operator, list[Case]] = defaultdict(list)
    for case in all_cases():
        if case.domain != OWN:
            rows[case.domain, case.op].append(case)
    return dict(sorted(rows.items()))


def wide_on_host(rows: Iterable[Case]) -> list[str]:
    """The types of 64 bits with which a row has a kernel that WebGPU cannot compute."""
    first = {}
    for case in rows:
        for name in types_of(case) & set(WIDE):
            first.setdefault((name, frozenset(types_of(case))), (name, case))
    return sorted({name for name, case in first.values() if any(name in why for why in reasons(case))})


def reasons(case: Case) -> set[str]:
    """Why kernels of the row's model run on the host in place of WebGPU."""
    work = Work(case.id, Options(model_inputs(None, None, None)), open_cache(enabled=False), lambda _: None)
    optimised = optimise_model(import_graph(make_model(case), work), work)
    target = TARGETS["webgpu"]
    partition = target.plan(target.lower(optimised, work), Weights(), work).partition  # type: ignore[attr-defined]
    return set(partition.reasons.values())


def page(host: Callable[[Operator, list[Case]], list[str]]) -> str:
    """The text of the page, with the last column by `host`."""
    lines = []
    for operator, rows in by_operator().items():
        types = sorted(
            set().union(*map(types_of, rows)), key=lambda t: (re.sub(r"\d+", "", t), int(re.sub(r"\D", "", t) or 0))
        )
        name = ".".join(filter(None, operator))
        lines.append(f"| {name} | {', '.join(types)} | {', '.join(host(operator, rows))} |\n")
    old = PAGE.read_text()
    # Tests of other projects are not at hand everywhere: their scores stay as they are.
    others = "".join(section_of(old, heading) or f"{heading}\n\n" for heading in (ORT_WEB, WEBNN))
    scores = section(written_counts(section_of(old, HEADING))) + others
    return HEAD.replace("{models}", models()).replace("{scores}", scores) + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(lambda _, rows: wide_on_host(rows)))
