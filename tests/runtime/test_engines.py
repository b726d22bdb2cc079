"""Bundles outside browsers: Node.js, Deno and Bun. What the runtime does the same everywhere is tested here, too, since
these start in a tenth of a browser's time: outputs in the caller's arrays, profiles of repeated runs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli.command import run
from control_flow import MODELS, SIZES, feeds, results
from drivers import need_driver
from node_programs import need
from onnx_models import Array, assert_close, onnxruntime_results
from seven_bits import seven_bits

SCRIPT = Path(__file__).with_name("run_bundle.mjs")
ENGINES = {"node": (), "deno": ("run", "--allow-read", "--allow-env", "--unstable-webgpu"), "bun": ()}
REPEAT = 6


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By name, in a CommonJS project."""
    folder = tmp_path_factory.mktemp("engines")
    (folder / "package.json").write_text('{ "type": "commonjs" }')
    onnx.save(seven_bits(), folder / "seven_bits.onnx")
    done = run(folder / "seven_bits.onnx", "--out", folder / "seven_bits", "--targets", "wasm", "--dim", "n=1..9")
    assert done.exit_code == 0, done.output
    for name, targets in (("branch", "webgpu,webgl,wasm"), ("loop_until", "wasm"), ("branch_of_sizes", "wasm")):
        onnx.save(MODELS[name](), folder / f"{name}.onnx")
        sizes = [f"--dim={n}={least}..{most}" for n, (least, most) in SIZES[name].items()]
        done = run(folder / f"{name}.onnx", "--out", folder / name, "--targets", targets, *sizes)
        assert done.exit_code == 0, done.output
    return folder


