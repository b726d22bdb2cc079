"""model.d.ts, read by TypeScript itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from device_artifacts import tiny_device_artifact
from tiny_artifact import copy_artifact, tiny_artifact
from webnn_compile.bundle import BundledAnswer, BundledText, write_bundle
from webnn_compile.dtypes import DTYPES, F32
from webnn_compile.ir.nodes import Scalar
from webnn_compile.program.dimensions import Dimension
from webnn_compile.program.program import TensorSpec

TSC = Path(__file__).parents[2] / "node_modules" / ".bin" / "tsc"

CONSUMER = """
import { load, DownloadError, type Inputs, type Progress } from './bundle/model.js';

const model = await load({ backend: 'auto', threads: 'auto', worker: false, onProgress: (p: Progress) => p.loaded });
const { output } = await model.run({ input: new Float32Array(1024) });
const { signal } = new AbortController();
const again: Float32Array = (await model.run({ input: output }, { signal })).output;
const other = await load({ signal, timeout: 1000 });
await other.profile({ input: again }, { signal });
await model.run({ input: again }, { into: { output: again } });
await model.run({ input: again }, { into: await model.run({ input: again }) });
const sum: number = output.reduce((a, b) => a + b, 0);
const name: 'input' = model.inputs[0].name;
const shape: readonly [1, 1024] = model.outputs[0].shape;
const info = model.info();
const variant: 'signed' | 'unsigned' | 'narrow' | 'relaxed' | 'plain' = info.variant;
const inputs: Inputs = { input: new Float32Array(1024) };
await model.dispose();
const failure = new DownloadError('http', 'text');
const code: 'network' | 'http' | 'html' | 'stalled' = failure.code;
export { sum, name, shape, variant, inputs, code };
"""
MISTAKES = {
    "model.run({})": "Property '\"input\"' is missing|Property 'input' is missing",
    "model.run({ input: new Float64Array(1024) })": "Float64Array",
    "model.run({ input: new Float32Array(1024), extra: 1 })": "'extra' does not exist",
    "model.run({ input: new Float32Array(1024) }).then((r) => r.nothing)": "'nothing' does not exist",
    "model.run({ input: new Float32Array(1024) }, { into: { output: new Int8Array(1024) } })": "Int8Array",
    "model.run({ input: new Float32Array(1024) }, { into: { input: undefined } })": "'input' does not exist",
    "load({ backend: 'webgl' })": '"webgl"',
    "load({ signal: 'now' })": "AbortSignal",
    "model.inputs[1]": "no element at index '1'",
}


@pytest.fixture
def tsc() -> Path:
    if not TSC.exists() or shutil.which("node") is None:
        message = "no TypeScript: run `npm install` in the repository"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return TSC


def check(tsc: Path, folder: Path, source: str) -> str:
    (folder / "consumer.ts").write_text(source)
    done = subprocess.run(
        [tsc, "--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler",
         "--lib", "es2022,dom", "consumer.ts"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_consumer_type_checks(tsc: Path, tmp_path: Path) -> None:
    write_bundle(tiny_artifact(), tmp_path / "bundle")
    assert check(tsc, tmp_path, CONSUMER) == ""


DEVICES = """
import { load, DeviceLostError, type Info, type KernelTime, type OnDevice } from './bundle/model.js';

const model = await load({ backend: 'webgl' });
const info: Info = model.info();
const about: string = info.backend === 'wasm' ? info.variant : info.adapter;
const reasons: string[] = info.passedOver.map(({ backend, reason }) => `${backend}: ${reason}`);
declare const image: ImageBitmap;
const given: OnDevice = image;
const { output } = await model.run({ input: given }, { output: 'array' });
const first: number | undefined = output[0];
const kept = await model.run({ input: new Float32Array(1024) }, { output: 'gpu-buffer' });
const times: KernelTime[] = await model.profile({ input: new Float32Array(1024) });
const failure = new DeviceLostError('lost', 'text');
export { about, reasons, first, kept, times, failure };
"""


def test_consumer_of_a_bundle_for_devices(tsc: Path, tmp_path: Path) -> None:
    write_bundle(tiny_device_artifact("webgl", "wasm"), tmp_path / "bundle")
    assert check(tsc, tmp_path, DEVICES) == ""
    assert "'\"webgpu\"'" in check(
        tsc, tmp_path, "import { load } from './bundle/model.js'; load({ backend: 'webgpu' });"
    )


PICTURES = """
import { load, type Inputs } from './bundle/model.js';

