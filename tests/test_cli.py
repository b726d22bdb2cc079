"""The command line: its help, its options, what it prints, and what it says about bad input."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper
from onnx_models import model, node, random
from webnn_compile import __version__
from webnn_compile.cli import INTERRUPTED, OUR_FAULT, main
from webnn_compile.errors import InternalError
from webnn_compile.options import stages
from webnn_compile.wasm.model import WasmModel

PROGRAM = Path(sys.executable).with_name("webnn-compile")
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "digits" / "resnet18_digits.onnx"
PHASES = ("import", "optimise", "schedule (relaxed SIMD)", "generate code (relaxed SIMD)", "write")

Build = Callable[[Path], onnx.ModelProto | bytes]


def network() -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "k"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "b", "b", "scale"], ["n"], "norm"),
        node("Relu", ["n"], ["r"], "relu"),
        node("GlobalAveragePool", ["r"], ["p"], "pool"),
        node("Flatten", ["p"], ["f"], "flatten"),
        node("Gemm", ["f", "g"], ["logits"], "dense"),
        node("Softmax", ["logits"], ["probabilities"], "softmax"),
    ]
    weights = {"k": random((8, 3, 3, 3)), "scale": np.abs(random((8,), 1)), "b": random((8,), 2), "g": random((8, 5))}
    return model(nodes, {"x": ["batch", 3, 8, 8]}, ["probabilities", "r"], weights)


SHAPE = ("--shape", "x=1x3x8x8")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model whose batch is free."""
    made = tmp_path / "net.onnx"
    onnx.save(network(), made)
    return made


def run(*arguments: str | Path, env: Mapping[str, str | None] | None = None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], env=env)


def refused(result: Result, message: str, exit_code: int = 2) -> None:
    assert result.exit_code == exit_code, result.output
    assert "Traceback" not in result.output
    assert re.search(message, result.output, re.DOTALL), result.output


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


# What it does


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(flag: str) -> None:
    result = run(flag)
    assert result.exit_code == 0
    for option in ("out", "shape", "targets", "opt-level", "verify", "dump", "report", "wasm-linker", "force", "debug"):
        assert f"--{option} " in result.output
    assert "webnn-compile resnet18.onnx --out bundle/ --shape input=1x3x224x224" in result.output


def test_version() -> None:
    assert run("--version").output.strip().endswith(__version__)


def test_bundle_and_table(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "bundle"
    result = run(path, "--out", out, *SHAPE)
    assert result.exit_code == 0, result.output
    names = {p.name for p in out.iterdir()}
    assert {"model.js", "model.d.ts", "index.html"} <= names
    assert sorted(p.name for p in out.parent.iterdir()) == ["bundle"]
    text = result.output
    assert f"net.onnx -> {out}" in text
    assert re.search(r"^  input +x: float32\[1x3x8x8\]$", text, re.MULTILINE)
    assert re.search(r"^  output +probabilities: float32\[1x5\], r: float32\[1x8x8x8\]$", text, re.MULTILINE)
    assert re.search(
        r"^  operators +7 \(1 Conv, 1 BatchNormalization, .*; \d when\s+optimised$", text, re.MULTILINE | re.DOTALL
    )
    for label in ("weights", "webgpu", "webgl", "wasm", "time"):
        assert re.search(rf"^  {label} +\S", text, re.MULTILINE), label
    for name in names:
        kind = name.split("-")[0].split(".")[-1]
        assert name in text or kind not in ("wasm", "bin", "html"), name
    assert re.search(rf"^  {len(names)} files in all +[\d.]+ kB$", text, re.MULTILINE)
    assert "http.server" in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_phases_are_lines_on_standard_error(path: Path, tmp_path: Path) -> None:
    command = [PROGRAM, path, "--out", tmp_path / "out", *SHAPE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert [line for line in lines if not line.endswith(" ...")] == []
    assert {f"{phase} ..." for phase in PHASES} <= set(lines)
    assert " ..." not in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("columns", [40, 100])
def test_a_terminal_shows_a_spinner_and_a_table_that_fits(columns: int, path: Path, tmp_path: Path) -> None:
    keep = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS")}
    main_end, program_end = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, path, "--out", tmp_path / "out", *SHAPE],
        stdout=program_end,
        stderr=program_end,
        stdin=program_end,
        env={**keep, "TERM": "xterm-256color", "COLUMNS": str(columns)},
    )
    os.close(program_end)
    shown = b""
    while True:
        try:
            part = os.read(main_end, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(main_end)
    assert process.wait() == 0
    text = shown.decode()
    assert "\x1b[?25l" in text, "the cursor is hidden while the spinner turns"
    assert "\x1b[?25h" in text, "and comes back"
    assert "import ..." not in text
    table = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text[text.index("net.onnx -> ") :]).splitlines()
    rows = [line for line in table[1:] if line.startswith("  ") and ".wasm" not in line]
    assert rows
    assert max(len(line) for line in rows) <= columns


