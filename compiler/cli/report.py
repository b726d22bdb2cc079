"""The report of a build as a table."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..bundle import BYTE_VARIANTS
from ..bundle.files import COMPRESSED
from ..driver.report_data import count_operators, describe_ports, describe_sizes, describe_states
from ..pictures.take_pictures import PICTURE
from ..program.count_products import count_products
from ..program.device_program import DeviceProgram, HostCall, Launch
from ..program.find_prepared import find_prepared
from ..program.program import Launch as CpuLaunch
from ..program.program import Program
from ..system.cache import Cache
from ..text.escape import shell_word, terminal_text
from ..text.printable import printable
from ..text.size import size, sizes_by_type
from .quantize_report import describe_quantization, print_layers
from .terminal import say

if TYPE_CHECKING:
    from ..bundle import WrittenFile
    from ..driver.build_device import DeviceBuild
    from ..driver.build_wasm import WasmBuild
    from ..driver.report_data import Report
    from ..records.record_use import RecordUse

PLAIN_WIDTH = 100
"""Columns where the output is no terminal."""
INDENT = 13
"""Column of the figures."""
ANY_CPU = "generic"
SLOWER = (
    f"for --cpu {ANY_CPU}, with vectors of four floats: on a processor with wider ones --cpu host or x86-64-v3 takes "
    "half the time; C source of it is compiled with -march=native or -march=x86-64-v3"
)
FLOATS = "float32 and float32 in float32"
"""The usual products."""
WIDE = ("float16", "float32", "float64", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool")
"""Types of elements that are no weights in few bits."""
_SHOWN = 6
"""So many operators and tensors are listed by name."""
_LARGEST = 2
"""So many of the constants that are computed at load."""
_TOGETHER: dict[str, str] = {"weights": "of weights", "runtime": "of the runtime"}
"""By kind, files that have one row."""


def print_report(report: Report, out: Path, *, stderr: bool = False) -> None:
    """Operators, kernels, sizes, memory, times and files, as a table that is as wide as the terminal."""
    say(f"{report.model} -> {printable(out)}\n", err=stderr)
    _print_figures(report, stderr=stderr)
    _print_files(report, out, stderr=stderr)


def print_reports(reports: Mapping[str, Report], out: Path) -> None:
    """As `print_report`, of the models of one bundle, by name."""
    for i, (name, report) in enumerate(reports.items()):
        say(f"{'' if not i else chr(10)}{name}: {report.model} -> {printable(out)}\n")
        _print_figures(report)
    _print_files(next(iter(reports.values())), out)


def _print_figures(report: Report, *, stderr: bool = False) -> None:
    stream = sys.stderr if stderr else sys.stdout
    width = shutil.get_terminal_size().columns if stream.isatty() else PLAIN_WIDTH
    for label, value in _figures(report):
        wrapped = textwrap.wrap(terminal_text(value), max(width - INDENT, 20), break_on_hyphens=False)
        say(f"\n{' ' * INDENT}".join(wrapped), label=f"  {label:{INDENT - 2}}", err=stderr)
    if report.quantization is not None:
        print_layers(report.quantization, stderr=stderr)


def _print_files(report: Report, out: Path, *, stderr: bool = False) -> None:
    rows, folder = list(_files(report)), printable(out)
    longest = max(len(name) for name, _ in rows)
    lines = ["", *(f"  {name:{longest}}{count:>12}" for name, count in rows), ""]
    if report.alone is not None:
        say("\n".join([*lines, f"{folder}/{report.manual} says how it is called."]), err=stderr)
        return
    alone = f"open {folder}/index.html; it and model.js each have the whole model: keep the one you need"
    lines += [f"Try it: {alone if report.single_file else f'webnn-serve {shell_word(folder)}'}"]
    say("\n".join(lines), err=stderr)


def _figures(report: Report) -> Iterable[tuple[str, str]]:
    for label, ports in describe_ports(report):
        yield label, _listed(ports)
    if report.text:
        yield "text", printable(report.text)
    for name, about in report.answers.items():
        yield "answer", f"{printable(name)}: {printable(about)}"
    if sizes := describe_sizes(report):
        yield "sizes", sizes
    if report.states:
        yield "states", printable(describe_states(report))
    if report.generation:
        yield "generates", printable(report.generation)
    for refusal in report.refusals:
        yield "refused", printable(refusal.text)
    yield "operators", f"{count_operators(report)} ({_counts(report.operators)}); {report.graph_nodes} when optimised"
    halves = ""
    stored = [device.program.backend for device in report.devices if device.halves]
    if stored:
        halves = f"; what {', '.join(stored)} has in memory is float16, too"
    types = sizes_by_type(report.weight_types, report.lossless) or "none"
    yield "weights", f"{types}{halves}" if len(report.weight_types) < 2 else f"{size(report.weights)}: {types}{halves}"
    few_bits = any(name not in WIDE for name in report.weight_types)
    for device in report.devices:
        yield device.program.backend, _device(device)
        yield from _products(device.program.work, always=few_bits)
        yield from _arithmetic(device)
        yield from _prepared(device.program)
        if device.on_host:
            yield (
                "",
                "; ".join(
                    f"on the host: {shown_names(c.nodes)} ({shown_names(c.ops)}): {c.reason}" for c in device.on_host
                ),
            )
    if report.wasm is not None:
        yield report.wasm.artifact.backend, _wasm(report.wasm, report.memory)
        yield from _products(report.wasm.program.launches, always=few_bits)
        yield from _prepared(report.wasm.program)
    if report.public_key:
        yield "public key", f"{report.public_key}, for load({{ publicKey }})"
    if report.peaks:
        each = ", ".join(f"{target} {size(n)}" for target, n in report.peaks.items())
        yield "peak", f"memory in a page while it loads: {each}"
    if report.alone is not None:
        program = report.alone.program
        yield report.alone.target, _alone(program)
        yield from _products(program.launches, always=few_bits)
        yield from _prepared(program)
        if report.cpu == ANY_CPU:
            yield "", SLOWER
    yield from _records(report)
    phases = ", ".join(f"{name} {s:.2f}" for name, s in report.seconds.items())
    yield "time", f"{sum(report.seconds.values()):.1f} s: {phases}"
    yield "cache", _cache(report.cache)
    for c in report.comparisons:
        yield "verified", f"{c.backend}: largest error {c.error:.1e}, of {c.output}; {c.tolerance:.1e} is allowed"
    for name, by in report.references.items():
        yield "", f"{name}, which onnxruntime lacks, is computed {by}"
    for backend, why in report.uncompared.items():
        yield "", f"{backend} was not compared: {why}"
    if report.quantization is not None:
        yield from describe_quantization(report.quantization)
    if report.layers:
        errors = ", ".join(
            f"{e.node} by {e.tile[0]} x {e.tile[1]} {e.error:.1e} ({e.direct:.1e})" for e in report.layers
        )
        yield "winograd", f"error of each convolution by tiles (and of the direct one), against float64: {errors}"


def _device(build: DeviceBuild) -> str:
    p = build.program
    waits = f"; a run waits {p.readbacks} times for the device" if p.readbacks > 1 else ""
    if p.readbacks == 1:
        waits = "; a run waits once for the device"
    kernels = f"{_number(len(p.kernels), 'kernel')}, {_canaries(build)}"
    launches = f"{kernels}, {_number(len(p.work), 'launch')} in a run{waits}"
    kept = f", {size(p.state_bytes)} of it for the states of a session" if p.states else ""
    return f"{launches}; {size(build.code_bytes)} of shaders; {size(p.bytes)} of device memory{kept}"


def _canaries(build: DeviceBuild) -> str:
    """How many kernels have a canary, and how many have none. How many of them a page launches is not known here: it
    depends on the time of its load."""
    without = f" and {len(build.without_canary)} without" if build.without_canary else ""
    return f"{len(build.program.canaries)} of them with a canary{without}"


def _wasm(build: WasmBuild, memory: int) -> str:
    p = build.program
    code = ", ".join(
        f"{size(n)} for {variant} {'bytes' if variant in BYTE_VARIANTS else 'SIMD'}"
        for variant, n in build.code_bytes.items()
    )
    computed = f", {size(p.prepared)} computed from them at load" if p.prepared else ""
    kept = f", {size(p.state_bytes)} for the states of a session" if p.states else ""
    held = f"{size(memory)} of memory: weights{computed}, {size(p.arena)} for tensors at their peak{kept}, a stack"
    launches = f"{_number(len(p.kernels), 'kernel')}, {_number(len(p.launches), 'launch')} in a run"
    return f"{launches}; code {code}; {held}"


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 'es' if what.endswith('ch') else 's'}"


def _products(steps: Iterable[CpuLaunch | Launch | HostCall], *, always: bool) -> Iterable[tuple[str, str]]:
    """Types of the operands and sums of products, `always` or where not all are float32; those of pictures' pixels say
    nothing of the model."""
    kinds = count_products(s for s in steps if PICTURE not in s.ops)
    if kinds.keys() - {FLOATS} or (kinds and always):
        yield "", f"products: {', '.join(f'{n} of {kind}' for kind, n in kinds.items())}"


def _arithmetic(build: DeviceBuild) -> Iterable[tuple[str, str]]:
    """Kernels that compute in float16 between sums, and why others do not."""
    arithmetic = build.arithmetic
    if arithmetic.note:
        yield "", f"all arithmetic is float32: {arithmetic.note}"
    if arithmetic.layers:
        kept = [x for x in arithmetic.layers if x.kept]
        worst = max((x.error for x in arithmetic.layers if not x.kept), default=0.0)
        count = len(arithmetic.layers) - len(kept)
        error = f", with errors of up to {worst:.1e}" if count else ""
        yield "", f"arithmetic in float16: {count} of {len(arithmetic.layers)} kernels with float16 results{error}"
        if kept:
            each = tuple(f"{'+'.join(x.nodes) or x.kernel}: {x.kept}" for x in kept)
            yield "", f"in float32: {shown_names(each, '; ')}"


def _prepared(program: Program | DeviceProgram) -> Iterable[tuple[str, str]]:
    """Names and sizes of the tensors that are computed at load, the largest first."""
    prepared = sorted(find_prepared(program), key=lambda p: -p.bytes)
    if prepared:
        each = [f"{'+'.join(p.nodes)} ({'+'.join(p.operators)}): {size(p.bytes)}" for p in prepared[:_LARGEST]]
        rest = f"; {len(prepared) - _LARGEST} more, {size(sum(p.bytes for p in prepared[_LARGEST:]))}"
        yield "", f"computed at load: {', '.join(each)}{rest if len(prepared) > _LARGEST else ''}"


def _alone(p: Program) -> str:
    computed = f", {size(p.prepared)} for what is computed from them once" if p.prepared else ""
    calls = f"{_number(len(p.kernels), 'kernel')}, {_number(len(p.launches), 'call')} in a run"
    return f"{calls}; memory beside the weights: {size(p.arena)} for tensors{computed}"


def _records(report: Report) -> Iterable[tuple[str, str]]:
    label = "records"
    for target, use in report.recorded.items():
        for text in describe_records(use, report.model):
            yield label, f"{target}: {text}"
            label = ""
    if report.unused and not any(r.used for r in report.recorded.values()):
        yield label, f"none is of a target of this bundle; they are of {', '.join(report.unused)}"
        label = ""
    if report.damaged:
        yield label, f"{report.damaged} lines are no records, and were passed over"


def describe_records(use: RecordUse, model: str) -> Iterable[str]:
    """Lines about the use of a target's records."""
    if use.used:
        (kernels, of), (layers, _) = use.count("kernel"), use.count("layer")
        devices = sorted({d for b in use.used.values() for d in b.devices})
        whole = next((w for b in use.used.values() if (w := b.whole.get(model)) is not None), None)
        if len(devices) > 1:  # it was measured on one of them
            whole = None
        gain = use.estimate() if whole is None else whole
        how = "estimated" if whole is None else "measured"
        covered = f"{kernels} of {of} kernels" + (f" and {layers} layer{'s' * (layers > 1)}" if layers else "")
        yield f"{covered} by measurements on {', '.join(devices)}; {how} {gain:.2f} of the time by default"
    refused = [f"not applied to {use.recorded.best[key].kernel}: {reason}" for key, reason in use.refused.items()]
    yield from refused[:_SHOWN]
    if len(refused) > _SHOWN:
        yield f"and {len(refused) - _SHOWN} more are not applied; --report lists them"
    missing = tuple(b.kernel for b in use.missing(model))
    if missing:
        names = _kernels(missing)
        yield f"{len(missing)} records fit no kernel of this model any more, or by other options ({names}): tune again"
    if use.recorded.outdated:
        names = _kernels(use.recorded.outdated)
        yield f"{len(use.recorded.outdated)} records are of another version of the choices ({names}): tune again"


