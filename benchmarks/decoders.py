"""Tokens of a decoder in a browser: milliseconds of a step by the rows of its caches, and of a prompt, beside
onnxruntime-web and beside what the processor reads in that time."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import onnx
import webnn_compile

from .busy import others, snapshot
from .decoder_model import DecoderSize, decoder_model
from .folders import ROOT, WORK
from .measure import in_process, open_page
from .peak import peak_module
from .tables import Grid

OURS, THEIRS = "ours", "onnxruntime-web"
LONGEST = 64
"""Tokens of a prompt in one run."""


@dataclass(frozen=True, slots=True)
class DecoderJob:
    """One engine in a fresh browser: `steps` at each of `positions`, and prompts of `prompt` tokens, so many times."""

    engine: str
    backend: str
    threads: int
    browser: str
    positions: tuple[int, ...]
    steps: int
    prompt: int
    prompts: int
    size: DecoderSize = field(default_factory=DecoderSize)
    tokens: int = 20
    warmup: int = 3


def write_decoder(size: DecoderSize, backends: Sequence[str]) -> None:
    """The model and our bundle of it, in the folder of benchmarks."""
    WORK.mkdir(parents=True, exist_ok=True)
    model = decoder_model(size)
    onnx.save(model, _model())
    if not backends:
        return
    webnn_compile.build_bundle(
        _model(),
        tuple(backends),
        dims={"past_sequence_length": (0, size.positions - 1), "sequence_length": (1, LONGEST)},
        out=_bundle(),
        generate=True,
        golden=False,
        force=True,
    )


def _model() -> Path:
    return WORK / "decoder.onnx"


def _bundle() -> Path:
    return WORK / "decoder-bundle"


def _url(path: Path) -> str:
    return "/" + path.relative_to(ROOT).as_posix()


def measure_decoder(job: DecoderJob) -> dict[str, Any]:
    """The figures of page/decoder.js, or "failed", why not: in a process of its own."""
    return in_process("decode", asdict(job), 900)


def decode_here(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Measures a job in this process; raises where it fails."""
    job = DecoderJob(**{**fields, "size": DecoderSize(**fields["size"])})
    of = job.size
    request: dict[str, Any] = {
        "backend": job.backend,
        "threads": job.threads,
        "worker": job.threads > 1,
        "layers": of.layers,
        "heads": of.heads,
        "size": of.size,
        "words": of.words,
        "positions": list(job.positions),
        "steps": job.steps,
        "warmup": job.warmup,
        "tokens": job.tokens,
        "prompt": job.prompt,
        "prompts": job.prompts,
        "longest": LONGEST if job.engine == OURS else job.prompt,
    }
    if job.engine == OURS:
        request["bundle"] = _url(_bundle())
        request["reads"] = {str(rows): _reading(bytes_of_step(of, rows)) for rows in job.positions}
    else:
        request["model"] = _url(_model())
    with open_page(job.browser) as (page, _, version):
        before = snapshot()
        result: dict[str, Any] = page.evaluate("job => window.benchmarks.decode(job)", request)
        return result | {"others": others(before, snapshot()), "browser": version}


def _reading(size: int) -> dict[str, Any]:
    """The module that reads so many bytes in order, for measureReading of page/profile.js."""
    linked = peak_module(size)
    file = WORK / f"read-{size}.wasm"
    file.write_bytes(linked.module)
    return {"url": _url(file), "heap": linked.heap_base, "bytes": size}


def measure_decoders(jobs: Sequence[DecoderJob], rounds: int, say: Callable[[str], None]) -> list[list[dict[str, Any]]]:
    """The results of each job, of so many rounds in turns."""
    measured: list[list[dict[str, Any]]] = [[] for _ in jobs]
    for number in range(rounds):
        for results, job in zip(measured, jobs, strict=True):
            result = measure_decoder(job)
            results.append(result)
            what = result.get("failed") or ", ".join(
                f"{rows}: {statistics.median(ms):.2f} ms" for rows, ms in result["steps"].items()
            )
            say(f"[{number + 1}/{rounds}] {job.browser} {job.engine}: {what}")
    return measured


def bytes_of_step(size: DecoderSize, rows: int) -> int:
    """The bytes that a step reads: its caches, and all weights but tables, of which it reads one row each."""
    width = size.width
    weights = size.layers * 12 * width**2 + width * size.words + (4 * size.layers + 4) * width
    return 4 * (weights + 2 * size.layers * width * (rows + 1))


def decoder_grid(jobs: Sequence[DecoderJob], measured: Sequence[Sequence[Mapping[str, Any]]]) -> Grid:
    """One row for each engine and number of rows: medians, ratios of the rounds, and the floor."""
    head = ("where", "engine", "rows", "ms a token", "min", "ratio", "floor ms", "times the floor", "others")
    rows: list[tuple[str, ...]] = []
    ours = [r for results in measured for r in results if r.get("floors")]
    floors = {rows: min(r["floors"][rows] for r in ours) for rows in (ours[0]["floors"] if ours else ())}
    theirs = next((m for j, m in zip(jobs, measured, strict=True) if j.engine == THEIRS), None)
    for job, results in zip(jobs, measured, strict=True):
        done = [r for r in results if "failed" not in r]
        where = f"{job.browser} {job.backend}, {job.threads} thread{'s' * (job.threads > 1)}"
        if not done:
            rows.append((where, job.engine, "-", f"failed: {results[-1]['failed']}", "-", "-", "-", "-", "-"))
            continue
        busy = "/".join(f"{r['others']:.1f}" for r in done if r["others"] is not None) or "?"
        for what in (*map(str, job.positions), "prompt"):
            times = [_times(r, what) for r in done]
            median, least = statistics.median(map(statistics.median, times)), min(map(min, times))
            floor = floors.get(what)
            rows.append(
                (
                    where,
                    job.engine,
                    what if what != "prompt" else f"prompt of {job.prompt}",
                    f"{median:.2f}",
                    f"{least:.2f}",
                    _ratio(results, theirs, what) if job.engine == OURS else "",
                    "" if floor is None else f"{floor:.2f}",
                    "" if floor is None else f"{least / floor:.2f}",
                    busy,
                )
            )
    return Grid(
        "A token of a decoder; the floor: one core reads as many bytes, in the same process", head, tuple(rows), 3
    )


def _times(result: Mapping[str, Any], what: str) -> list[float]:
    times: list[float] = result["prompts"] if what == "prompt" else result["steps"][what]
    return times


def _ratio(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]] | None, what: str) -> str:
    """The median of the rounds' ratios, and that of the least times."""
    pairs = [(a, b) for a, b in zip(ours, theirs or (), strict=False) if "failed" not in a and "failed" not in b]
    if not pairs:
        return ""
    medians = [statistics.median(_times(a, what)) / statistics.median(_times(b, what)) for a, b in pairs]
    least = min(min(_times(a, what)) for a, _ in pairs) / min(min(_times(b, what)) for _, b in pairs)
    return f"{statistics.median(medians):.2f} ({least:.2f})"


def write_results(out: Path, jobs: Sequence[DecoderJob], measured: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """All times, as JSON."""
    rows = [{"job": asdict(j), "results": list(r)} for j, r in zip(jobs, measured, strict=True)]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(rows, indent=1))
