"""Two trees of the compiler beside each other: whether bundles are equal, seconds and memory of compiling."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from webnn_compile.driver.targets import bundled_targets
from webnn_compile.errors import InputError
from webnn_compile.system.cache import FOLDER_VARIABLE

from .cases import GENERATED, TRAINED, Case, Shapes, find_case
from .folders import HERE, ROOT, SHARED, WORK
from .measure import reason
from .results import facts

COMPARED = (".wasm", ".bin", ".txt")
"""Code and weights. The runtime's scripts may differ."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """One process: seconds from its start to its end, and the most memory that it or a process of its own had."""

    seconds: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One model's bundles of two trees. Files by name, sizes in bytes; one `Compilation` a round."""

    model: str
    equal: tuple[str, ...]
    different: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    bytes_before: int
    bytes_after: int
    before: tuple[Compilation, ...]
    after: tuple[Compilation, ...]

    @property
    def same(self) -> bool:
        return not (self.different or self.only_before or self.only_after)

    def ratio(self, fact: str) -> float:
        """The median, over the rounds, of `fact` after to before."""
        return statistics.median(
            getattr(a, fact) / getattr(b, fact) for a, b in zip(self.after, self.before, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """`before` and `after` are folders of trees. With `cache` each tree has a cache, which a round that does not count
    fills."""

    before: Path
    after: Path
    models: Sequence[str]
    shapes: Shapes = field(default_factory=dict)
    targets: str = ",".join(bundled_targets())
    rounds: int = 1
    cache: bool = False


def default_models() -> tuple[str, ...]:
    """Models that are generated or stand in this repository, and the shared ones that are there."""
    shared = tuple(n for n in ("resnet18", "yolox nano", "ultraface") if (SHARED / "models" / TRAINED[n][0]).exists())
    return (*shared, *GENERATED, str(ROOT / "examples" / "digits" / "resnet18_digits.onnx"))


def compare_bundles(settings: Settings, say: Callable[[str], None]) -> list[Comparison]:
    """Compiles each model with each tree, in turns; `say` takes lines of progress. InputError where one fails."""
    folder = WORK / "bundles"
    shutil.rmtree(folder, ignore_errors=True)
    sides = {"before": settings.before, "after": settings.after}
    cases = [find_case(name, settings.shapes) for name in settings.models]
    compared = []
    for case in cases:
        out = {side: folder / side / case.folder.name for side in sides}
        compilations: dict[str, list[Compilation]] = {side: [] for side in sides}
        for number in range(-1 if settings.cache else 0, settings.rounds):
            for side, tree in sides.items():
                cache = folder / side / "cache" if settings.cache else None
                one = _compile(case, tree, out[side], settings.targets, cache)
                say(f"[{number + 1}/{settings.rounds}] {case.name} {side}: {one.seconds:.1f} s, {one.peak_mb:.0f} MB")
                if number >= 0:
                    compilations[side].append(one)
        compared.append(_compare(case.name, out["before"], out["after"], compilations["before"], compilations["after"]))
    return compared


def _compile(case: Case, tree: Path, out: Path, targets: str, cache: Path | None) -> Compilation:
    command = [sys.executable, "-P", str(HERE / "launch_tree.py"), str(tree), str(case.model)]
    command += ["--out", str(out), "--force", "--targets", targets]
    command += [f"--shape={name}={'x'.join(map(str, shape))}" for name, shape in case.given.shapes.items()]
    out.parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    if cache is None:
        command.append("--no-cache")
    else:
        environment[FOLDER_VARIABLE] = str(cache)
    with tempfile.TemporaryDirectory() as scratch:
        measured = Path(scratch) / "measured.json"
        command = [sys.executable, "-I", "-S", str(HERE / "measure_process.py"), str(measured), *command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
            why = lines[-1].removeprefix("error: ") if lines else reason(done.stderr)
            raise InputError(f"{case.name} does not compile with {tree}: {why}")
        return Compilation(**json.loads(measured.read_text()))


def _compare(
    model: str, before: Path, after: Path, times_before: Sequence[Compilation], times_after: Sequence[Compilation]
) -> Comparison:
    old, new = (_contents(folder) for folder in (before, after))
    both = old.keys() & new.keys()
    return Comparison(
        model,
        equal=tuple(sorted(n for n in both if old[n] == new[n])),
        different=tuple(sorted(n for n in both if old[n] != new[n])),
        only_before=tuple(sorted(old.keys() - both)),
        only_after=tuple(sorted(new.keys() - both)),
        bytes_before=sum(map(len, old.values())),
        bytes_after=sum(map(len, new.values())),
        before=tuple(times_before),
        after=tuple(times_after),
    )


def _contents(folder: Path) -> Mapping[str, bytes]:
    files = (p for p in folder.rglob("*") if p.is_file() and p.suffix in COMPARED)
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def write_comparisons(settings: Settings, compared: Sequence[Comparison], file: Path) -> None:
    """Every file's name and every round, as JSON."""
    named = {"before": str(settings.before), "after": str(settings.after), "targets": settings.targets}
    data = {
        "facts": facts(named | {"rounds": settings.rounds, "cache": settings.cache}),
        "models": [{"same": c.same} | asdict(c) for c in compared],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=1) + "\n")
