"""docs/operators.md has every operator, with its types in tests, and those that GPUs leave to WebAssembly, and the
scores of ONNX's node tests."""

from __future__ import annotations

import re

import pytest
from effort import every_nth_row
from node_scores import HEADING
from operators_page import OWN, by_operator, page, wide_on_host
from ort_web_scores import HEADING as ORT_WEB
from scores import PAGE, section_of, written_counts
from test_onnx_node_data import NAMES, REASONS
from webnn_compile.ops import OPERATORS
from webnn_scores import HEADING as WEBNN

WRITTEN = {
    name: [t for t in host.split(", ") if t]
    for name, host in re.findall(r"^\| ([\w.]*[A-Z]\w*) \|.*\| (.*?) ?\|$", PAGE.read_text(), re.M)
}
FEW = [(op, rows) for op, rows in by_operator().items() if every_nth_row(op[1], 16)]


def named(operator: tuple[str, str]) -> str:
    return ".".join(filter(None, operator))


def test_it_has_every_operator_and_type() -> None:
    assert {named(op) for op in OPERATORS if op[0] != OWN} == set(WRITTEN)
    assert page(lambda op, _: WRITTEN[named(op)]) == PAGE.read_text(), "run tests/operators_page.py"


def test_the_scores_are_of_these_tests() -> None:
    """Natively as many pass as `test_node` runs, and no row leaves out a test."""
    counts = written_counts(section_of(PAGE.read_text(), HEADING))
    assert counts["native"][0] == len(NAMES) - len(REASONS), "run tests/node_scores.py"
    assert {target for target, numbers in counts.items() if sum(numbers) != len(NAMES)} == set()


@pytest.mark.parametrize(
    ("heading", "cases", "script"),
    [(ORT_WEB, "cases", "ort_web_scores.py"), (WEBNN, "graphs", "webnn_scores.py")],
    ids=["onnxruntime-web", "web-platform-tests"],
)
def test_the_scores_of_other_projects_tests(heading: str, cases: str, script: str) -> None:
    """No row leaves out a case, and natively those that do not pass have a reason each. The cases are not at hand."""
    section = section_of(PAGE.read_text(), heading)
    (total,) = (int(n.replace(",", "")) for n in re.findall(rf"which have ([\d,]+) {cases}", section))
    counts = written_counts(section)
    assert {target for target, numbers in counts.items() if sum(numbers) != total} == set()
    reasons = re.findall(r"^\| [^|]* \| (\d+) \| [^|]* \|$", section, re.M)
    assert counts["native"][0] == total - sum(map(int, reasons)), f"run tests/{script}"


@pytest.mark.parametrize(("operator", "rows"), FEW, ids=[named(op) for op, _ in FEW])
def test_what_webassembly_computes(operator: tuple[str, str], rows: list) -> None:
    assert wide_on_host(rows) == WRITTEN[named(operator)]
