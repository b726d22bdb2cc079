"""The report of a build: a table for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bundle import BYTE_VARIANTS
from ..driver.quantization_data import finite, quantization_data
from ..driver.report_data import count_operators, describe_ports, describe_states
from ..errors import InputError
from ..program.count_products import count_products
from ..program.device_program import DeviceProgram, HostCall, Launch
from ..program.find_prepared import find_prepared
from ..program.program import Launch as CpuLaunch
from ..program.program import Program, TensorSpec
from ..system.cache import Cache
from ..text.escape import shell_word, terminal_text
from ..text.printable import printable
from ..text.size import size, sizes_by_type
from .quantize_report import describe_quantization, print_layers
from .terminal import say

if TYPE_CHECKING:
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
    if any(d.after is None for d in report.dimensions):
        yield "sizes", "; ".join(f"{d.name}: {d.span}" for d in report.dimensions if d.after is None)
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
    types = sizes_by_type(report.weight_types, report.lossless)
    yield "weights", f"{types}{halves}" if len(report.weight_types) == 1 else f"{size(report.weights)}: {types}{halves}"
    few_bits = any(name not in WIDE for name in report.weight_types)
    for device in report.devices:
        yield device.program.backend, _device(device)
        yield from _products(device.program.work, always=few_bits)
        yield from _arithmetic(device)
        yield from _prepared(device.program)
        if device.on_host:
            yield "", "; ".join(f"on the host: {_names(c.nodes)} ({_names(c.ops)}): {c.reason}" for c in device.on_host)
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
    checked = f", {len(p.canaries)} of them checked at load" if p.canaries else ""
    launches = f"{len(p.kernels)} kernels{checked}, {len(p.work)} launches in a run{waits}"
    return f"{launches}; {size(build.code_bytes)} of shaders; {size(p.bytes)} of device memory"


def _wasm(build: WasmBuild, memory: int) -> str:
    p = build.program
    code = ", ".join(
        f"{size(n)} for {variant} {'bytes' if variant in BYTE_VARIANTS else 'SIMD'}"
        for variant, n in build.code_bytes.items()
    )
    computed = f", {size(p.prepared)} computed from them at load" if p.prepared else ""
    kept = f", {size(p.state_bytes)} for the states of a session" if p.states else ""
    held = f"{size(memory)} of memory: weights{computed}, {size(p.arena)} for tensors at their peak{kept}, a stack"
    return f"{len(p.kernels)} kernels, {len(p.launches)} launches in a run; code {code}; {held}"


def _products(steps: Iterable[CpuLaunch | Launch | HostCall], *, always: bool) -> Iterable[tuple[str, str]]:
    """Types of the operands and sums of products, `always` or where not all are float32."""
    kinds = count_products(steps)
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
            yield "", f"in float32: {_names(each, '; ')}"


def _prepared(program: Program | DeviceProgram) -> Iterable[tuple[str, str]]:
    """Names and sizes of the tensors that are computed at load, the largest first."""
    prepared = sorted(find_prepared(program), key=lambda p: -p.bytes)
    if prepared:
        each = tuple(f"{'+'.join(p.nodes)} ({'+'.join(p.operators)}): {size(p.bytes)}" for p in prepared)
        yield "", f"at load: {_names(each)}"


def _alone(p: Program) -> str:
    computed = f", {size(p.prepared)} for what is computed from them once" if p.prepared else ""
    return (
        f"{len(p.kernels)} kernels, {len(p.launches)} calls in a run; memory beside the weights: {size(p.arena)} for "
        f"tensors{computed}"
    )


def _records(report: Report) -> Iterable[tuple[str, str]]:
    label = "records"
    for target, use in report.recorded.items():
        for text in _recorded(use, report.model):
            yield label, f"{target}: {text}"
            label = ""
    if report.unused and not any(r.used for r in report.recorded.values()):
        yield label, f"none is of a target of this bundle; they are of {', '.join(report.unused)}"
        label = ""
    if report.damaged:
        yield label, f"{report.damaged} lines are no records, and were passed over"


def _recorded(use: RecordUse, model: str) -> Iterable[str]:
    """Lines about the use of a target's records."""
    if use.used:
        (kernels, of), (layers, _) = use.count("kernel"), use.count("layer")
        devices = sorted({d for b in use.used.values() for d in b.devices})
        whole = next((w for b in use.used.values() if (w := b.whole.get(model)) is not None), None)
        if len(devices) > 1:  # it was measured on one of them
            whole = None
        gain = use.estimate() if whole is None else whole
        how = "estimated" if whole is None else "measured"
        covered = f"{kernels} of {of} kernels" + (f" and {layers} layers" if layers else "")
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
    return _names(tuple(dict.fromkeys(names)))


def _dropped(use: RecordUse, model: str) -> Iterable[dict[str, str]]:
    """Each record that does not apply any more, by the name of its kernel, and why."""
    for key, reason in use.refused.items():
        yield {"kernel": use.recorded.best[key].kernel, "reason": reason}
    for best in use.missing(model):
        yield {"kernel": best.kernel, "reason": "the model has no such kernel any more"}
    for kernel in use.recorded.outdated:
        yield {"kernel": kernel, "reason": "it is of another version of the choices"}


def _names(names: tuple[str, ...], between: str = ", ") -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return between.join(names[:_SHOWN]) + more


def _cache(cache: Cache) -> str:
    if cache.folder is None:
        return "off" if cache.note is None else f"off; {cache.note}"
    text = f"{cache.hits} of {cache.hits + cache.misses} kernels and modules found, in {printable(cache.folder)}"
    return text if cache.note is None else f"{text}; {cache.note}"


