"""Messages of the command line about bad input, after which everything is as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import onnx
import pytest
from cli.command import SHAPE, contents, network, refused, run
from onnx import TensorProto, helper
from onnx_models import model, node, random
from webnn_compile.driver.options import Options

Build = Callable[[Path], onnx.ModelProto | bytes]


def save(proto: onnx.ModelProto | bytes, folder: Path) -> Path:
    made = folder / "bad.onnx"
    made.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    return made


def external(folder: Path) -> onnx.ModelProto:
    """A model whose weights are in another file, which is missing."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [2]}, ["y"], {"w": random((2,))})
    onnx.save(proto, folder / "x.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (folder / "weights.bin").unlink()
    return onnx.load(folder / "x.onnx", load_external_data=False)


def unary(op: str, dtype: int = TensorProto.FLOAT, shape: Sequence[int | str] = (2,), **more: str) -> onnx.ModelProto:
    return model([node(op, ["x"], ["y"], "the_node", **more)], {"x": shape}, ["y"], dtype=dtype)


def cyclic(_: Path) -> onnx.ModelProto:
    return model([node("Add", ["x", "b"], ["a"], "one"), node("Neg", ["a"], ["b"], "two")], {"x": [2]}, ["a"])


def huge(_: Path) -> onnx.ModelProto:
    """Small weights, and an intermediate result of 6.4 GB that cannot be fused away."""
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Softmax", ["m"], ["s"]), node("MatMul", ["s", "x"], ["y"])]
    return model(nodes, {"x": [40000, 2]}, ["y"], {"w": random((2, 40000))})


def misfit(_: Path) -> onnx.ModelProto:
    return model([node("MatMul", ["x", "w"], ["y"], "dense")], {"x": [2, 3]}, ["y"], {"w": random((4, 5))})


BAD_MODELS: Mapping[str, tuple[Build, str]] = {
    "no ONNX": (lambda _: b"once upon a time", r"bad\.onnx is not an ONNX model; export the model to ONNX, with"),
    "a web page": (lambda _: b"<!DOCTYPE html>", r"is not an ONNX model but a text file.*download the model again"),
    "empty": (lambda _: b"", r"bad\.onnx is empty; export or download the model again"),
    "truncated": (lambda _: network().SerializeToString()[:500], r"bad\.onnx is truncated or damaged: .* 500 bytes"),
    "no external data": (external, r"bad\.onnx.*weights\.bin"),
    "unknown operator": (lambda _: unary("Frobnicate"), r"Frobnicate \(no operator of opset 17\): 1 node 'the_node'"),
    "operator that is not supported": (
        lambda _: unary("RegexFullMatch"),
        r"not supported.*RegexFullMatch.*: 1 node 'the_node'",
    ),
    "operator of another domain": (
        lambda _: model([node("Fused", ["x"], ["y"], domain="com.example")], {"x": [2]}, ["y"],
                        imports=[helper.make_opsetid("com.example", 1)]),
        r"com\.example\.Fused: 1 node 'y'",
    ),
    "dtype that is not supported": (
        lambda _: unary("Identity", TensorProto.STRING),
        r"input 'x' has elements of type string",
    ),
    "dtype that does not exist": (lambda _: unary("Relu", 99), r"do not fit together: Invalid tensor data type 99"),
    "cycle": (cyclic, r"its nodes form a cycle: (one -> two|two -> one).*; export it again"),
    "invalid": (lambda _: unary("Relu", speed="high"), r"not a valid ONNX model: Unrecognized attribute: speed"),
    "no outputs": (lambda _: model([], {"x": [2]}, []), r"has no outputs"),
    "free dimension": (
        lambda _: unary("Relu", shape=["n", 3]),
        r"x: declared \[n, 3\]\nFix them: --dim n=1",
    ),
    "shapes that do not fit": (misfit, r"do not fit together: .*node name: dense.*the inputs are x \[2, 3\]"),
    "too large for wasm32": (huge, r"'bad' needs 5\.9\d GiB of memory .* but wasm32 has 4 GiB: use a smaller input"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_MODELS)
def test_bad_model(kind: str, tmp_path: Path) -> None:
    build, message = BAD_MODELS[kind]
    out = tmp_path / "out"
    refused(run(save(build(tmp_path), tmp_path), "--out", out), message)
    assert not out.exists()


BAD_OPTIONS: Mapping[str, tuple[Sequence[str], str]] = {
    "no such target": (["--targets", "wasm,metal"], r"--targets wasm,metal: choose from webgpu, webgl, wasm"),
    "a mistyped target": (["--targets", "webgup"], r"--targets webgup: choose from .*; did you mean webgpu\?"),
    "a target of Python": (
        ["--targets", "cuda"],
        r"--targets cuda: choose from .*; programs of cuda run from Python: webnn_compile.compile\(MODEL, 'cuda'\)",
    ),
    "a mistyped stage": (
        ["--dump", "after:shedule_cpu"],
        r"no stage of wasm at --opt-level 2; did you mean schedule_cpu\? --dump list prints the stages",
    ),
    "no target": (["--targets", ","], r"--targets : choose from webgpu, webgl, wasm"),
    "no such host": (["--host", "cpu"], r"--host cpu: choose one of wasm, js"),
    "no host for wasm": (["--host", "js"], r"--host js makes a bundle without WebAssembly: leave wasm out"),
    "a stage of wasm": (
        ["--targets", "webgl", "--dump", "after:llvm"],
        r"--dump after:llvm: no stage of webgl at --opt-level 2; other targets have after:wasm:llvm; --dump list",
    ),
    "a stage of a target that is not built": (
        ["--targets", "webgl", "--dump", "after:wasm:llvm"],
        r"--dump after:wasm:llvm needs target wasm: add it to --targets",
    ),
    "a stage of no target": (
        ["--dump", "after:metal:simplify"],
        r"--dump after:metal:simplify: there is no target 'metal'; choose one of webgpu, webgl, wasm",
    ),
    "no such linker": (["--wasm-linker", "gold"], r"--wasm-linker gold: choose one of builtin, wasm-ld, emcc"),
    "no such stage": (
        ["--dump", "after:lunch"],
        r"--dump after:lunch: no stage of wasm at --opt-level 2; --dump list prints the stages",
    ),
    "no such stage at this level": (
        ["--dump", "after:fold_constants", "--opt-level", "0"],
        r"--dump after:fold_constants: no stage of wasm at --opt-level 0; did you mean [a-z_]+\? --dump list",
    ),
    "no stage": (
        ["--dump", "import"],
        r"--dump import: write --dump after:STAGE or after:TARGET:STAGE, .*--dump list prints",
    ),
    "an empty report": (["--report", ""], r"Invalid value for '--report': the path is empty; give one"),
    "empty operators": (["--ops", ""], r"Invalid value for '--ops': the path is empty; give one"),
    "no coding": (["--compress", ","], r"--compress : choose from br, gz"),
    "no number of seconds": (["--max-seconds", "nan"], r"'nan' is not a number of seconds"),
    "a mean of no pictures": (
        ["--mean", "0.5,0.5,0.5"],
        r"--calibrate, --mean, --std, .* are for --quantize or --weights",
    ),
    "no such level": (["--opt-level", "3"], r"Invalid value for '--opt-level'.*3"),
    "no number in a shape": (["--shape", "x=1x3x+xW"], r"'x=1x3x.xW' is not of the form input=1x3x224x224"),
    "no name of a shape": (["--shape", "1x3x8x8"], r"'1x3x8x8' is not of the form input=1x3x224x224"),
    "negative extent": (["--shape", "x=-1x3x8x8"], r"'x=-1x3x8x8' is not of the form"),
    "two shapes for one input": (["--shape", "x=2x3x8x8"], r"--shape gives 'x' two shapes; give it one"),
    "shape of no input": (["--shape", "y=2"], r"a shape is given for 'y', which is no input .*inputs are: 'x'"),
    "report in no folder": (["--report", "none/r.json"], r"--report none/r\.json: there is no folder .*/none; make it"),
    "report to a folder": (["--report", "/"], r"--report / is a folder; give the path of a file"),
    "no such form": (["--format", "cjs"], r"--format cjs: choose one of esm, iife, npm"),
    "two forms": (["--format", "npm", "--single-file"], r"--single-file and --format npm exclude each other"),
    "a form for a host alone": (["--coop-coep", "--single-file"], r"--coop-coep and --single-file exclude each other"),
    "a global of a module": (["--global-name", "net"], r"--global-name is for --format iife"),
    "no such option": (["--frobnicate"], r"No such option.*--frobnicate"),
    "a list without commas": (["--targets", "webgl", "wasm"], "'wasm' is one argument too many: .*lists have commas"),
}


@pytest.mark.parametrize("kind", BAD_OPTIONS)
def test_bad_option(kind: str, path: Path, tmp_path: Path) -> None:
    options, message = BAD_OPTIONS[kind]
    out = tmp_path / "out"
    refused(run(path, "--out", out, *SHAPE, *options), message)
    assert not out.exists()


def test_what_a_host_without_webassembly_cannot_run_is_named(tmp_path: Path) -> None:
    """Where a size that the device measures is of use there alone."""
    grow = "".join(
        f"u{i} = Unsqueeze(m{i}, last) p{i} = Mul(u{i}, m0) m{i + 1} = Reshape(p{i}, flat) " for i in range(3)
    )
    text = f"""
      <ir_version: 9, opset_import: ["" : 18]>
      grow (float[n] a, float[m] b) => (float[k] m3) <int64[1] last = {{1}}, int64[1] flat = {{-1}}>
      {{ m0 = Concat<axis = 0>(a, b) {grow} }}
    """
    onnx.save(onnx.parser.parse_model(text), tmp_path / "grow.onnx")
    options = ("--dim", "n=1..60", "--dim", "m=1..60", "--host", "js", "--targets", "webgl")
    refused(
        run(tmp_path / "grow.onnx", "--out", tmp_path / "out", *options), r"--host js: on webgl, node .*Mul.*cannot run"
    )


def test_a_linker_that_is_missing_is_missed_at_once(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(path, "--out", tmp_path / "out", *SHAPE, "--wasm-linker", "emcc")
    refused(done, r"--wasm-linker emcc: there is no emcc on the PATH; install Emscripten")
    assert "import" not in done.stderr


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("x=1x3x8", r"the shape 1x3x8 given for input 'x' has 3 dimensions.*declares \[batch, 3, 8, 8\]; give 4"),
        ("x=1x4x8x8", r"given for input 'x' has 4 in dimension 1, where the model declares \[batch, 3, 8, 8\]"),
        ("x=99999999999999999999x3x8x8", r"input 'x' has an extent that is negative or above 2\*\*63"),
        ("x=9999999999999x3x8x8", r"has 1919999999999808 elements, and a tensor may have 2147483647"),
        ("x=3999999x3x8x8", r"GiB of memory"),
    ],
)
def test_shape_that_does_not_fit(shape: str, message: str, path: Path, tmp_path: Path) -> None:
    refused(run(path, "--out", tmp_path / "out", "--shape", shape), message)


def test_missing_model_and_arguments(tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused(run(tmp_path / "none.onnx", "--out", out), r"none\.onnx: there is no such file; check the path")
    refused(run("--out", out), r"Missing argument 'MODEL\.\.\.'\. Give the file of a model")
    refused(run(tmp_path / "net.onnx"), r"Missing option '--out'\. Give the folder to write, as in --out bundle/")
    refused(run(tmp_path, "--out", out), r"is a folder without a model; give a folder that holds saved_model")


def test_out_is_taken(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    for force in ([], ["--force"]):
        refused(
            run(path, "--out", out, *SHAPE, *force), r"--out .*/out is not empty and holds no bundle; choose another"
        )
    assert contents(out) == {"letter.txt": b"dear"}
    refused(run(path, "--out", out / "letter.txt", *SHAPE), r"letter\.txt is a file; give a folder")
    refused(run(path, "--out", out / "letter.txt" / "deep", *SHAPE), r"lies below .*/letter\.txt, which is a file")


def test_out_holds_a_bundle(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(path, "--out", out, *SHAPE).exit_code == 0
    before = contents(out)
    refused(run(path, "--out", out, *SHAPE), r"already holds a bundle; give --force to replace it")
    (out / "notes.txt").write_text("mine")
    refused(run(path, "--out", out, *SHAPE, "--force"), r"holds files that are no part of its bundle \(notes\.txt\)")
    assert contents(out) == {**before, "notes.txt": b"mine"}


def test_out_is_refused_before_the_work_begins(tmp_path: Path) -> None:
    """Here, before the model is even looked for."""
    (tmp_path / "file").touch()
    refused(run(tmp_path / "none.onnx", "--out", tmp_path / "file"), r"--out .*/file is a file")


def test_out_without_permission(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated: root may write anywhere."""
    monkeypatch.setattr("os.access", lambda *_: False)
    refused(run(path, "--out", tmp_path / "out", *SHAPE), r"cannot write to --out .*: permission denied in .*; choose")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc, where nobody may make a folder")
def test_out_where_nobody_can_write(path: Path) -> None:
    refused(run(path, "--out", "/proc/bundle", *SHAPE), r"cannot write .*/proc/bundle.*; choose another")


def test_a_failed_compilation_leaves_the_old_bundle(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(path, "--out", out, *SHAPE).exit_code == 0
    before = contents(out)
    refused(run(save(huge(tmp_path), tmp_path), "--out", out, "--force"), "wasm32 has 4 GiB")
    refused(run(save(b"?", tmp_path), "--out", out, "--force"), "not an ONNX model")
    assert contents(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx", "net.onnx", "out"]


@pytest.mark.parametrize("package", ["onnxruntime", "wasmtime"])
def test_verify_without_its_packages(package: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"--verify needs the package {package}: pip install 'webnn-compile\[verify\]'"
    refused(run(path, "--out", tmp_path / "out", *SHAPE, "--verify"), message)


def test_verify_of_pictures_without_pillow(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is compiled; without pictures nothing needs it."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr("webnn_compile.driver.build.begin", lambda *_: pytest.fail("compiled"))
    message = r"--verify with --picture needs the package pillow: pip install 'webnn-compile\[verify\]'"
    refused(run(path, "--out", tmp_path / "out", "--picture", "x=unit", "--verify"), message)
    Options(verify=True).check()


def test_memory_for_compiling(path: Path, tmp_path: Path) -> None:
    result = run(path, "--out", tmp_path / "out", *SHAPE, "--compile-memory", "1KiB")
    refused(result, r"tensor '\w+' takes .* and --compile-memory allows 1 KiB: give the model smaller shapes, or more")
    refused(
        run(path, "--out", tmp_path / "out", *SHAPE, "--compile-memory", "much"), "'much' is not a size such as 4GiB"
    )
    assert not (tmp_path / "out").exists()


def test_a_name_that_is_not_text(path: Path, tmp_path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"logits", b"\xff" * 6))
    refused(run(path, "--out", tmp_path / "out", *SHAPE), r"net\.onnx is damaged: a value has the name b'\\xff")
    assert not (tmp_path / "out").exists()
