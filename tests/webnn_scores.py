"""Writes the scores of docs/operators.md on the web platform tests of WebNN, which `tests/webnn_cases.py` reads.

    WEBNN_COMPILE_WPT=FOLDER python tests/webnn_scores.py [TARGET ...]

runs all tests of the folder on these targets, by default on all that this machine can run. Rows of other targets stay
where they are of as many tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from scores import Counts, reason_rows, rows, write_scores
from webnn_cases import EXCLUDED, INEXACT, OPERATOR, all_cases, all_files, reasons, run

HEADING = "## Web platform tests of WebNN"

TEXT = """{heading}

The conformance tests of WebNN,
[webnn/conformance_tests](https://github.com/web-platform-tests/wpt/tree/master/webnn/conformance_tests) (BSD licence;
they are not part of this repository), are graphs with inputs, the outputs expected, and how many units in the last
place or how large a difference an implementation may be off. Each is compiled as a model of ONNX. Of {inexact} the
data are off the exact result by about as much, or more; so much more is allowed there.
`WEBNN_COMPILE_WPT=FOLDER python tests/webnn_scores.py` runs the files of a folder, with Node.js, and writes these
tables, here those of {files} files, of the middle of 2025, which have {total} graphs. Tests of calls of the interface
rather than of graphs are left out, as are preferences of a device: {calls}.

| target | passed | not supported | wrong |
| --- | --- | --- | --- |
{rows}
Those that do not pass on any target:

| why | graphs | operators |
| --- | --- | --- |
{reasons}
"""


def section(counts: Counts) -> str:
    """The text of the scores."""
    cases, files = all_cases(), all_files()
    return TEXT.format(
        heading=HEADING,
        files=sum(map(bool, files.values())),
        total=f"{len(cases):,}",
        inexact=len(INEXACT),
        calls=", ".join(name.partition(".")[0] for name, found in files.items() if not found),
        rows=rows(counts),
        reasons=reason_rows(
            reasons(), (OPERATOR, *EXCLUDED), lambda name: [o["name"] for o in cases[name].graph["operators"]]
        ),
    )


if __name__ == "__main__":
    write_scores(HEADING, section, run, list(all_cases()), reasons(), sys.argv[1:])
