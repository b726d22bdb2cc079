"""`compileModel` in a page of one's own: the files of the command line, models that run, its errors."""

from __future__ import annotations

import io
import re
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from compiled import shared_file
from digits import MODEL as DIGITS
from harness import browser_name
from onnx import TensorProto, helper, numpy_helper
from page_compiler import (
    backends_of,
    choose,
    command_error,
    command_line,
    compile_chosen,
    inputs_of,
    reference_of,
)
from playwright.sync_api import Page

from benchmarks.generate import mobilenetv2

TOLERANCE = 1e-3
"""Tolerance of results by Winograd's algorithm, relative to max(1, the largest element)."""


@pytest.fixture(scope="session")
def mobilenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "mobilenetv2.onnx"
    onnx.save(mobilenetv2(), path)
    return path


@pytest.fixture
def model(request: pytest.FixtureRequest) -> tuple[Path, dict[str, list[int]]]:
    match request.param:
        case "digits":
            return DIGITS, {}
        case "ultraface":
            return shared_file("models/ultraface_rfb320.onnx"), {}
        case "squeezenet":
            return shared_file("models/squeezenet1.0_imagenet.onnx"), {"data": [1, 3, 227, 227]}
        case _:
            return request.getfixturevalue("mobilenet"), {}


@pytest.mark.parametrize("model", ["digits", "ultraface", "squeezenet", "mobilenetv2"], indirect=True)
def test_models_give_the_command_lines_files_and_the_references_results(
    opened: Page, model: tuple[Path, dict[str, list[int]]], tmp_path: Path
) -> None:
    path, shapes = model
    inputs = inputs_of(path, shapes)
    choose(opened, path)
    given = {name: values.ravel().tolist() for name, values in inputs.items()}
    opened.evaluate("(inputs) => { globalThis.given = inputs; }", given)
    backends = backends_of(opened)
    then = f"Promise.all([hashes(made.files), runOn(made, {backends}, given)])"
    ended = compile_chosen(opened, {"shapes": shapes}, then)
    assert "value" in ended, ended
    files, results = ended["value"]
    options = [f"--shape={name}={'x'.join(map(str, shape))}" for name, shape in shapes.items()]
    assert files == command_line(path, tmp_path / "bundle", *options)
    expected = reference_of(path, inputs)
    assert list(results) == backends
    for backend in backends:
        assert list(results[backend]) == list(expected)
        for name, values in expected.items():
            error = np.abs(np.float32(results[backend][name]) - values.ravel()).max()
            assert error <= TOLERANCE * max(1, np.abs(values).max()), (backend, name, error)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"precision": "f16"}, ("--precision", "f16")),
        ({"fastMath": False}, ("--fast-math", "off")),
        ({"targets": ["webgl"]}, ("--targets", "webgl")),
        ({"weights": "int8"}, ("--weights", "int8")),
        ({"answers": ["classify,top=3"], "pictures": {}}, ("--answer", "classify,top=3")),
    ],
)
def test_options_are_the_command_lines(
    opened: Page, tmp_path: Path, options: dict[str, object], arguments: tuple[str, ...]
) -> None:
    choose(opened, DIGITS)
    ended = compile_chosen(opened, options, "hashes(made.files)")
    assert ended == {"value": command_line(DIGITS, tmp_path / "bundle", *arguments)}


def small_model(path: Path, op: str = "Relu", shape: tuple[object, ...] = (1, 3)) -> Path:
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], "the_node")],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_sizes_of_each_run(opened: Page, tmp_path: Path) -> None:
    weights = np.random.default_rng(2).standard_normal((6, 4)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Softmax", ["z"], ["y"], axis=1)],
        "ranged",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "ranged.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    choose(opened, path)
    generator = np.random.default_rng(3)
    given = [generator.standard_normal((*sizes, 6)).astype(np.float32) for sizes in ((1, 1), (2, 7), (1, 16))]
    opened.evaluate("(given) => { globalThis.given = given; }", [[a.shape, a.ravel().tolist()] for a in given])
    backends = backends_of(opened)
    then = f"""(async () => {{
      const results = [];
      for (const backend of {backends}) {{
        const model = await made.load({{ backend, worker: false }});
        for (const [shape, data] of given) {{
          const {{ y }} = await model.run({{ x: {{ data: Float32Array.from(data), shape }} }});
          results.push([...y.shape, ...y]);
        }}
        results.push((await outcome(model.run({{ x: {{ data: new Float32Array(102), shape: [1, 17, 6] }} }}))).message);
        await model.dispose();
      }}
      const {{ inputs, dimensions }} = made;
      return [await hashes(made.files), inputs, dimensions, made.inputShapes({{ batch: 2, length: 3 }}), results];
    }})()"""
    ended = compile_chosen(opened, {"dims": {"batch": [1, 2], "length": [1, 16]}}, then)
    assert "value" in ended, ended
    files, ports, dimensions, shapes, results = ended["value"]
    assert files == command_line(path, tmp_path / "bundle", "--dim", "batch=1..2", "--dim", "length=1..16")
    assert ports == [{"name": "x", "dtype": "float32", "shape": ["batch", "length", 6]}]
    assert dimensions == [
        {"name": "batch", "least": 1, "most": 2, "multiple": 1},
        {"name": "length", "least": 1, "most": 16, "multiple": 1},
    ]
    assert shapes == {"x": [2, 3, 6]}
    message = 'input "x" of shape [1, 17, 6] makes length 17, and the model was compiled for 1 to 16'
    for of_backend in np.split(np.array(results, object), len(backends)):
        *found, wrong = of_backend
        assert wrong == message
        for array, (batch, length, width, *values) in zip(given, found, strict=True):
            expected = reference_of(path, {"x": array})["y"]
            assert (batch, length, width) == expected.shape
            np.testing.assert_allclose(values, expected.ravel(), atol=1e-5)


def with_external_data(folder: Path) -> tuple[Path, Path]:
    """A model, and the file of its weights."""
    weights = numpy_helper.from_array(np.arange(2048, dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"], "the_node")],
        "external",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2048])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2048])],
        [weights],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "external.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path, folder / "weights.bin"


