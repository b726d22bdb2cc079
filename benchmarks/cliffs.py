"""Cliffs: models that take longer by our code than by onnxruntime's, natively or in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
from webnn_compile.errors import InputError, WebnnCompileError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx.import_model import import_model, suggest_inputs
from webnn_compile.ir.sizes import capacities

from .cases import GENERATED, TRAINED, VARYING, shown
from .folders import SHARED
from .run import Settings, run
from .single_operators import OPERATORS
from .summary import Figures, Key, Rounds, ratios, summarise
from .tables import Grid

PAIRS: Mapping[str, str] = {"native": "onnxruntime", "ours-wasm": "onnxruntime-web"}
"""Engines of ours, each with the one that it is held against."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A cliff takes more than `ratio` of the other engine's time, and at least `least_ms` by our code."""

    ratio: float = 1.3
    least_ms: float = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One model at one place. `ratio` is that of the least times or of medians, whichever is smaller: other programs
    slow down one engine or the other. `failed` says why there is none."""

    model: str
    where: str
    ours_ms: float = 0.0
    theirs_ms: float = 0.0
    ratio: float = 0.0
    failed: str = ""

    def is_cliff(self, limits: Limits) -> bool:
        return self.ratio > limits.ratio and self.ours_ms >= limits.least_ms


def find_models(paths: Sequence[Path]) -> list[str]:
    """ONNX files by path: those named, and all in the folders named. By default the known models, and the other files
    of the folder of shared models."""
    if paths:
        return [str(file) for path in paths for file in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])]
    folder = SHARED / "models"
    files = {file: name for name, (file, _) in TRAINED.items()}
    files |= {v.source: name for name, v in VARYING.items() if isinstance(v.source, str)}
    present = [name for file, name in files.items() if (folder / file).exists()]
    others = [p for place in (folder, SHARED / "wild") for p in sorted(place.glob("*.onnx")) if p.name not in files]
    made = [*GENERATED, *OPERATORS, *(n for n, v in VARYING.items() if not isinstance(v.source, str))]
    return [*present, *made, *map(str, others)]


def guess_shapes(file: Path, size: int) -> dict[str, tuple[int, ...]]:
    """Shapes for the inputs of a model that leave dimensions open: the first is a batch of one, others have `size`."""
    graph = onnx.load(file, load_external_data=False).graph
    constants = {c.name for c in graph.initializer}
    shapes: dict[str, tuple[int, ...]] = {}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name in constants or all(d.HasField("dim_value") and d.dim_value > 0 for d in dims):
            continue
        shapes[value.name] = tuple(
            d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else size if axis else 1
            for axis, d in enumerate(dims)
        )
    return shapes


def find_shapes(file: Path, size: int) -> dict[str, tuple[int, ...]]:
    """The shapes that are guessed; where a model does not fit them, those that its importer suggests."""
    guess = guess_shapes(file, size)
    try:
        import_model(file, ModelInputs(guess))
    except InputError:
        inputs = suggest_inputs(file)
        if inputs is not None:
            return {v.name: capacities(v.shape) for v in import_model(file, inputs).inputs}
    return guess


def find_cliffs(
    models: Sequence[str], settings: Settings, size: int, say: Callable[[str], None]
) -> Iterator[list[Finding]]:
    """The findings of each model, as it is measured; a model that does not compile has one that says so."""
    for model in models:
        try:
            shapes = find_shapes(Path(model), size) if model.endswith(".onnx") else {}
            yield findings(run(replace(settings, cases=(model,), shapes=shapes), say).measured)
        except WebnnCompileError as error:
            yield [Finding(model, "all", failed=_in_one_line(error))]
        except Exception as error:  # onnxruntime's exceptions share no base class, and other models follow
            yield [Finding(model, "all", failed=f"{type(error).__name__}: {_in_one_line(error)}")]


def findings(measured: Mapping[Key, Rounds]) -> list[Finding]:
    """Our engines beside the others, of all that was measured."""
    rows = []
    for key, rounds in measured.items():
        model, browser, engine = key
        if engine not in PAIRS:
            continue
        where = browser or "native"
        ours, theirs = (summarise(r) for r in (rounds, measured.get((model, browser, PAIRS[engine]), ())))
        ratio = next((r for r in ratios(key, measured) if r.baseline == PAIRS[engine]), None)
        if not isinstance(ours, Figures) or not isinstance(theirs, Figures) or ratio is None:
            why = ours if isinstance(ours, str) else f"{PAIRS[engine]}: {theirs}"
            rows.append(Finding(model, where, failed=why))
            continue
        rows.append(Finding(model, where, ours.minimum, theirs.minimum, min(ratio.median, ratio.minimum)))
    return rows


def cliff_grid(table: Sequence[Finding], limits: Limits) -> Grid:
    """Models by falling ratio, those without one last."""
    rows = []
    for f in sorted(table, key=lambda f: -f.ratio):
        if f.failed:
            rows.append((shown(f.model), f.where, "-", "-", "-", f.failed))
            continue
        verdict = "CLIFF" if f.is_cliff(limits) else ""
        rows.append((shown(f.model), f.where, f"{f.ours_ms:.2f}", f"{f.theirs_ms:.2f}", f"{f.ratio:.2f}", verdict))
    title = f"Ours beside onnxruntime, one thread; a cliff is above {limits.ratio:g} from {limits.least_ms:g} ms on"
    return Grid(title, ("model", "where", "ours ms", "theirs ms", "ratio", ""), tuple(rows), 2)


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or "no message"
