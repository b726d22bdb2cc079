"""The report of a build as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..driver.quantization_data import finite, quantization_data
from ..program.count_products import count_products
from ..program.device_program import DeviceProgram, HostCall, Launch
from ..program.find_prepared import find_prepared
from ..program.program import Program, TensorSpec
from ..text.printable import printable
from .report import describe_records

if TYPE_CHECKING:
    from ..driver.build_device import DeviceBuild
    from ..driver.build_wasm import WasmBuild
    from ..driver.report_data import Report
    from ..records.record_use import RecordUse


def render_report(report: Report) -> str:
    """The report as JSON: times in seconds, sizes in bytes."""
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
                "notes": list(describe_records(use, report.model)),
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
    return json.dumps(data, indent=1) + "\n"


def _dropped(use: RecordUse, model: str) -> Iterable[dict[str, str]]:
    """Each record that does not apply any more, by the name of its kernel, and why."""
    for key, reason in use.refused.items():
        yield {"kernel": use.recorded.best[key].kernel, "reason": reason}
    for best in use.missing(model):
        yield {"kernel": best.kernel, "reason": "the model has no such kernel any more"}
    for kernel in use.recorded.outdated:
        yield {"kernel": kernel, "reason": "it is of another version of the choices"}


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "dtype": str(spec.dtype), "shape": spec.shown}


def _device_data(build: DeviceBuild) -> dict[str, Any]:
    p = build.program
    return {
        "kernels": len(p.kernels),
        "canaries": len(p.canaries),
        "without_canary": [{"kernel": p.kernels[i].name, "reason": why} for i, why in build.without_canary.items()],
        "launches": [_launch(s) for s in p.work],
        "products": count_products(p.work),
        "arithmetic": [
            {**asdict(x), "error": finite(x.error), "largest": finite(x.largest)} for x in build.arithmetic.layers
        ],
        "crossings": p.readbacks,
        "prepared": _prepared_data(p),
        "bytes": {"code": build.code_bytes, "device": p.bytes, "states": p.state_bytes},
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