def bad_model(kind: str, folder: Path) -> Path:
    match kind:
        case "not ONNX":
            path = folder / "picture.onnx"
            path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(200)))
            return path
        case "truncated":
            path = folder / "truncated.onnx"
            path.write_bytes(DIGITS.read_bytes()[:100_000])
            return path
        case "unsupported":
            return small_model(folder / "unsupported.onnx", "RegexFullMatch")
        case "free dimensions":
            return small_model(folder / "free.onnx", shape=("batch", 3))
        case _:
            path, data = with_external_data(folder)
            data.unlink()
            return path


@pytest.mark.parametrize("kind", ["not ONNX", "truncated", "unsupported", "free dimensions", "missing external data"])
def test_bad_files_give_the_command_lines_message_and_the_page_goes_on(
    opened: Page, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bad_model(kind, tmp_path)
    monkeypatch.chdir(tmp_path)
    expected = command_error(Path(path.name), tmp_path / "bundle").replace(str(tmp_path), "/model")
    choose(opened, path)
    assert compile_chosen(opened) == {"name": "CompileError", "kind": "input", "message": expected}
    choose(opened, small_model(tmp_path / "good.onnx"))
    assert "value" in compile_chosen(opened)


def test_external_data_comes_with_the_model(opened: Page, tmp_path: Path) -> None:
    path, data = with_external_data(tmp_path)
    choose(opened, path, data)
    assert compile_chosen(opened, then="hashes(made.files)") == {"value": command_line(path, tmp_path / "bundle")}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "[]",
            "one file named *.onnx with its external data, *.tflite, *.keras, *.h5, *.pb, *.mlmodel, *.prototxt with "
            "its *.caffemodel, *-symbol.json with its *.params, or model.json with its shards, is a model, not nothing",
        ),
        ("'model.onnx'", "a model is a File, bytes (ArrayBuffer, Uint8Array, Blob), a list of Files, or bytes by name"),
        ("new Response('')", "a model is a File"),
        ("{ 'a.onnx': 'text' }", "a model is a File"),
        ("{ 'a': new ArrayBuffer(1), 'a/b.onnx': new ArrayBuffer(1) }", "cannot be the name of a file here"),
        ("undefined", "a model is a File"),
        ("{ 'a.onnx': new Uint8Array(1), 'b.onnx': new Uint8Array(1) }", "not a.onnx, b.onnx"),
        ("{ '../a.onnx': new Uint8Array(1) }", '"../a.onnx" cannot be the name of a model\'s file'),
        ("new Uint8Array()", "model.onnx is empty"),
        ("[new File(['1'], 'a.onnx'), new File(['2'], 'a.onnx')]", "two files are named a.onnx; rename one of them"),
    ],
)
def test_what_is_no_model_is_refused(opened: Page, source: str, message: str) -> None:
    ended = opened.evaluate(f"() => outcome(compileModel({source}))")
    assert (ended["name"], ended["kind"]) == ("CompileError", "input")
    assert message in ended["message"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("null", "options are an object with some of signal, shapes"),
        (
            "{ shape: {} }",
            "there is no option shape; choose from signal, shapes, dims, states, given, stateWindow, generate, "
            "pictures, sounds, answers, labels, ",
        ),
        ("{ shapes: { x: '1x3' } }", "the option shapes must be sizes by input, such as { input: [1, 3, 224, 224] }"),
        ("{ shapes: { x: [1n] } }", "the option shapes must be"),
        ("{ shapes: { x: [''] } }", "the option shapes must be"),
        (
            "{ dims: { n: '1..3' } }",
            "the option dims must be sizes by name, or ranges, such as { batch: 1, length: [1, 512]",
        ),
        ("{ dims: { n: [1] } }", "the option dims must be"),
        ("{ states: 'none' }", "the option states must be pairs such as ['hidden=hidden_out'], or none: []"),
        ("{ generate: 5 }", "the option generate must be true, or a text such as 'top=5,logits=scores'"),
        ("{ targets: 'webgpu' }", "the option targets must be some of ['webgpu', 'webgl']"),
        ("{ targets: ['native'] }", "the option targets must be"),
        ("{ precision: 'f8' }", "the option precision must be 'f32' or 'f16'"),
        ("{ fastMath: 'off' }", "the option fastMath must be true or false"),
        ("{ records: new File(['{}'], 'records.jsonl') }", "the option records must be the text of records"),
        ("{ signal: 1 }", "the option signal must be an AbortSignal"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_starts(opened: Page, options: str, message: str) -> None:
    ended = opened.evaluate(f"() => outcome(compileModel(new Uint8Array(1), {options}))")
    assert (ended["name"], ended["kind"]) == ("CompileError", "input")
    assert ended["message"].startswith(message)


def test_records_that_are_none_are_refused(opened: Page) -> None:
    choose(opened, DIGITS)
    ended = compile_chosen(opened, {"records": "garbage"})
    assert (ended["kind"], "none of its lines is a record" in ended["message"]) == ("input", True)


def test_a_file_that_changed_since_it_was_chosen_is_asked_for_again(opened: Page, tmp_path: Path) -> None:
    if browser_name(opened) != "chromium":
        pytest.skip("Playwright hands Firefox a copy of the file")
    path = small_model(tmp_path / "small.onnx")
    choose(opened, path)
    path.write_bytes(b"other, and longer than it was" * 100)
    ended = compile_chosen(opened)
    assert ended["kind"] == "input"
    assert re.match("small.onnx cannot be read: .*; where it has changed since, choose it again", ended["message"])
    choose(opened, small_model(tmp_path / "again.onnx"))
    assert "value" in compile_chosen(opened)


def test_a_huge_file_is_refused_before_it_is_read(opened: Page) -> None:
    ended = opened.evaluate(
        """async () => {
          const piece = new Blob([new Uint8Array(2 ** 24)]);
          const huge = new File(Array(65).fill(piece), 'huge.onnx');
          let read = 0;
          for (const name of ['arrayBuffer', 'stream', 'slice', 'text']) {
            const own = Blob.prototype[name];
            Blob.prototype[name] = function (...given) { read++; return own.apply(this, given); };
          }
          const { postMessage } = Worker.prototype;
          Worker.prototype.postMessage = function (...given) { read++; return postMessage.apply(this, given); };
          const ended = await outcome(compileModel(huge));
          Worker.prototype.postMessage = postMessage;
          return { ...ended, read };
        }"""
    )
    assert ended == {
        "name": "CompileError",
        "kind": "input",
        "message": "huge.onnx: 1.0 GiB is more than a page can compile (1 GiB); use the command line: "
        "pip install webnn-compile",
        "read": 0,
    }


def test_a_chain_of_a_thousand_operators_compiles(opened: Page, tmp_path: Path) -> None:
    names = ["x", *(f"v{i}" for i in range(999)), "y"]
    ops = ("Relu", "Sigmoid", "Abs", "Tanh", "Neg")
    nodes = [helper.make_node(ops[i % len(ops)], [a], [b]) for i, (a, b) in enumerate(pairwise(names))]
    port = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 5, 7]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", port[:1], port[1:])
    path = tmp_path / "chain.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    assert len(nodes) == 1000
    choose(opened, path)
    assert compile_chosen(opened, then="hashes(made.files)") == {"value": command_line(path, tmp_path / "bundle")}


def test_the_archive_holds_the_bundle(opened: Page, tmp_path: Path) -> None:
    path, data = with_external_data(tmp_path)
    choose(opened, path, data)
    then = "made.zip().then((zip) => zip.arrayBuffer()).then((bytes) => [...new Uint8Array(bytes)])"
    ended = compile_chosen(opened, then=then)
    assert "value" in ended, ended
    command_line(path, tmp_path / "bundle")
    with zipfile.ZipFile(io.BytesIO(bytes(ended["value"]))) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {f"external/{p.name}": p.read_bytes() for p in (tmp_path / "bundle").iterdir()}


def test_memory_is_given_back_between_models(opened: Page) -> None:
    choose(opened, DIGITS)
    heaps = [compile_chosen(opened, then="made.report.heapBytes")["value"] for _ in range(8)]
    # It grows by a fifth at a time, and once where what was freed lies in pieces.
    assert len(set(heaps)) <= 2, heaps


def test_the_card_says_what_the_file_does(opened: Page, tmp_path: Path) -> None:
    choose(opened, small_model(tmp_path / "small.onnx", shape=("batch", 3)))
    card = opened.evaluate(
        "async () => { globalThis.compiler ??= await openCompiler(); return compiler.describe(chosen()); }"
    )
    assert card == {
        "name": "small.onnx",
        "bytes": (tmp_path / "small.onnx").stat().st_size,
        "producer": "",
        "licence": "",
        "description": "",
        "author": "",
        "opset": 17,
        "operators": {"Relu": 1},
        "unsupported": [],
        "parameters": 0,
        "weights": {},
        "inputs": [{"name": "x", "dtype": "float32", "shape": ["batch", 3]}],
        "outputs": [{"name": "y", "dtype": "float32", "shape": None}],
        "signatures": [],
        "states": [],
    }