def _files(report: Report) -> Iterable[tuple[str, str]]:
    """One row for each file, but one for all of the runtime's."""
    runtime = [f.bytes for f in report.files if f.kind == "runtime"]
    for f in report.files:
        if f.kind != "runtime":
            yield f.name, size(f.bytes)
    if runtime:
        yield f"{len(runtime)} files of the runtime", size(sum(runtime))
    yield f"{len(report.files)} files in all", size(sum(f.bytes for f in report.files))


def _listed(ports: list[str]) -> str:
    return ", ".join(ports[:_SHOWN] + ([f"{len(ports) - _SHOWN} more"] if len(ports) > _SHOWN else [])) or "none"


def _counts(operators: Counter[str]) -> str:
    common = operators.most_common()
    shown = common if len(common) == _SHOWN + 1 else common[:_SHOWN]  # one kind more takes no more room by its name
    rest = operators.total() - sum(n for _, n in shown)
    return ", ".join([f"{n} {op}" for op, n in shown] + ([f"{rest} others"] if rest else [])) or "none"


def write_report(report: Report, path: Path) -> None:
    """The report as JSON: times in seconds, sizes in bytes. Raises InputError where it cannot be written."""
    kept = [d for d in report.dimensions if d.after is not None and d.dropped_of is None]
    data = {
        "model": report.model,
        "operators": {"model": dict(report.operators), "optimised": report.graph_nodes},
        "inputs": [_tensor(t) for t in report.inputs],
        "outputs": [_tensor(t) for t in report.outputs],
        "dimensions": [
            {"name": d.name, "least": d.least, "most": d.most, "multiple": d.multiple} for d in report.dimensions
        ],
        "states": {
            "pairs": {s.before: s.after for s in report.kept},
            "bytes": sum(t.bytes for t in report.states),
            "lengths": {d.name: d.most for d in kept},
            "window": next((d.window for d in kept if d.window is not None), None),
            "made": list(report.made),
        },
        "refusals": [r.text for r in report.refusals],
        "precision": report.precision,
        "bytes": {"weights": report.weights, "weight_types": dict(report.weight_types)},
        "page_memory": dict(report.peaks),
        "targets": {
            **{d.program.backend: _device_data(d) for d in report.devices},
            **({report.alone.target: _program_data(report.alone.program, {})} if report.alone else {}),
            **({report.wasm.artifact.backend: _wasm_data(report.wasm, report.memory)} if report.wasm else {}),
        },
        "records": {
            target: {
                "kernels": use.count("kernel"),
                "layers": use.count("layer"),
                "devices": sorted({d for b in use.used.values() for d in b.devices}),
                "gain": use.estimate(),
                "notes": list(_recorded(use, report.model)),
                "dropped": list(_dropped(use, report.model)),
            }
            for target, use in report.recorded.items()
        },
        "seconds": report.seconds,
        "cache": {
            "folder": None if report.cache.folder is None else printable(report.cache.folder),
            "hits": report.cache.hits,
            "misses": report.cache.misses,
            "note": report.cache.note,
        },
        "verified": [
            {"backend": c.backend, "output": c.output, "error": c.error, "tolerance": c.tolerance}
            for c in report.comparisons
        ],
        **({"references": dict(report.references)} if report.references else {}),
        **({} if report.quantization is None else {"quantization": quantization_data(report.quantization)}),
        "winograd": [{"node": e.node, "tile": e.tile, "error": e.error, "direct": e.direct} for e in report.layers],
        "files": [{"name": f.name, "bytes": f.bytes, "kind": f.kind} for f in report.files],
    }
    try:
        path.write_text(json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"--report {path}: cannot be written: {error.strerror or error}") from None


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "dtype": str(spec.dtype), "shape": spec.shown}


def _device_data(build: DeviceBuild) -> dict[str, Any]:
    p = build.program
    return {
        "kernels": len(p.kernels),
        "canaries": len(p.canaries),
        "launches": [_launch(s) for s in p.work],
        "products": count_products(p.work),
        "arithmetic": [
            {**asdict(x), "error": finite(x.error), "largest": finite(x.largest)} for x in build.arithmetic.layers
        ],
        "crossings": p.readbacks,
        "prepared": _prepared_data(p),
        "bytes": {"code": build.code_bytes, "device": p.bytes},
    }


def _launch(step: Launch | HostCall) -> dict[str, Any]:
    where: dict[str, Any] = {"host": step.reason} if isinstance(step, HostCall) else {"forms": step.forms}
    return {"kernel": step.name, "nodes": step.nodes, "operators": step.ops, **where}


def _wasm_data(build: WasmBuild, memory: int) -> dict[str, Any]:
    return _program_data(build.program, {"code": build.code_bytes, "memory": memory})


def _program_data(p: Program, others: dict[str, Any]) -> dict[str, Any]:
    return {
        "kernels": len(p.kernels),
        "launches": [{"kernel": s.name, "nodes": s.nodes, "operators": s.ops, "forms": s.forms} for s in p.launches],
        "products": count_products(p.launches),
        "prepared": _prepared_data(p),
        "bytes": {"weights": len(p.weights), "prepared": p.prepared, "arena": p.arena, **others},
    }


def _prepared_data(program: Program | DeviceProgram) -> list[dict[str, Any]]:
    return [{"nodes": p.nodes, "operators": p.operators, "bytes": p.bytes} for p in find_prepared(program)]
