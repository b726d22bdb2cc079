"""Figures as a chart: bars of median times, one panel for each case and place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from webnn_compile.errors import InputError

from .cases import shown
from .engines import ENGINES
from .summary import Figures, Key, Rounds, summarise

OURS, OTHERS, INK = "#0b6e6e", "#b9c2c9", "#2a2f33"


def draw_chart(measured: Mapping[Key, Rounds], file: Path) -> None:
    """Writes SVG or PNG, as the file's name ends. InputError where matplotlib is missing (extra `bench`)."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("the chart needs the package matplotlib: pip install 'webnn-compile[bench]'") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"  # equal figures, equal files
    matplotlib.rcParams["font.family"] = ["DejaVu Sans"]
    from matplotlib import pyplot

    panels: dict[tuple[str, str], list[tuple[str, Figures]]] = {}
    for key, rounds in measured.items():
        figures = summarise(rounds)
        if isinstance(figures, Figures):
            panels.setdefault((shown(key[0]), key[1] or "native"), []).append((key[2], figures))
    if not panels:
        raise InputError("there is nothing to draw: no measurement was completed")
    heights = [len(bars) + 1.2 for bars in panels.values()]
    figure, axes = pyplot.subplots(
        len(panels), figsize=(9, 0.34 * sum(heights)), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for ((case, where), bars), axis in zip(panels.items(), axes[:, 0], strict=True):
        # Fastest at the top.
        bars.sort(key=lambda b: -b[1].median)
        names = [ENGINES[name].label for name, _ in bars]
        colours = [OURS if ENGINES[name].ours else OTHERS for name, _ in bars]
        drawn = axis.barh(names, [f.median for _, f in bars], color=colours)
        axis.scatter([f.minimum for _, f in bars], names, marker="|", color=INK, s=60)
        axis.bar_label(drawn, [f"{f.median:.1f} ms" for _, f in bars], padding=4, color=INK, fontsize=8)
        axis.set_title(f"{case}, {where}", loc="left", fontsize=10, color=INK)
        axis.set_xlim(0, max(f.median for _, f in bars) * 1.15)
        axis.tick_params(labelsize=8, length=0, colors=INK)
        axis.xaxis.set_visible(False)
        axis.spines[:].set_visible(False)
    figure.text(0.99, 0.005, "median of an inference; the line is the minimum", ha="right", fontsize=7, color=INK)
    figure.tight_layout()
    metadata = {"Date": None} if file.suffix == ".svg" else None
    figure.savefig(file, metadata=metadata, dpi=150)
    pyplot.close(figure)
