"""The engines that can be measured. A new one is an entry here and, for browsers, an adapter in page/ whose

    create(folder, options) -> { run(inputs) -> { name: array }, facts() }

takes the folder of a case and the engine's options, and inputs as { name, dtype, shape, data }.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Engine:
    """`label` is for tables; `page` the adapter of an engine that runs in browsers, with its `options`.

    `needs` is what has to be made before: a bundle with Winograd's algorithm or without, or of one for the sizes of the
    case alone, or a plan for TensorFlow.js.
    """

    name: str
    label: str
    threads: int = 1
    page: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: Literal["bundle", "bundle-direct", "bundle-fixed", "plan"] | None = None

    @property
    def backend(self) -> str:
        """The backend of an engine that runs in browsers."""
        return str(self.options.get("backend", "wasm"))

    @property
    def ours(self) -> bool:
        return self.name.startswith("ours") or self.name.startswith("native")


def _ours(name: str, label: str, threads: int = 1, bundle: str = "bundle", backend: str = "wasm") -> Engine:
    options = {"bundle": bundle, "backend": backend, "threads": threads}
    return Engine(name, label, threads, "./ours.js", options, bundle)  # type: ignore[arg-type]


GPUS: Mapping[str, str] = {"webgpu": "WebGPU", "webgl": "WebGL 2"}


def _listed() -> list[Engine]:
    engines = [Engine("onnxruntime", "onnxruntime"), Engine("onnxruntime-2", "onnxruntime, 2 threads", 2)]
    engines += [Engine("native", "ours, native"), Engine("native-2", "ours, native, 2 threads", 2)]
    engines.append(Engine("native-direct", "ours, native, without Winograd"))
    engines.append(Engine("native-fixed", "ours, native, for one size"))
    engines += [_ours("ours-wasm", "ours"), _ours("ours-wasm-2", "ours, 2 threads", 2)]
    engines.append(_ours("ours-wasm-direct", "ours, without Winograd", bundle="bundle-direct"))
    engines += [_ours(f"ours-{b}", f"ours, {name}", backend=b) for b, name in GPUS.items()]
    for b in ("wasm", *GPUS):
        name = f", {GPUS[b]}" if b in GPUS else ""
        engines.append(_ours(f"ours-{b}-fixed", f"ours{name}, for one size", bundle="bundle-fixed", backend=b))
    for threads, end, more in ((1, "", ""), (2, "-2", ", 2 threads")):
        options: dict[str, Any] = {"threads": threads}
        engines.append(Engine(f"onnxruntime-web{end}", f"onnxruntime-web{more}", threads, "./onnxruntime.js", options))
        engines.append(Engine(f"tfjs-wasm{end}", f"TensorFlow.js wasm{more}", threads, "./tfjs.js", options, "plan"))
    for b, name in GPUS.items():
        options = {"backend": b, "threads": 1}
        engines.append(Engine(f"onnxruntime-web-{b}", f"onnxruntime-web, {name}", 1, "./onnxruntime.js", options))
        engines.append(Engine(f"tfjs-{b}", f"TensorFlow.js, {name}", 1, "./tfjs.js", options, "plan"))
    return engines


ENGINES: Mapping[str, Engine] = {e.name: e for e in _listed()}

DEFAULT = (
    "native",
    "native-direct",
    "onnxruntime",
    "ours-wasm",
    "ours-wasm-direct",
    "onnxruntime-web",
    "tfjs-wasm",
    "native-2",
    "onnxruntime-2",
    "ours-wasm-2",
    "onnxruntime-web-2",
    "tfjs-wasm-2",
)

BASELINES: Mapping[str, tuple[str, ...]] = {
    e.name: (("onnxruntime-web", "tfjs-wasm") if e.page else ("onnxruntime",)) for e in ENGINES.values() if e.ours
} | {
    "native": ("onnxruntime", "native-fixed"),
    **{f"ours-{b}": ("onnxruntime-web", "tfjs-wasm", f"ours-{b}-fixed") for b in ("wasm", *GPUS)},
}
"""By engine of ours: what its ratios are to, with as many threads."""


def baselines(engine: Engine) -> list[str]:
    """The names of the engines that one of ours is compared with, in the same browser."""
    end = f"-{engine.threads}" if engine.threads > 1 else ""
    return [name + end for name in BASELINES.get(engine.name, ())]