def execute(engine: str, script: Path, *, folder: Path, given: str = "") -> str:
    command = [need(engine), *ENGINES[engine], script]
    env = {**os.environ, "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def as_data(given: Mapping[str, Array]) -> dict[str, Any]:
    return {n: {"dtype": a.dtype.name, "shape": a.shape, "values": a.ravel().tolist()} for n, a in given.items()}


def play(
    engine: str, folder: Path, name: str, runs: list[dict[str, Array]], script: Path = SCRIPT, **more: object
) -> Any:
    bundle = (folder / name / "model.js").as_uri()
    given = {"bundle": bundle, "repeat": REPEAT, "runs": [as_data(r) for r in runs], **more}
    return json.loads(execute(engine, script, folder=folder, given=json.dumps(given)))


def arrays(found: Mapping[str, Any], expected: Mapping[str, Array]) -> dict[str, Array]:
    return {n: np.asarray(f["values"], expected[n].dtype).reshape(f["shape"]) for n, f in found.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_are_multiplied_exactly(engine: str, bundles: Path) -> None:
    """By the module that suits the processor, among them sums that 16 bits just hold."""
    given = [{"x": np.random.default_rng(n).standard_normal((n, 8, 6, 5)).astype(np.float32)} for n in (9, 1, 4)]
    given[1]["x"] = np.where(given[1]["x"] < 0, np.float32(-1), np.float32(1))
    answer = play(engine, bundles, "seven_bits", given, backend="wasm")
    assert answer["variant"] in ("signed", "unsigned", "narrow", "relaxed", "plain")
    for one, found in zip(given, answer["found"], strict=True):
        expected = onnxruntime_results(seven_bits(), one)
        for kind in ("fresh", "into", "again"):
            assert_close(arrays(found[kind], expected), expected, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bundle_runs_from_disk(engine: str, bundles: Path) -> None:
    """By `auto`, which finds no GPU here and says so."""
    given = [feeds("branch", rows, seed) for rows, seed in ((24, 0), (3, 1), (7, 2))]
    answer = play(engine, bundles, "branch", given)
    assert (answer["backend"], answer["integrity"]) == ("wasm", "sha256")
    assert [p["backend"] for p in answer["passedOver"]] == ["webgpu", "webgl"]
    for one, found in zip(given, answer["found"], strict=True):
        expected = results(MODELS["branch"](), one)
        for kind in ("fresh", "into", "again"):
            assert_close(arrays(found[kind], expected), expected, 1e-4)


@pytest.mark.parametrize("name", ["branch", "loop_until", "branch_of_sizes"])
def test_a_repeated_profile_takes_the_way_of_a_single_run(name: str, bundles: Path) -> None:
    """Each kernel as often as once, in whole numbers, though runs overwrite their inputs and conditions."""
    given = [feeds(name, rows, seed) for rows, seed in ((24, 0), (5, 1), (13, 2), (1, 3))]
    answer = play("node", bundles, name, given, backend="wasm")
    for one, found in zip(given, answer["found"], strict=True):
        once, often = found["counted"]
        assert often == once
        assert all(isinstance(n, int) for n in often)
        assert sum(once)
        expected = results(MODELS[name](), one)
        assert_close(arrays(found["again"], expected), expected, 1e-4)
    assert any(0 in found["counted"][0] for found in answer["found"]) == name.startswith("branch")


@pytest.mark.parametrize("name", ["branch", "loop_until", "branch_of_sizes"])
def test_outputs_go_into_arrays_of_the_callers(name: str, bundles: Path) -> None:
    """The first elements of longer ones, in runs of any size, one after the other."""
    given = [feeds(name, rows, seed) for rows, seed in ((24, 0), (5, 1), (13, 2), (1, 3))]
    for found in play("node", bundles, name, given, backend="wasm")["found"]:
        assert found["views"]
        assert {n: (f["shape"], f["values"]) for n, f in found["into"].items()} == {
            n: (f["shape"], f["values"]) for n, f in found["fresh"].items()
        }
        assert {f["buffer"] for f in found["into"].values()} == {8192}


@pytest.mark.parametrize("navigator", ["of Deno", "with a gpu alone"])
def test_webgpu_outside_a_browser(navigator: str, bundles: Path) -> None:
    """Deno has its own; a package for Node.js is installed as `navigator = { gpu }`."""
    need_driver("webgpu")
    script = bundles / "webgpu.mjs"
    alone = "Object.defineProperty(globalThis, 'navigator', { value: { gpu: navigator.gpu } });\n"
    script.write_text((alone if navigator == "with a gpu alone" else "") + SCRIPT.read_text())
    given = [feeds("branch", rows, seed) for rows, seed in ((24, 0), (3, 1), (7, 2))]
    answer = play("deno", bundles, "branch", given, script=script, backend="webgpu")
    assert answer["backend"] == "webgpu"
    for one, found in zip(given, answer["found"], strict=True):
        expected = results(MODELS["branch"](), one)
        for kind in ("fresh", "into", "again"):
            assert_close(arrays(found[kind], expected), expected, 1e-4)


def test_a_bundle_in_a_commonjs_project(bundles: Path) -> None:
    script = bundles / "main.cjs"
    script.write_text(
        "import('./loop_until/model.js').then(({ load }) => load()).then(({ backend }) => console.log(backend));"
    )
    assert execute("node", script, folder=bundles) == "wasm\n"


def test_why_there_is_no_worker(bundles: Path) -> None:
    script = bundles / "worker.mjs"
    script.write_text(
        "const { load } = await import('./loop_until/model.js');"
        "const infos = [await load(), await load({ worker: true })].map((model) => model.info());"
        "console.log(JSON.stringify(infos.map(({ worker, workerReason }) => [worker, workerReason])));"
    )
    answer = json.loads(execute("node", script, folder=bundles))
    assert answer == [[False, "as asked for"], [False, "there are no workers here"]]


TYPES = """
import { load } from './branch_of_sizes/model.js';
const model = await load();
const inputs = { x: { data: new Float32Array(8), shape: [2, 4] }, keep: new Uint8Array(4), choose: new Uint8Array(1) };
const { z } = await model.run(inputs, { into: { of_y: new Float32Array(9), z: new Float32Array(4) } });
const shape: readonly number[] = z.shape;
await model.run(inputs, { into: await model.run(inputs) });
// @ts-expect-error
await model.run(inputs, { into: { of_y: new Float64Array(9) } });
export { shape };
"""


def test_arrays_for_outputs_that_vary_have_types(bundles: Path) -> None:
    (bundles / "consumer.ts").write_text(TYPES)
    options = ["--noEmit", "--strict", "--target", "es2022", "--moduleResolution", "bundler", "--lib", "es2022,dom"]
    command = [need("tsc"), *options, "--module", "es2022", "consumer.ts"]
    done = subprocess.run(command, cwd=bundles, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
