"""Writes the scores of docs/operators.md on the operator tests of onnxruntime-web, which `tests/ort_web.py` reads.

    WEBNN_COMPILE_ORT_WEB=FOLDER python tests/ort_web_scores.py [TARGET ...]

runs all cases of the folder on these targets, by default on all that this machine can run. Rows of other targets stay
where they are of as many cases.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from drivers import missing
from ort_web import EXCLUDED, INVALID, LAYOUT, OPERATOR, OPSET, TYPES, all_cases, files, reasons, run
from scores import PAGE, Counts, counts_of, results_of, rows, section_of, write_section, written_counts
from webnn_compile.driver.targets import TARGETS
from webnn_compile.ops.call import operator_name

HEADING = "## onnxruntime-web's operator tests"

TEXT = """{heading}

The repository of onnxruntime has tests of operators in browsers, models of one node with inputs and outputs, in
[js/web/test/data/ops](https://github.com/microsoft/onnxruntime/tree/main/js/web/test/data/ops) (MIT licence; they are
not part of this repository). `WEBNN_COMPILE_ORT_WEB=FOLDER python tests/ort_web_scores.py` runs the files of a folder
and writes these tables, here those of {files} files, which have {total} cases. A case without an opset has the newest
one that has what it uses; conditions on the platform are ignored.

| target | passed | not supported | wrong |
| --- | --- | --- | --- |
{rows}
Those that do not pass on any target:

| why | cases | operators |
| --- | --- | --- |
{reasons}
"""


def section(counts: Counts) -> str:
    """The text of the scores."""
    cases, lines = all_cases(), []
    for reason in (OPERATOR, LAYOUT, TYPES, OPSET, INVALID, *EXCLUDED):
        names = [name for name, why in reasons().items() if why == reason]
        operators = sorted({operator_name(cases[name].domain, cases[name].op) for name in names})
        if names:
            lines.append(f"| {reason} | {len(names)} | {', '.join(operators)} |\n")
    return TEXT.format(
        heading=HEADING, files=len(files()), total=f"{len(cases):,}", rows=rows(counts), reasons="".join(lines)
    )


def main(targets: list[str]) -> None:
    cases = all_cases()
    written = written_counts(section_of(PAGE.read_text(), HEADING))
    counts = {target: numbers for target, numbers in written.items() if sum(numbers) == len(cases)}
    for target in targets:
        counts[target] = counts_of(results_of(run, list(cases), target, reasons()))
        write_section(HEADING, section(counts))


if __name__ == "__main__":
    main(sys.argv[1:] or [t for t in TARGETS if not missing(t)])
