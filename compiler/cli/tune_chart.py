"""The progress of a search as a chart: the estimated time of each model by trials."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError
from ..records.tuning_record import TuningRecord
from ..system.put_files import OutputFile, put_files
from ..text.escape import terminal_text
from ..tune.summarise import progress_of

SUFFIXES = (".svg", ".png")


def draw_progress(records: Sequence[TuningRecord], file: Path) -> None:
    """Writes SVG or PNG, as the file's name ends. Raises InputError where it cannot."""
    if file.suffix not in SUFFIXES:
        raise InputError(f"--chart {file}: give a name that ends with {' or '.join(SUFFIXES)}")
    try:
        import matplotlib
    except ImportError:
        raise InputError("--chart needs the package matplotlib: pip install 'webnn-compile[tune]'") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "webnn-tune"  # equal records, equal files
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 4.5))
    for label, points in progress_of(records).items():
        steps = [0, *(n for n, _ in points)], [1.0, *(gain for _, gain in points)]
        axis.step(*steps, where="post", label=terminal_text(label))
    axis.axhline(1.0, color="#b9c2c9", linewidth=1)
    axis.set_xlabel("trials of kernels")
    axis.set_ylabel("time of the tuned kernels, by default 1")
    axis.set_ylim(bottom=0)
    for text in axis.legend(fontsize="small").get_texts():
        text.set_parse_math(False)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.tight_layout()
    drawn = io.BytesIO()
    kind = file.suffix.removeprefix(".")
    figure.savefig(drawn, format=kind, metadata={"Date": None} if kind == "svg" else None)
    pyplot.close(figure)
    put_files([OutputFile("--chart", file, drawn.getvalue())])
