"""Relaxed instructions that an engine computes wrongly: the module of plain SIMD takes the place of the others."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli.command import run
from node_programs import ROOT, need
from onnx_models import model, node, onnxruntime_results, random
from parallel_model import parallel_model
from prepared_models import int4_blocks
from seven_bits import seven_bits
from webnn_compile.driver.build import build_files
from webnn_compile.driver.options import Options
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.wasm import emit

RUNTIME = ROOT / "runtime-js" / "wasm"
TRIED = re.findall(r"^  '?(\w+\.relaxed_\w+)'?:", (RUNTIME / "check_relaxed.js").read_text(), re.MULTILINE)

SCRIPT = """
import { setFlagsFromString } from 'node:v8';
// Node.js 20 has them behind a flag, and its first compiler computes dots wrongly.
setFlagsFromString('--experimental-wasm-relaxed-simd');
setFlagsFromString('--no-liftoff');
const { load } = await import(%(bundle)s);
await import(%(engine)s);
const warnings = [];
console.warn = (text) => warnings.push(text);
const { values, shape, codes, options } = %(given)s;
if (codes) breakEngine(...codes);
const model = await load(options);
const { y } = await model.run({ x: { data: Float32Array.from(values), shape } });
console.log(JSON.stringify({ info: model.info(), y: [...y], warnings }));
"""


def difference() -> onnx.ModelProto:
    """y = b - x w, element by element."""
    nodes = [node("Mul", ["x", "w"], ["p"]), node("Sub", ["b", "p"], ["y"])]
    return model(nodes, {"x": [4, 256]}, ["y"], {"w": random((4, 256)), "b": random((4, 256))})


def test_every_relaxed_instruction_of_modules_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: set[str] = set()

    def emit_object(llvm_ir: str, *, relaxed: bool, **more: Any) -> bytes:
        if relaxed:
            found.update(re.findall(r"\S+\.relaxed_\w+", emit.emit_assembly(llvm_ir, relaxed=True)))
        return own(llvm_ir, relaxed=relaxed, **more)

    own = emit.emit_object
    monkeypatch.setattr(emit, "emit_object", emit_object)
    for made in (parallel_model, difference, int4_blocks, seven_bits):
        onnx.save(made(), tmp_path / "model.onnx")
        options = Options(model_inputs(dims={"n": 2} if made is seven_bits else {}), targets=("wasm",), cache=False)
        build_files(tmp_path / "model.onnx", options, lambda _: None)
    assert found == set(TRIED)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    for made in (difference, seven_bits):
        onnx.save(made(), folder / f"{made.__name__}.onnx")
        options = ["--targets", "wasm", "--canaries", "on", *(["--dim", "n=2"] if made is seven_bits else [])]
        done = run(folder / f"{made.__name__}.onnx", "--out", folder / made.__name__, *options)
        assert done.exit_code == 0, done.output
    return folder


def play(
    bundles: Path, made: Callable[[], onnx.ModelProto], codes: tuple[int, int] | None, **options: object
) -> tuple[dict[str, Any], bool, list[str]]:
    """The info of a model in Node.js, whether its result is right, and the warnings."""
    proto = made()
    shape = [d.dim_value or 2 for d in proto.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    given = {"values": x.ravel().tolist(), "shape": shape, "codes": codes, "options": options}
    engine = ROOT / "tests" / "runtime" / "broken_engine.js"
    script = SCRIPT % {
        "bundle": json.dumps((bundles / made.__name__ / "model.js").as_uri()),
        "engine": json.dumps(engine.as_uri()),
        "given": json.dumps(given),
    }
    command = [need("node"), "--input-type=module", "--eval", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    want = onnxruntime_results(proto, {"x": x})["y"]
    right = np.allclose(np.asarray(answer["y"]).reshape(want.shape), want, atol=1e-4 * float(abs(want).max()))
    return answer["info"], right, answer["warnings"]


@pytest.mark.parametrize("made", [difference, seven_bits])
def test_an_engine_that_computes_rightly_passes(bundles: Path, made: Callable[[], onnx.ModelProto]) -> None:
    info, right, warnings = play(bundles, made, None)
    assert info["canaries"] == {"checked": len(TRIED), "skipped": 0, "failed": []}
    assert (info["variant"] != "plain", right, warnings) == (True, True, [])


@pytest.mark.parametrize(
    ("made", "kernel", "codes"),
    [
        (difference, "f32x4.relaxed_nmadd", (0x86, 0x85)),
        (seven_bits, "i16x8.relaxed_dot_i8x16_i7x16_s", (0x92, 0x91)),  # i16x8.relaxed_q15mulr_s
    ],
)
def test_plain_simd_takes_the_place_of_a_wrong_instruction(
    bundles: Path, made: Callable[[], onnx.ModelProto], kernel: str, codes: tuple[int, int]
) -> None:
    info, right, warnings = play(bundles, made, codes)
    failed = [{"kernel": kernel, "nodes": [], "backend": "wasm", "action": "plain-simd"}]
    assert info["canaries"] == {"checked": len(TRIED), "skipped": 0, "failed": failed}
    assert (info["variant"], right) == ("plain", True)
    assert warnings == [f"wasm gives wrong results here, by {kernel}: the module of plain SIMD runs instead"]


def test_false_leaves_them_out(bundles: Path) -> None:
    info, right, warnings = play(bundles, difference, (0x86, 0x85), canaries=False)
    assert (info["variant"], "canaries" in info, right, warnings) == ("relaxed", False, False, [])
