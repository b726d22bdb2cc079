"""Writes the scores of docs/operators.md on the operator tests of onnxruntime-web, which `tests/ort_web.py` reads.

    WEBNN_COMPILE_ORT_WEB=FOLDER python tests/ort_web_scores.py [TARGET ...]

runs all cases of the folder on these targets, by default on all that this machine can run. Rows of other targets stay
where they are of as many cases.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ort_web import EXCLUDED, INVALID, LAYOUT, OPERATOR, OPSET, TYPES, all_cases, files, reasons, run
from scores import Counts, reason_rows, rows, write_scores
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
    cases, order = all_cases(), (OPERATOR, LAYOUT, TYPES, OPSET, INVALID, *EXCLUDED)
    return TEXT.format(
        heading=HEADING,
        files=len(files()),
        total=f"{len(cases):,}",
        rows=rows(counts),
        reasons=reason_rows(reasons(), order, lambda name: [operator_name(cases[name].domain, cases[name].op)]),
    )


if __name__ == "__main__":
    write_scores(HEADING, section, run, list(all_cases()), reasons(), sys.argv[1:])
