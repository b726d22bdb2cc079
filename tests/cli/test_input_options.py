"""--shape, --dim and --fix on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import refused, run

MODEL = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[1, ?, 4] x, float[batch, 4] z, int64[2] axes, float[4] scale, bool flip) => (float[batch, 4] y, r)
{
  scaled = Mul(z, scale)
  y = If(flip) <
    then_branch = yes () => (float[batch, 4] a) { a = Neg(scaled) },
    else_branch = no () => (float[batch, 4] b) { b = Exp(scaled) }
  >
  r = ReduceSum <keepdims = 0> (x, axes)
}
"""
OPEN = ("--shape", "x=1xNx4", "--dim", "N=1..8", "--dim", "batch=2..6,multiple=2")
FIXED = ("--fix", "axes=0,1", "--fix", "flip=false", "--fix", "scale=scale.npy")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(MODEL), "net.onnx")
    np.save("scale.npy", np.arange(4, dtype=np.float32))
    np.savez("two.npz", a=np.zeros(1), b=np.zeros(1))
    Path("two.npz").rename("two.npy")
    Path("text.npy").write_text("no array")
    np.save("complex.npy", np.zeros((2, 4), np.complex64))
    np.save("records.npy", np.zeros((2, 4), [("a", np.float32)]))
    for name, dtype, shape in (("huge", "<f4", f"({2**40},)"), ("torn", "<f4", "(4,"), ("text0", "<U0", f"({2**40},)")):
        header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
        Path(f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header.ljust(117).encode() + b"\n" + bytes(16))
    return "net.onnx"


def test_names_ranges_and_constants(model: str) -> None:
    options = ("--targets", "wasm", "--verify", "--report", "report.json")
    done = run(model, "--out", "out", *OPEN, *FIXED, *options)
    assert done.exit_code == 0, done.output
    data = json.loads(Path("report.json").read_text())
    assert [(i["name"], i["shape"]) for i in data["inputs"]] == [("x", [1, "N", 4]), ("z", ["batch", 4])]
    operators = {op for launch in data["targets"]["wasm"]["launches"] for op in launch["operators"]}
    assert "Exp" in operators
    assert not operators & {"If", "Neg"}
    assert all(v["error"] <= v["tolerance"] for v in data["verified"])


def test_nan_is_one_value(model: str) -> None:
    given = ("--fix", "scale=nan,inf,-inf,1")
    done = run(model, "--out", "out", *OPEN, *FIXED[:4], *given, *given, "--targets", "wasm")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*OPEN[4:], *FIXED), r"x: declared \[1, \?, 4\].*Fix them: .*--shape x=1x1x4 "),
        (("--shape", "x=1xNx4", *FIXED), r"leave sizes to each run: .*--dim N=1\.\.128"),
        ((*OPEN, "--dim", "M=1..8"), r"--dim M: net\.onnx has no dimension of this name.*named dimensions: batch, N\."),
        (("--dim", "N=8..1"), r"the size 'N' is given as 8\.\.1: give a least and a most value"),
        (("--dim", "N=1-8"), r"'N=1-8' is not of the form length=1\.\.512 or batch=1"),
        (("--dim", "N=5..7,multiple=4"), r"no multiple of 4 is in that range"),
        (("--dim", "N=1", "--dim", "N=2"), r"--dim gives 'N' two sizes; give it one"),
        (("--shape", "x=1x-1x4"), r"'x=1x-1x4' is not of the form input=1x3x224x224"),
        (("--shape", "x=1xNx5"), r"has 5 in dimension 2, where the model declares \[1, \?, 4\]"),
        ((*OPEN, "--fix", "axis=0,1"), r"--fix axis: net\.onnx has no such input; its inputs are: 'x', 'z', 'axes'"),
        ((*OPEN, "--fix", "axes=0"), r"--fix axes: the shape \[\] is given, and the model declares \[2\]"),
        ((*OPEN, "--fix", "axes=0.5,1"), r"--fix axes: 0\.5 is no int64, which this input is"),
        ((*OPEN, "--fix", "axes=one"), r"'one' is no number, and no file of numpy\.save \(\.npy\)"),
        ((*OPEN, "--fix", "axes"), r"'axes' is not of the form axes=0,2 or mask=mask\.npy"),
        ((*OPEN, "--fix", "scale=none.npy"), r"'scale=none\.npy': .*none\.npy.*; give a file of numpy\.save"),
        ((*OPEN, "--fix", "scale=text.npy"), r"'scale=text\.npy': .*; give a file of numpy\.save"),
        ((*OPEN, "--fix", "scale=two.npy"), r"it holds several arrays; give a file of numpy\.save"),
        ((*OPEN, "--fix", "flip=true", "--fix", "flip=false"), r"--fix gives 'flip' two values; give it one"),
        (
            (*OPEN, "--fix", "scale=text0.npy"),
            r"'scale=text0\.npy': it holds str\[1099511627776\]; give a file of numbers",
        ),
        ((*OPEN, "--fix", "scale=complex.npy"), r"it holds complex64\[2, 4\]; give a file of numbers"),
        ((*OPEN, "--fix", "scale=records.npy"), r"it holds void32\[2, 4\]; give a file of numbers"),
        ((*OPEN, "--fix", "scale=huge.npy"), r"'scale=huge\.npy': .*; give a file of"),
        ((*OPEN, "--fix", "scale=torn.npy"), r"'scale=torn\.npy': .*; give a file of numpy\.save"),
        (OPEN, r"ReduceSum \(node '[^']*'\): its input 'axes' is computed at run time.*'axes' a constant.*by --fix"),
    ],
)
def test_what_is_refused(options: tuple[str, ...], message: str, model: str) -> None:
    done = run(model, "--out", "out", *options)
    refused(done, message.replace(" ", r"[\s|│]+"))
    assert not Path("out").exists()
