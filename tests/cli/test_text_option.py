"""--text, --pool and --answer text on the command line, and the bundle that they make, in Node.js, Deno and Bun."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from cli.command import refused, run
from made_tokenizers import encoder, need_package, written
from node_programs import need
from onnx_models import model, node
from runtime.test_engines import execute

SIZES = ("--dim", "batch=1..3", "--dim", "sequence=1..16")
TEXT = ["hello fox", ["你好", "world"]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(encoder(230), "net.onnx")
    Path("tokenizer.json").write_text(written("bert"))
    (tmp_path / "node_modules").symlink_to(need_package().parents[1])
    return tmp_path


def test_verify_and_the_report() -> None:
    options = ("--text", "tokenizer.json", "--pool", "mean", "--normalise", "--verify", "--targets", "wasm")
    done = run("net.onnx", "--out", "out", *SIZES, *options)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "text fills input_ids, attention_mask, token_type_ids; up to 16 tokens, of " in said
    assert "a vector of 8 of each text, of length 1, the mean of tokens' in last_hidden_state by attention_mask" in said
    assert "verified" in said
    names = [path.name for path in Path("out").iterdir()]
    assert sum(name.startswith(("tokenizer-", "tokenizers-", "tokenizers_licence-")) for name in names) == 3
    assert run("net.onnx", "--out", "out", *SIZES, *options, "--force").exit_code == 0
    types = Path("out/model.d.ts").read_text()
    assert "export type Inputs = OtherInputs & (TextInputs | TokenInputs);" in types
    assert 'Answers["embedding"][]' in types


@pytest.mark.parametrize("engine", ["node", "deno", "bun"])
@pytest.mark.parametrize("form", ["esm", "npm"])
def test_outside_browsers(folder: Path, engine: str, form: str) -> None:
    need(engine)
    options = ("--text", "tokenizer.json", "--pool", "last", "--targets", "wasm", "--format", form)
    assert run("net.onnx", "--out", "out", *SIZES, *options).exit_code == 0
    Path("run.mjs").write_text(
        f"""
        import {{ load }} from './out/model.js';
        const model = await load({{ worker: false }});
        const {{ last_hidden_state }} = await model.run({{ text: {json.dumps(TEXT)} }});
        console.log(JSON.stringify(last_hidden_state.map((vector) => [...vector])));
        await model.dispose();
        """
    )
    got = json.loads(execute(engine, folder / "run.mjs", folder=folder))
    dims = {"batch": (1, 3), "sequence": (1, 16)}
    compiled = webnn_compile.compile("net.onnx", text="tokenizer.json", dims=dims, answers=["embedding,pool=last"])
    (want,) = compiled.run({"text": TEXT}).values()
    np.testing.assert_allclose(got, np.stack(want), atol=1e-5)


def test_mistakes() -> None:
    given = ("net.onnx", "--out", "out", *SIZES)
    refused(run(*given, "--text", "no.json"), "--text no.json: it cannot be read: No such file or directory")
    refused(run(*given, "--text", "net.onnx"), "--text net.onnx: it is no JSON")
    refused(run(*given, "--text", "mask=tokenizer.json"), "the model has no input 'mask'; it has input_ids of int64")
    refused(run(*given, "--tokenizers", "node_modules"), "is for text: give --text or --answer text, too")
    refused(run(*given, "--text", "tokenizer.json", "--tokenizers", "."), "does not hold the package")
    refused(run(*given, "--text", "tokenizer.json", "--targets", "native"), "--text is for bundles")
    refused(run(*given, "--pool", "max"), "'max' is not one of 'mean', 'cls', 'last'")
    refused(run("net.onnx", "--out", "out", "--text", "tokenizer.json"), "has inputs with free dimensions")
    odd = json.loads(written("bert"))
    odd["normalizer"] = {"type": "Sequence", "normalizers": [odd["normalizer"], {"type": "Nmt"}]}
    Path("odd.json").write_text(json.dumps(odd))
    refused(run(*given, "--text", "odd.json"), "has no Nmt .normalizer.; take a newer version of it")
    assert not Path("out").exists()


def test_the_package_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "node_modules").unlink()
    monkeypatch.setattr("webnn_compile.bundle.text_packages.files", lambda _: folder)
    done = run("net.onnx", "--out", "out", *SIZES, "--text", "tokenizer.json")
    refused(done, "text in a page needs the package @huggingface/tokenizers, and no node_modules here or above has it")


def test_a_tokenizer_of_answers_alone() -> None:
    onnx.save(model([node("Identity", ["x"], ["y"])], {"x": (1, 4, 230)}, ["y"]), "logits.onnx")
    done = run("logits.onnx", "--out", "out", "--answer", "text=tokenizer.json", "--targets", "wasm", "--verify")
    assert done.exit_code == 0, done.output
    assert 'Answers["text"]' in Path("out/model.d.ts").read_text()
