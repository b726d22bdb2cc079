"""Writes the scores of docs/operators.md on the web platform tests of WebNN, which `tests/webnn_cases.py` reads.

    WEBNN_COMPILE_WPT=FOLDER python tests/webnn_scores.py [TARGET ...]

runs all tests of the folder on these targets, by default on all that this machine can run. Rows of other targets stay
where they are of as many tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from drivers import missing
from scores import PAGE, Counts, counts_of, results_of, rows, section_of, write_section, written_counts
from webnn_cases import EXCLUDED, INEXACT, OPERATOR, all_cases, all_files, reasons, run
from webnn_compile.driver.targets import TARGETS

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
    cases, files, lines = all_cases(), all_files(), []
    for reason in (OPERATOR, *EXCLUDED):
        names = [name for name, why in reasons().items() if why == reason]
        operators = sorted({operator["name"] for name in names for operator in cases[name].graph["operators"]})
        if names:
            lines.append(f"| {reason} | {len(names)} | {', '.join(operators)} |\n")
    return TEXT.format(
        heading=HEADING,
        files=sum(map(bool, files.values())),
        total=f"{len(cases):,}",
        inexact=len(INEXACT),
        calls=", ".join(name.partition(".")[0] for name, found in files.items() if not found),
        rows=rows(counts),
        reasons="".join(lines),
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
