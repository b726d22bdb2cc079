"""The options of a build, and their checks before any work is done."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..answers.formats import Answer, Decode
from ..answers.labels import Labels
from ..bundle import ESM, VARIANTS, Packaging
from ..errors import InputError
from ..frontends.model_inputs import ModelInputs
from ..generation.decoder import GenerateOptions
from ..graph.convert_float16 import convert_float16
from ..graph.multiply_blocks import multiply_blocks
from ..graph.passes import GRAPH_PASSES, GraphPass
from ..graph.round_constants import round_constants
from ..graph.set_activations import activations_in_bytes, activations_in_floats
from ..pictures.formats import PictureFormat
from ..pipeline.tensor_passes import STAGES as TENSOR_STAGES
from ..quantization.settings import QuantizeOptions
from ..sounds.formats import SoundFormat
from ..system.need_llvm import need_llvm
from ..system.put_files import check_output
from ..system.run_passes import names_of
from ..target import PROCESSORS
from ..text.nearest import did_you_mean
from ..tokenizers.take_text import TextOptions
from ..wasm.linkers import find_linker
from .compile_target import FAST_HALVES, PRECISIONS
from .cpu_target import CpuTarget
from .profiles import Profile
from .targets import TARGETS, bundled_targets

HOSTS = ("wasm", "js")

ACTIVATIONS = ("model", "f32", "int8")

GPU_TILES = ("registers", "shared")

CPUS = (*PROCESSORS, "host")

PILLOW = "PIL"
"""The module of the package pillow."""

PAGES = (".html", ".htm")
"""Suffixes of reports for people."""

REQUIRED_PASSES: tuple[GraphPass, ...] = (convert_float16,)
"""Passes that code generation requires: the only graph passes of `--opt-level 0`."""


_OF_ACTIVATIONS: Mapping[str, tuple[GraphPass, ...]] = {
    "model": (),
    "f32": (activations_in_floats,),
    "int8": (activations_in_bytes, multiply_blocks),
}


def graph_passes(opt_level: int = 2, precision: str = "f32", activations: str = "model") -> tuple[GraphPass, ...]:
    passes = (*_OF_ACTIVATIONS[activations], *(GRAPH_PASSES if opt_level else REQUIRED_PASSES))
    # Last, so that constants computed by other passes are rounded once.
    return (*passes, round_constants) if precision in PRECISIONS[1:] else passes


def stages(target: str, opt_level: int = 2, precision: str = "f32", activations: str = "model") -> tuple[str, ...]:
    """The stages of `--dump after:TARGET:STAGE` for a target, in order."""
    graph = names_of(graph_passes(opt_level, precision, activations))
    return ("import", *graph, *TENSOR_STAGES, "build_kernel", *TARGETS[target].stages())


@dataclass(frozen=True, slots=True)
class Options:
    """The command line's options. `inputs` are what --shape, --dim and --fix say, `pictures` and `sounds` the formats
    of inputs that these fill, `text` by what text fills some, `answers` what runs return in place of outputs, with
    `labels`; with `generate` tokens come in place of logits. `tokenizers` is the folder of the package that a
    bundle has for text. `dump` is STAGE or TARGET:STAGE; it and `report`, a file, may be None. A report that is a
    `page` shows by target what earlier runs took, by `profiles`, and `peaks`: billions of operations and of bytes
    in a second. With `host` "js" models that need WebAssembly are refused. `precision` is one of PRECISIONS, for
    stored values: sums are float32. `activations`, of ACTIVATIONS: whether products of weights in few bits quantise
    their first operand. `gpu_tiles`, of GPU_TILES: where webgpu holds the operands of large products. `threads` are
    those of a model that runs in this process.

    `processes` compile kernels, where these are many; None is one for each core. A program that sets more than one must
    be importable without side effects. `compile_memory` is in bytes, None a share of this machine's; `page_memory`, in
    bytes, is what the bundle may take on each backend. `records` are
    files of webnn-tune, whose choices kernels and layers take: `for_device` names the device that counts, None all.
    `cpu`, of CPUS, is what C source or a library is for; None leaves it to the target; with
    `embed_weights` C source has them as constants, too. `quantize`: what is computed in fewer bits.
    `read` are files that these options were read from, so that nothing is written there.
    `variants` of the wasm module: a bundle has both, a device that
    is known needs one. `packaging` is the form of the bundle; with `golden` it has results by which its page checks
    backends, unless `host` is "js". With `canaries` it has launches by which devices, and threads of wasm, show at load
    that they compute rightly, and relaxed instructions are tried, with `check_kernels` modules with which a page
    compares launches on its own inputs.
    """

    inputs: ModelInputs = field(default_factory=ModelInputs)
    pictures: Mapping[str, PictureFormat] = field(default_factory=dict)
    sounds: Mapping[str, SoundFormat] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    labels: Labels | None = None
    text: TextOptions | None = None
    generate: GenerateOptions | None = None
    targets: tuple[str, ...] = field(default_factory=bundled_targets)
    opt_level: int = 2
    fast_math: bool = True
    precision: str = "f32"
    activations: str = "model"
    gpu_tiles: str = "registers"
    verify: bool = False
    dump: str | None = None
    linker: str = "builtin"
    host: str = "wasm"
    threads: int = 1
    coop_coep: bool = False
    tokenizers: Path | None = None
    packaging: Packaging = ESM
    force: bool = False
    cache: bool = True
    compile_memory: int | None = None
    page_memory: int | None = None
    processes: int | None = 1
    report: Path | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    peaks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    variants: tuple[str, ...] = VARIANTS
    golden: bool = False
    canaries: bool = False
    check_kernels: bool = False
    records: tuple[Path, ...] = ()
    for_device: str | None = None
    cpu: str | None = None
    embed_weights: bool = False
    quantize: QuantizeOptions | None = None
    read: tuple[Path, ...] = ()

    def check(self) -> None:
        """Raises InputError for options that cannot work, before any work is done."""
        bundled = bundled_targets()
        if self.quantize is not None:
            if self.quantize.runs:
                need_llvm("quantising by calibration data")
            self.quantize.check()
        self.packaging.check(isolation=self.coop_coep)
        if self.activations not in ACTIVATIONS:
            raise InputError(f"--activations {self.activations}: choose one of {', '.join(ACTIVATIONS)}")
        if self.cpu is not None and self.cpu not in CPUS:
            raise InputError(f"--cpu {self.cpu}: choose one of {', '.join(CPUS)}")
        if self.alone is not None:
            self._check_alone(self.alone)
            return
        alone = " or ".join(t.name for t in TARGETS.values() if t.writer)
        if self.embed_weights:
            raise InputError(f"--embed-weights is for --targets {self._embedding()}")
        if self.cpu is not None:
            raise InputError(f"--cpu {self.cpu} is for --targets {alone}: a bundle runs on any processor")
        unknown = [t for t in self.targets if t not in bundled]
        if unknown or not self.targets:
            choice = f"choose from {', '.join(bundled)}, or {alone} alone"
            first = unknown[0] if unknown else ""
            if first not in TARGETS:
                hint = did_you_mean(first, (*bundled, *alone.split(" or ")))
            elif TARGETS[first].writer:
                hint = ""  # the choice says it
            else:
                hint = f"; programs of {first} run from Python: webnn_compile.compile(MODEL, {first!r})"
            raise InputError(f"--targets {','.join(self.targets)}: {choice}{hint}")
        webassembly = [t for t in bundled if TARGETS[t].webassembly]
        if self.precision not in PRECISIONS:
            raise InputError(f"--precision {self.precision}: choose one of {', '.join(PRECISIONS)}")
        if self.precision == FAST_HALVES:
            need_llvm(f"--precision {FAST_HALVES}, which measures errors,")
        if self.gpu_tiles not in GPU_TILES:
            raise InputError(f"--gpu-tiles {self.gpu_tiles}: choose one of {', '.join(GPU_TILES)}")
        if self.host not in HOSTS:
            raise InputError(f"--host {self.host}: choose one of {', '.join(HOSTS)}")
        if self.host == "js" and set(webassembly) & set(self.targets):
            others = ",".join(t for t in bundled if t not in webassembly)
            raise InputError(
                f"--host js makes a bundle without WebAssembly: leave {', '.join(webassembly)} out (--targets {others})"
            )
        if self.host != "js":
            need_llvm("WebAssembly")
        if self.verify:
            need_llvm("--verify")
        if self.check_kernels:
            self._check_checked(bundled)
        if self.tokenizers is not None and not self.takes_tokenizers:
            raise InputError(f"--tokenizers {self.tokenizers} is for text: give --text or --answer text, too")
        if self.dumped is not None:
            self._check_dump(*self.dumped)
        find_linker(self.linker)
        self._check_outputs()
        for module, package in self._verifying().items() if self.verify else ():
            if importlib.util.find_spec(module) is None:
                option = "--verify with --picture" if module == PILLOW else "--verify"
                raise InputError(f"{option} needs the package {package}: pip install 'webnn-compile[verify]'")

    def _check_checked(self, bundled: tuple[str, ...]) -> None:
        """Checks that a page can compare launches on a GPU."""
        need_llvm("--check-kernels")
        on_gpus = [t for t in bundled if not isinstance(TARGETS[t], CpuTarget)]
        if not set(on_gpus) & set(self.targets):
            raise InputError(
                f"--check-kernels compares what GPUs compute, and --targets {','.join(self.targets)} has none: "
                f"add {' or '.join(on_gpus)}, or leave it out"
            )
        if self.host == "js":
            raise InputError(
                "--check-kernels compares with WebAssembly, and --host js makes a bundle without it: leave one out"
            )
        if self.packaging.single_file:
            raise InputError(
                "--check-kernels adds files that a page fetches when it compares: leave it out with --single-file"
            )

    @property
    def outputs(self) -> tuple[tuple[str, Path], ...]:
        """The files that a build writes besides its folder, each behind its option."""
        save = None if self.quantize is None else self.quantize.save
        given = (("--report", self.report), ("--save-quantized", save))
        return tuple((option, path) for option, path in given if path is not None)

    @property
    def page(self) -> bool:
        """Whether the report is a page, not JSON."""
        return self.report is not None and self.report.suffix.lower() in PAGES

    @property
    def takes_tokenizers(self) -> bool:
        """Whether runs take or give text."""
        return self.text is not None or any(isinstance(answer.form, Decode) for answer in self.answers)

    @property
    def stores_halves(self) -> bool:
        """Whether large weights are float16, and results where a target has these."""
        return self.precision in PRECISIONS[1:]

    @property
    def alone(self) -> CpuTarget | None:
        """The target, where it is one that is built alone, in place of a bundle."""
        row = TARGETS.get(self.targets[0]) if len(self.targets) == 1 else None
        return row if isinstance(row, CpuTarget) and row.writer else None

    def _embedding(self) -> str:
        """The targets whose files can have weights as constants."""
        return " or ".join(t.name for t in TARGETS.values() if t.writer and t.writer().embeds)

    def _check_alone(self, row: CpuTarget) -> None:
        """Checks the options of a target that is built alone."""
        target, writer = row.name, row.writer() if row.writer else None
        if writer is not None and writer.passes is None:
            need_llvm(f"--targets {target}")
        if self.embed_weights and target not in self._embedding().split(" or "):
            raise InputError(f"--embed-weights is for --targets {self._embedding()}")
        for option, is_set in (
            ("--answer", bool(self.answers)),
            ("--text", self.text is not None),
            ("--verify", self.verify),
            ("--dump", self.dump is not None),
            ("--coop-coep", self.coop_coep),
            (f"--format {self.packaging.format}", self.packaging.format != ESM.format),
            ("--single-file", self.packaging.single_file),
            ("--base-url", bool(self.packaging.base_url)),
            ("--compress", bool(self.packaging.compress)),
            ("--sign", self.packaging.sign is not None),
            ("--check-kernels", self.check_kernels),
            (f"--host {self.host}", self.host != HOSTS[0]),
            (f"--wasm-linker {self.linker}", self.linker != "builtin"),
            (f"--gpu-tiles {self.gpu_tiles}", self.gpu_tiles != GPU_TILES[0]),
            ("--page-memory", self.page_memory is not None),
            (f"--precision {self.precision}", self.precision != PRECISIONS[0]),
        ):
            if is_set:
                raise InputError(f"{option} is for bundles: leave it out with --targets {target}")
        self._check_outputs()

    def _check_outputs(self) -> None:
        if self.for_device is not None and not self.records:
            raise InputError(f"--for-device {self.for_device} chooses among records: give --records, too")
        if self.report is not None:
            check_output("--report", self.report)
        for option, given in (("--profile", self.profiles), ("--peak", self.peaks)):
            unknown = [t for t in given if t not in self.targets]
            if unknown:
                raise InputError(f"{option} {unknown[0]}=...: choose from the targets, {', '.join(self.targets)}")
            if given and not self.page:
                raise InputError(f"{option} is for a report that is a page: give --report FILE.html, too")

    def _verifying(self) -> dict[str, str]:
        """The modules that `--verify` imports, and the packages that have them."""
        rows = (TARGETS[t] for t in self.targets)
        modules = ("onnxruntime", *(t.package for t in rows if isinstance(t, CpuTarget) and t.package is not None))
        return {name: name for name in modules} | ({PILLOW: "pillow"} if self.pictures else {})

    @property
    def dumped(self) -> tuple[str, str] | None:
        """The target and the stage of `dump`: where it names no target, that of WebAssembly or else the first."""
        if self.dump is None:
            return None
        target, _, stage = self.dump.rpartition(":")
        return target or next((t for t in self.targets if TARGETS[t].webassembly), self.targets[0]), stage

    def stages(self, target: str) -> tuple[str, ...]:
        """The stages of `dump` for a target."""
        return stages(target, self.opt_level, self.precision, self.activations)

    def _check_dump(self, target: str, stage: str) -> None:
        what, bundled = f"--dump after:{self.dump}", bundled_targets()
        if target not in bundled:
            raise InputError(f"{what}: there is no target {target!r}; choose one of {', '.join(bundled)}")
        if target not in self.targets:
            raise InputError(f"{what} needs target {target}: add it to --targets")
        if stage not in self.stages(target):
            others = [f"after:{t}:{stage}" for t in bundled if stage in self.stages(t)]
            nearest = did_you_mean(stage, self.stages(target)) or ";"
            hint = f"; other targets have {', '.join(others)};" if others else nearest
            raise InputError(
                f"{what}: no stage of {target} at --opt-level {self.opt_level}{hint} --dump list prints the stages"
            )