def test_report(path: Path, tmp_path: Path) -> None:
    result = run(path, "--out", tmp_path / "out", *SHAPE, "--report", tmp_path / "report.json", "--verify")
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["model"] == "net.onnx"
    assert data["operators"]["model"]["Conv"] == 1
    assert sum(data["operators"]["model"].values()) == 7
    assert data["operators"]["optimised"] < 7
    assert data["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 3, 8, 8]}]
    assert [o["name"] for o in data["outputs"]] == ["probabilities", "r"]
    assert data["bytes"]["weights"] >= 4 * (8 * 27 + 40)
    assert set(data["targets"]) == {"webgpu", "webgl", "wasm"}
    for target in data["targets"].values():
        assert target["kernels"] > 0
        assert {op for launch in target["launches"] for op in launch["operators"]} >= {"Conv", "Softmax"}
        assert {n for launch in target["launches"] for n in launch["nodes"]} >= {"conv", "relu", "dense"}
    assert data["targets"]["wasm"]["bytes"]["arena"] > 0
    assert set(data["targets"]["wasm"]["bytes"]["code"]) == {"relaxed", "plain"}
    assert data["targets"]["webgl"]["bytes"]["code"] > 0
    assert data["targets"]["webgpu"]["bytes"]["device"] > data["bytes"]["weights"]
    assert data["targets"]["webgpu"]["crossings"] == 0
    assert list(data["seconds"]) == ["import", "optimise", "schedule", "generate code", "shaders", "verify", "write"]
    assert all(s >= 0 for s in data["seconds"].values())
    assert [v["backend"] for v in data["verified"]] == ["native", "wasm-relaxed", "wasm"]
    assert all(v["error"] <= v["tolerance"] for v in data["verified"])
    sizes = {f["name"]: f["bytes"] for f in data["files"]}
    assert sizes == {p.name: p.stat().st_size for p in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_every_level_computes_the_same(level: str, path: Path, tmp_path: Path) -> None:
    result = run(path, "--out", tmp_path / "out", *SHAPE, "--opt-level", level, "--verify")
    assert result.exit_code == 0, result.output
    assert re.findall(r"verified +(\S+): largest error \d\.\de-\d\d, of \w+; 1\.0e-04 is allowed", result.output) == [
        "native",
        "wasm-relaxed",
        "wasm",
    ]


@pytest.mark.parametrize("level", [0, 2])
def test_dump_after_every_stage(level: int, path: Path, tmp_path: Path) -> None:
    for stage in stages(level):
        options = (*SHAPE, "--opt-level", str(level), "--force", "--dump", f"after:{stage}")
        result = run(path, "--out", tmp_path / "out", *options)
        assert result.exit_code == 0, result.output
        text = result.output
        if stage == "llvm":
            assert text.count("define ") > 1
            assert 'target triple = "wasm32' in text
        elif stage in ("import", "fold_constants", "convert_float16", "merge_duplicates"):
            assert re.search(r"graph test\n  input x: float32\[1, 3, 8, 8\]\n", text), stage
            assert "  output probabilities: float32[1, 5]\n" in text
        elif stage in ("build_kernel", "schedule_cpu", "unroll_loops", "lower_float16"):
            assert len(re.findall(r"^  for \w+", text, re.MULTILINE)) > 3, stage
        else:
            assert len(text.splitlines()) > 30, stage


def test_a_dump_is_all_that_goes_to_standard_output(path: Path, tmp_path: Path) -> None:
    command = [PROGRAM, path, "--out", tmp_path / "out", *SHAPE, "--dump", "after:import"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("graph test\n")
    assert done.stdout.rstrip().splitlines()[-1].startswith("  output r: float32[1, 8, 8, 8]")
    assert "net.onnx -> " in done.stderr


def test_force_replaces_a_bundle(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(path, "--out", out, *SHAPE).exit_code == 0
    before = contents(out)
    assert run(path, "--out", out, "--shape", "x=2x3x8x8", "--force").exit_code == 0
    after = contents(out)
    assert after["model.js"] != before["model.js"]
    assert len(after) == len(before)


def test_same_bytes_from_processes_with_different_hashes(tmp_path: Path) -> None:
    found = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        env = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([PROGRAM, EXAMPLE, "--out", out], env=env, check=True, capture_output=True)
        found.append(contents(out))
    assert found[0] == found[1]


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Of the model and of the folder: bytes that are no UTF-8, in a file system that allows them."""
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/net\xff.onnx"))
    try:
        onnx.save(network(), odd)
    except OSError:
        pytest.skip("this file system wants text")
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/out\xfe"))
    result = run(odd, "--out", out, *SHAPE, "--report", tmp_path / "report.json")
    assert result.exit_code == 0, result.output
    assert "net\ufffd.onnx -> " in result.output
    assert "<title>net\ufffd</title>" in (out / "index.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report.json").read_text())["model"] == "net\ufffd.onnx"


# Bad input


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
    "no ONNX": (lambda _: b"once upon a time", r"bad\.onnx is not an ONNX model; give a file exported to ONNX"),
    "a web page": (lambda _: b"<!DOCTYPE html>", r"is not an ONNX model but a text file.*download the model again"),
    "empty": (lambda _: b"", r"bad\.onnx is empty; export or download the model again"),
    "truncated": (lambda _: network().SerializeToString()[:500], r"bad\.onnx is truncated or damaged: .* 500 bytes"),
    "no external data": (external, r"bad\.onnx.*weights\.bin"),
    "unknown operator": (lambda _: unary("Frobnicate"), r"Frobnicate \(no operator of opset 17\): 1 node 'the_node'"),
    "operator that is not supported": (lambda _: unary("NonZero"), r"not supported.*NonZero: 1 node 'the_node'"),
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
        r"x: declared \[n, 3\]\nFix them, for example with --shape x=1x3",
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
    "no target": (["--targets", ","], r"--targets : choose from webgpu, webgl, wasm"),
    "no such host": (["--host", "cpu"], r"--host cpu: choose one of wasm, js"),
    "no host for wasm": (["--host", "js"], r"--host js makes a bundle without WebAssembly: leave wasm out"),
    "a stage of wasm": (
        ["--targets", "webgl", "--dump", "after:llvm"],
        r"--dump after:llvm shows what is made for wasm: add it to --targets",
    ),
    "no such linker": (["--wasm-linker", "gold"], r"--wasm-linker gold: choose one of builtin, wasm-ld, emcc"),
    "no such stage": (
        ["--dump", "after:lunch"],
        r"--dump after:lunch: no stage of --opt-level 2; choose one of import, .*schedule_cpu, .*llvm",
    ),
    "no such stage at this level": (
        ["--dump", "after:fold_constants", "--opt-level", "0"],
        r"--dump after:fold_constants: no stage of --opt-level 0; choose one of import, ",
    ),
    "no stage": (["--dump", "import"], r"--dump import: write --dump after:STAGE, such as after:schedule_cpu"),
    "no such level": (["--opt-level", "3"], r"Invalid value for '--opt-level'.*3"),
    "no number in a shape": (["--shape", "x=1x3xHxW"], r"'x=1x3xHxW' is not of the form input=1x3x224x224"),
    "no name of a shape": (["--shape", "1x3x8x8"], r"'1x3x8x8' is not of the form input=1x3x224x224"),
    "negative extent": (["--shape", "x=-1x3x8x8"], r"'x=-1x3x8x8' is not of the form"),
    "two shapes for one input": (["--shape", "x=2x3x8x8"], r"--shape gives 'x' two shapes; give it one"),
    "shape of no input": (["--shape", "y=2"], r"a shape is given for 'y', which is no input .*inputs are: 'x'"),
    "report in no folder": (["--report", "none/r.json"], r"--report none/r\.json: there is no folder .*/none; make it"),
    "report to a folder": (["--report", "/"], r"--report / is a folder; give the path of a file"),
    "no such option": (["--frobnicate"], r"No such option.*--frobnicate"),
}


@pytest.mark.parametrize("kind", BAD_OPTIONS)
def test_bad_option(kind: str, path: Path, tmp_path: Path) -> None:
    options, message = BAD_OPTIONS[kind]
    out = tmp_path / "out"
    refused(run(path, "--out", out, *SHAPE, *options), message)
    assert not out.exists()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("x=1x3x8", r"the shape 1x3x8 given for input 'x' has 3 dimensions.*declares \[batch, 3, 8, 8\]; give 4"),
        ("x=1x4x8x8", r"given for input 'x' has 4 in dimension 1, where the model declares \[batch, 3, 8, 8\]"),
        ("x=99999999999999999999x3x8x8", r"input 'x' has an extent that is negative or above 2\*\*63"),
        ("x=9999999999999x3x8x8", r"GiB of memory"),
    ],
)
def test_shape_that_does_not_fit(shape: str, message: str, path: Path, tmp_path: Path) -> None:
    refused(run(path, "--out", tmp_path / "out", "--shape", shape), message)


def test_missing_model_and_arguments(tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused(run(tmp_path / "none.onnx", "--out", out), r"none\.onnx: there is no such file; check the path")
    refused(run("--out", out), r"Missing argument 'MODEL'")
    refused(run(tmp_path / "net.onnx"), r"Missing option '--out'")
    refused(run(tmp_path, "--out", out), r"is a folder; give the path of an ONNX file")


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


# Our own faults, and interruptions


def test_verify_finds_a_wrong_result(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = WasmModel.run

    def wrong(self: WasmModel, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: a + np.float32(0.01) for name, a in right(self, inputs).items()}

    monkeypatch.setattr(WasmModel, "run", wrong)
    result = run(path, "--out", tmp_path / "out", *SHAPE, "--verify")
    refused(result, r"results differ from onnxruntime's by more than 0\.0001 \(wasm-relaxed: .*errs by 0\.01", 70)
    assert OUR_FAULT in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("lost"), r"error: KeyError in phase 'optimise': 'lost' \(test_cli\.py, line \d+\)"),
        (InternalError("simplify: kernel k: lost"), r"error: simplify: kernel k: lost"),
        (RecursionError("too deep"), r"error: RecursionError in phase 'optimise': too deep"),
    ],
)
def test_our_fault(error: Exception, message: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("webnn_compile.build.lower_tensors", fail)
    result = run(path, "--out", tmp_path / "out", *SHAPE)
    refused(result, message, 70)
    assert OUR_FAULT in result.output
    debugged = run(path, "--out", tmp_path / "out", *SHAPE, "--debug")
    assert debugged.exit_code == 70
    assert "Traceback (most recent call last)" in debugged.output
    assert not (tmp_path / "out").exists()


def test_too_little_memory(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("webnn_compile.build.lower_tensors", fail)
    refused(run(path, "--out", tmp_path / "out", *SHAPE), r"this machine lacks the memory for this model")


def test_debug_shows_where_a_mistake_was_found(tmp_path: Path) -> None:
    result = run(tmp_path / "none.onnx", "--out", tmp_path / "out", "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.output
    assert "there is no such file" in result.output


def test_interrupted(path: Path, tmp_path: Path) -> None:
    """By a real Ctrl-C, in the middle of work."""
    out = tmp_path / "out"
    assert run(path, "--out", out, *SHAPE).exit_code == 0
    before = contents(out)
    process = subprocess.Popen(
        [PROGRAM, EXAMPLE, "--out", out, "--force"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("schedule"):
            process.send_signal(signal.SIGINT)
            break
    _, rest = process.communicate()
    assert process.returncode == INTERRUPTED
    assert rest.splitlines()[-1] == "interrupted; no bundle was written"
    assert "Traceback" not in rest
    assert contents(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx", "out"]


def test_errors_go_to_standard_error(tmp_path: Path) -> None:
    done = subprocess.run([PROGRAM, "none.onnx", "--out", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "import ...\nerror: none.onnx: there is no such file; check the path\n"


def test_output_cut_short(path: Path, tmp_path: Path) -> None:
    """As by `| head`."""
    command = f"'{PROGRAM}' '{path}' --out '{tmp_path / 'out'}' --shape x=1x3x8x8 --dump after:llvm | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("target triple")
