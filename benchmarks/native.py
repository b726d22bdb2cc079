"""Times compiled models on this machine's processor beside onnxruntime, one thread each, in turns.

python benchmarks/native.py resnet18.onnx --shape input=1x3x224x224 --rounds 20 --json out.json
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import onnxruntime
import webnn_compile
from rich.console import Console
from rich.table import Table
from webnn_compile.cli import ShapeOption
from webnn_compile.verify import largest_error, random_input


def milliseconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--shape", "shapes", type=ShapeOption(), multiple=True, help="As for webnn-compile; for models where it is free."
)
@click.option("--rounds", default=20, show_default=True, help="Runs of each engine, in turns.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write all times here.")
def main(
    models: tuple[Path, ...], shapes: tuple[tuple[str, tuple[int, ...]], ...], rounds: int, out: Path | None
) -> None:
    """Compile each of MODELS and time it against onnxruntime."""
    table = Table("model", "compile s", "ours ms", "min", "onnxruntime ms", "min", "ratio", "error")
    results = []
    for path in models:
        session = onnxruntime.InferenceSession(str(path), _one_thread(), providers=["CPUExecutionProvider"])
        names = {i.name for i in session.get_inputs() if not all(isinstance(d, int) for d in i.shape)}
        start = time.perf_counter()
        ours = webnn_compile.compile(path, shapes={n: s for n, s in shapes if n in names})
        compiling = time.perf_counter() - start
        generator = np.random.default_rng(0)
        feeds = {s.name: random_input(s, generator) for s in ours.program.inputs}
        reference = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))
        error = max(largest_error(v, np.asarray(reference[n])) for n, v in ours.run(feeds).items())
        times: dict[str, list[float]] = {"ours": [], "onnxruntime": []}
        for _ in range(rounds):
            times["ours"].append(milliseconds(lambda: ours.run(feeds)))  # noqa: B023
            times["onnxruntime"].append(milliseconds(lambda: session.run(None, feeds)))  # noqa: B023
        a, b = (statistics.median(times[k]) for k in ("ours", "onnxruntime"))
        table.add_row(
            path.stem,
            f"{compiling:.1f}",
            f"{a:.2f}",
            f"{min(times['ours']):.2f}",
            f"{b:.2f}",
            f"{min(times['onnxruntime']):.2f}",
            f"{a / b:.2f}",
            f"{error:.1e}",
        )
        results.append({"model": path.stem, "compile_seconds": compiling, "milliseconds": times, "error": error})
    Console().print(table)
    if out is not None:
        out.write_text(json.dumps(results, indent=1) + "\n")


def _one_thread() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return options


if __name__ == "__main__":
    main()
