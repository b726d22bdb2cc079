"""One bundle of several models by the Python interface: what the command line writes, with the same mistakes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import onnx
import pytest
import webnn_compile
from cli.command import contents, run
from documentation import blocks
from onnx_models import model, node, random
from test_merged_decoders import WIDTH, merged
from webnn_compile import InputError, ModelOptions, Packaging, build_bundle
from webnn_compile.driver.given_options import BundleOptions

BOTH: dict[str, Any] = {"targets": "wasm", "golden": False, "canaries": False}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An encoder, and a step with a state, which have the size E in common."""
    folder = tmp_path_factory.mktemp("models")
    encoder = model([node("MatMul", ["x", "w"], ["hidden"])], {"x": (1, "E", 8)}, ["hidden"], {"w": random((8, 4))})
    nodes = [node("ReduceMean", ["hidden"], ["mean"], axes=[1], keepdims=0), node("Add", ["h", "mean"], ["h2"])]
    nodes.append(node("Identity", ["h2"], ["y"]))
    step = model(nodes, {"hidden": (1, "E", 4), "h": (1, 4)}, ["h2", "y"], opset=13)
    onnx.save(encoder, folder / "Encoder-1.onnx")
    onnx.save(step, folder / "step.onnx")
    return folder / "Encoder-1.onnx", folder / "step.onnx"


def test_a_folder_is_that_of_the_command_line(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Options of both, of the one that has such an input, and of one by its name; reports, and a list of files."""
    manifests = build_bundle(
        {"encoder": files[0], "step": str(files[1])},
        out=tmp_path / "own",
        dims={"E": (1, 6)},
        states=["h=h2"],
        own={"encoder": {"dims": {"E": (1, 7)}}},
        report=tmp_path / "report.html",
        **BOTH,
    )
    options = ["--targets", "wasm", "--golden", "off", "--canaries", "off"]
    command = [f"encoder={files[0]}", files[1], "--out", tmp_path / "said", *options]
    ended = run(*command, "--dim", "encoder:E=1..7", "--dim", "step:E=1..6", "--state", "h=h2")
    assert ended.exit_code == 0, ended.output
    assert contents(tmp_path / "own") == contents(tmp_path / "said")
    assert list(manifests) == ["encoder", "step"]
    assert [[port.name for port in m.inputs] for m in manifests.values()] == [["x"], ["hidden"]]
    assert [m.dimensions[0].most for m in manifests.values()] == [7, 6]
    assert {f.name for m in manifests.values() for f in m.files} <= {p.name for p in (tmp_path / "own").iterdir()}
    assert sorted(p.name for p in tmp_path.glob("*.html")) == ["report-encoder.html", "report-step.html"]

    by_file = build_bundle(list(files), out=tmp_path / "own", dims={"E": 3}, force=True, **BOTH)
    assert list(by_file) == ["encoder_1", "step"]
    with pytest.raises(InputError, match="already holds a bundle"):
        build_bundle(list(files), out=tmp_path / "own", dims={"E": 3}, **BOTH)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dims": {"Q": 1}},
            r"dims=\{'Q': ...\}: no model has the size 'Q'. They have encoder_1: E, x; step: E, h, hi",
        ),
        (
            {"shapes": {"y": (1,)}},
            r"no model has the input 'y'.* own=\{NAME: \{'shapes': ...\}\}, .*\(encoder_1, step\)",
        ),
        ({"states": ["y=z"]}, "states='y=z': no model has the input 'y'"),
        ({"own": {"decoder": {}}}, r"own=\{'decoder': ...\}: no model has this name; they are encoder_1, step"),
        (
            {"own": {"step": {"targets": "wasm"}}},
            "'targets': ...}}: that is no option of one model; choose from answers",
        ),
        ({"dims": {"E": 1}, "own": {"encoder_1": {"dims": {"P": 3}}}}, "encoder_1: --dim P: Encoder-1.onnx has no dim"),
        ({"dims": {"E": 1}, "packaging": Packaging("npm")}, "--format npm is for bundles of one model"),
        ({"dims": {"E": 1}, "targets": "c"}, "--targets c is for one model"),
        ({"out": None}, "several models are for a folder: give out=, too"),
        (
            {"example_inputs": (1,)},
            r"^encoder_1: example_inputs= and .*; give those of one model by own=\{NAME: \{'example_inputs': ...\}\}$",
        ),
        (
            {"own": {"step": {"dynamic_shapes": ()}}},
            "^step: example_inputs= and dynamic_shapes= are for a module of PyTorch",
        ),
    ],
)
def test_refusals(files: tuple[Path, Path], tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_bundle(list(files), **{**BOTH, "out": tmp_path / "out", **options})
    assert not (tmp_path / "out").exists()


def test_type_checkers_know_every_option() -> None:
    """For one model and for several, with the types that the function itself has."""
    parameters = dict(inspect.signature(build_bundle).parameters)
    for of_some in ("model", "targets", "shapes", "out", "own"):  # which the overloads have themselves
        del parameters[of_some]
    options = {name: reference.__forward_arg__ for name, reference in BundleOptions.__annotations__.items()}
    assert options == {name: parameter.annotation for name, parameter in parameters.items()}


def test_names(files: tuple[Path, Path], tmp_path: Path) -> None:
    own: dict[str, ModelOptions] = {"encoder": {"dims": {"E": 1}}}
    for models, message in (
        ([files[0], files[0]], r"two models have the name 'encoder_1': .* in Python by \{name: file\}"),
        ({"load": files[0]}, "'load' is taken in scripts"),
        ([], "no model is given"),
    ):
        with pytest.raises(InputError, match=message):
            build_bundle(models, out=tmp_path / "out", **BOTH)
    with pytest.raises(InputError, match="own= is for several models"):
        build_bundle(files[0], out=tmp_path / "out", **{**BOTH, "own": own})


def test_the_documented_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that writes tokens, as an option of its own."""
    monkeypatch.chdir(tmp_path)
    encoder = model([node("MatMul", ["x", "w"], ["hidden"])], {"x": (1, "E", 8)}, ["hidden"], {"w": random((8, WIDTH))})
    onnx.save(encoder, "encoder.onnx")
    onnx.save(merged(), "decoder.onnx")
    (text,) = [b.text for b in blocks() if b.page.name == "python.md" and b.mark.startswith("run by tests/bundle/")]
    exec(text, {"webnn_compile": webnn_compile})
    types = Path("bundle/model.d.ts").read_text()
    assert "generate(" not in types.partition("export namespace encoder")[2].partition("export namespace decoder")[0]
    assert "generate(" in types.partition("export namespace decoder")[2]