const model = await load();
declare const sources: [ImageData, ImageBitmap, HTMLImageElement, HTMLVideoElement, OffscreenCanvas, VideoFrame, File];
for (const input of sources) await model.run({ input });
await model.run({ input: { data: new Uint8ClampedArray(16), shape: [2, 2] } });
export const most: number | undefined = model.inputs[0].picture;
"""


def test_consumer_of_pictures(tsc: Path, tmp_path: Path) -> None:
    write_bundle(replace(tiny_artifact(), pictures={"input": 512}), tmp_path / "bundle")
    assert check(tsc, tmp_path, PICTURES) == ""
    wrong = PICTURES + "await model.run({ input: new Float32Array(16) });"
    assert "Float32Array" in check(tsc, tmp_path, wrong)


TEXT = """
import { load, type Inputs, type Text } from './bundle/model.js';

const model = await load();
declare const texts: [string, string[], (string | [string, string])[]];
for (const text of texts) await model.run({ text, extra: new Float32Array(4) });
const ids = new BigInt64Array(4);
const given: Inputs[] = [{ input_ids: ids, attention_mask: { data: ids, shape: [1, 4] }, extra: new Float32Array(4) }];
const { 'input_ids out': written, 'extra out': vectors } = await model.run(given[0]);
const answers: [string, Float32Array[]] = [written, vectors];
const { input_ids: shape }: { input_ids: number[] } = model.inputShapes();
const pair: Text = [['a', 'b']];
await model.run(given[0], { into: { 'attention_mask out': ids } });
export { answers, shape, pair };
export const role: string | undefined = model.inputs[0].text;
"""


LABELLED = """\
import { load } from './bundle/model.js';

const { a, b } = await (await load()).run({ x: new Float32Array(4) });
const [label, scores]: [string, number] = [a[0] ?? '', b[0]?.setosa ?? 0];
export { label, scores };
"""


def test_consumer_of_labels(tsc: Path, tmp_path: Path) -> None:
    answers = (BundledAnswer("a", "labels", {"places": "a"}), BundledAnswer("b", "scores", {"scores": "b"}))
    artifact = copy_artifact({"x": ("float32", (1, 4))})
    (out,) = artifact.outputs
    outputs = (replace(out, name="a"), replace(out, name="b"))
    write_bundle(replace(artifact, outputs=outputs, answers=answers), tmp_path / "bundle")
    assert check(tsc, tmp_path, LABELLED) == ""
    assert "not assignable" in check(tsc, tmp_path, LABELLED.replace(": [string, number]", ": [number, string]"))


def test_consumer_of_text(tsc: Path, tmp_path: Path) -> None:
    shapes = {"input_ids": ("int64", (1, 4)), "attention_mask": ("int64", (1, 4)), "extra": ("float32", (1, 4))}
    inputs = {"ids": "input_ids", "mask": "attention_mask"}
    answers = (
        BundledAnswer("input_ids out", "text", {"ids": "input_ids out"}, tokenizer=b"{}"),
        BundledAnswer("extra out", "embedding", {"vector": "extra out"}, many=True),
    )
    text = BundledText("text", inputs, 1, 4, {}, b"{}")
    write_bundle(replace(copy_artifact(shapes), text=text, answers=answers), tmp_path / "bundle")
    assert check(tsc, tmp_path, TEXT) == ""
    wrong = (
        "model.run({ text: 'a' })",
        "model.run({ text: 3, extra: new Float32Array(4) })",
        "model.run({ text: [['a', 'b', 'c']], extra: new Float32Array(4) })",
        "model.run({ extra: new Float32Array(4) })",
        "model.run(given[0], { into: { 'extra out': new Float32Array(4) } })",
    )
    said = check(tsc, tmp_path, TEXT + "".join(f"await {line};\n" for line in wrong))
    first = len(TEXT.splitlines())
    assert re.findall(r"consumer.ts\((\d+),", said) == [str(first + 1 + i) for i in range(len(wrong))], said
    assert len(list((tmp_path / "bundle").glob("tokenizer-*"))) == 1


SOUNDS = """
import { load, type Sound } from './bundle/model.js';

const model = await load();
declare const sources: [AudioBuffer, File, Float32Array];
for (const input of sources) await model.run({ input });
const data = new Float32Array(16);
const given: Sound[] = [{ data, rate: 44100 }, { data: [data, data], rate: 48000 }, { data, shape: [16] }];
export const rate: number | undefined = model.inputs[0].sound;
export { given };
"""


def test_consumer_of_sounds(tsc: Path, tmp_path: Path) -> None:
    write_bundle(replace(tiny_artifact(), sounds={"input": 16000}), tmp_path / "bundle")
    assert check(tsc, tmp_path, SOUNDS) == ""
    assert "Int16Array" in check(tsc, tmp_path, SOUNDS + "await model.run({ input: new Int16Array(16) });")


ANSWERS = """
import { load } from './bundle/model.js';