def _kernels(names: tuple[str, ...]) -> str:
    """Kernels of several keys may have one name."""
    return shown_names(tuple(dict.fromkeys(names)))


def shown_names(names: tuple[str, ...], between: str = ", ") -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return between.join(names[:_SHOWN]) + more


def _cache(cache: Cache) -> str:
    if cache.folder is None:
        return "off" if cache.note is None else f"off; {cache.note}"
    text = f"{cache.hits} of {cache.hits + cache.misses} kernels and modules found, in {printable(cache.folder)}"
    return text if cache.note is None else f"{text}; {cache.note}"


def _files(report: Report) -> Iterable[tuple[str, str]]:
    """A row for each file, but one for all of the runtime's, of the weights' and of those that are compressed alike:
    `--report` lists them."""
    alike: dict[str, list[WrittenFile]] = {}
    for f in report.files:
        coding = f"compressed as {Path(f.name).suffix}" if f.name.endswith(COMPRESSED) else None
        alike.setdefault(coding or _TOGETHER.get(f.kind, f.name), []).append(f)
    for (single,) in (files for files in alike.values() if len(files) == 1):
        yield single.name, size(single.bytes)
    for what, files in alike.items():
        if len(files) > 1:
            yield f"{len(files)} files {what}", size(sum(f.bytes for f in files))
    yield f"{len(report.files)} files in all", size(sum(f.bytes for f in report.files))


def _listed(ports: list[str]) -> str:
    return ", ".join(ports[:_SHOWN] + ([f"{len(ports) - _SHOWN} more"] if len(ports) > _SHOWN else [])) or "none"


def _counts(operators: Counter[str]) -> str:
    common = operators.most_common()
    shown = common if len(common) == _SHOWN + 1 else common[:_SHOWN]  # one kind more takes no more room by its name
    rest = operators.total() - sum(n for _, n in shown)
    return ", ".join([f"{n} {op}" for op, n in shown] + ([f"{rest} others"] if rest else [])) or "none"
