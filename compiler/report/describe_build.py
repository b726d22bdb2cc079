"""All that a page shows of a build."""

from __future__ import annotations

from collections.abc import Iterator

from ..driver.options import Options
from ..driver.report_data import Report, count_operators, describe_ports, describe_sizes, describe_states
from ..errors import InternalError
from ..text.size import sizes_by_type
from .describe_graph import describe_graph
from .describe_target import Measure, describe_targets, join_notes
from .page_data import File, Page


def describe_build(report: Report, options: Options, measure: Measure) -> Page:
    """The page of a build with these options; `measure` finds the peak of this machine's processor."""
    if report.graphs is None:
        raise InternalError("describe_build: the build kept no graphs, as it does where a page is the report")
    return Page(
        report.model,
        tuple(_facts(report)),
        describe_graph(*report.graphs),
        report.graph_nodes,
        tuple(describe_targets(report, options, measure)),
        join_notes(_notes(report)),
        tuple(File(f.name, f.bytes, f.kind) for f in report.files),
    )


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    for label, ports in describe_ports(report):
        yield f"{label.title()}s", ", ".join(ports) or "none"
    for name, about in report.answers.items():
        yield "Answer", f"{name}: {about}"
    if sizes := describe_sizes(report):
        yield "Sizes that vary", sizes
    if report.states:
        yield "States", describe_states(report)
    if report.generation:
        yield "Generates", report.generation
    counts = ", ".join(f"{n} {op}" for op, n in sorted(report.operators.items(), key=lambda c: (-c[1], c[0])))
    yield "Operators", f"{count_operators(report)}: {counts}" if counts else "none"
    yield "Weights", sizes_by_type(report.weight_types, report.lossless) or "none"
    yield "Precision", report.precision
    for c in report.comparisons:
        error = f"largest error {c.error:.1e}, of {c.output}; {c.tolerance:.1e} is allowed"
        yield f"Verified, {c.backend}", error
    for name, by in report.references.items():
        yield f"Verified with {name}", by


def _notes(report: Report) -> Iterator[tuple[str, str, str]]:
    """Reasons that are the same on all targets, as what, where and why."""
    for refusal in report.refusals:
        yield "a branch of the model", "refused by runs", refusal.text
    for backend, why in report.uncompared.items():
        yield backend, "not compared with onnxruntime", why
    if report.quantization is not None:
        for layer in report.quantization.layers:
            what = f"{layer.node} ({layer.operator})"
            if layer.kept:
                yield what, "left in float32", layer.kept
            else:
                yield what, f"quantised: {layer.form}", f"alone it errs by {layer.own:.1e} of its result"