const model = await load();
const { output } = await model.run({ input: new Float32Array(1024) });
export const texts: string[] = output.map(({ label, score, index }) => `${label} ${index} ${score.toFixed(2)}`);
export const kind: 'classify' = model.outputs[0].answer;
"""


def test_consumer_of_answers(tsc: Path, tmp_path: Path) -> None:
    answer = BundledAnswer("output", "classify", {"scores": "output", "index": "output"}, ("a", "b"))
    write_bundle(replace(tiny_artifact(), answers=(answer,)), tmp_path / "bundle")
    assert check(tsc, tmp_path, ANSWERS) == ""
    into = "await model.run({ input: new Float32Array(1024) }, { into: { output: new Float32Array(1024) } });"
    assert "Float32Array" in check(tsc, tmp_path, ANSWERS + into)


def test_mistakes_are_found(tsc: Path, tmp_path: Path) -> None:
    write_bundle(tiny_artifact(), tmp_path / "bundle")
    lines = "".join(f"export const x{i} = {code};\n" for i, code in enumerate(MISTAKES))
    found = check(tsc, tmp_path, CONSUMER + lines)
    first = CONSUMER.count("\n") + 1
    for i, pattern in enumerate(MISTAKES.values()):
        own = re.search(rf"^consumer\.ts\({first + i},.*(?:\n .*)*", found, re.MULTILINE)
        assert own is not None, (list(MISTAKES)[i], found)
        assert re.search(pattern, own[0])


def test_every_dtype_and_odd_names(tsc: Path, tmp_path: Path) -> None:
    tensors = {f"in {name}": (name, (2,)) for name in DTYPES} | {
        '"quoted" */': ("bool", ()),
        "__proto__": ("int8", (1,)),
    }
    write_bundle(copy_artifact(tensors), tmp_path / "bundle")
    source = """
import type { Inputs, Outputs } from './bundle/model.js';
const f16: Inputs['in float16'] = new Uint16Array(2);
const u8: Inputs['in uint8'] = new Uint8ClampedArray(2);
const i64: Inputs['in int64'] = new BigInt64Array(2);
export const read = (o: Outputs): [Uint16Array, BigUint64Array, Uint8Array] =>
  [o['in float16 out'], o['in uint64 out'], o['"quoted" */ out']];
export { f16, u8, i64 };
"""
    assert check(tsc, tmp_path, source) == ""


STATES = """
import { load, StateFullError, StateLostError, type Session, type States } from './bundle/model.js';

const model = await load();
const position: number = model.position;
const saved: States = await model.saveState();
const shape: readonly [1, number, 8] = saved['past.0'].shape;
await model.loadState(saved);
await model.loadState({ 'past.0': new Float32Array(16), count: { data: new BigInt64Array(1), shape: [1] } });
await model.rewind(1);
const session: Session = await model.session();
const { output } = await session.run({ input: new Float32Array(1024) });
const fork: Session = await session.fork();
await fork.reset();
await fork.dispose();
const after: string | undefined = model.dimensions[0]?.after;
const full: 'state-full' = new StateFullError('state-full', '').code;
const lost: 'state-lost' = new StateLostError('state-lost', '').code;
export { position, shape, output, after, full, lost };
"""
ABSENT = ("model.reset()", "model.position", "model.session()", "model.dimensions[0]?.after")


def test_consumer_of_a_model_with_states(tsc: Path, tmp_path: Path) -> None:
    past = Scalar("past", 9)
    states = (TensorSpec("past.0", F32, (1, past, 8), 0), TensorSpec("count", DTYPES["int64"], (1,), 512))
    dimensions = (Dimension("past", past, after=past + 1),)
    artifact = tiny_artifact()
    backends = tuple(replace(part, scalars={past: 0}) for part in artifact.backends)
    artifact = replace(artifact, states=states, dimensions=dimensions, backends=backends)
    write_bundle(artifact, tmp_path / "bundle")
    assert check(tsc, tmp_path, STATES) == ""
    wrong = STATES + "await model.loadState({ 'past.0': new Float32Array(16) });"
    assert "count" in check(tsc, tmp_path, wrong)


def test_other_models_have_no_states(tsc: Path, tmp_path: Path) -> None:
    write_bundle(tiny_artifact(), tmp_path / "bundle")
    head = "import { load } from './bundle/model.js';\nconst model = await load();\n"
    for expression in ABSENT:
        assert "does not exist" in check(tsc, tmp_path, f"{head}export const x = {expression};"), expression
    wrong = "import { StateFullError } from './bundle/model.js';\nexport { StateFullError };"
    assert "no exported member" in check(tsc, tmp_path, wrong)
    types = (tmp_path / "bundle" / "model.d.ts").read_text()
    assert "<states>" not in types
    scripts = "".join(path.read_text() for path in (tmp_path / "bundle").glob("*.js"))
    assert "loadState" not in scripts
    assert "StateFullError" not in scripts
