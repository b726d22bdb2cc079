"""The blocks of JavaScript in README.md and docs/ run in a page, and values that comments state are right."""

from __future__ import annotations

import re
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from compiled import compile_site
from decoders.tiny import tiny_decoder
from documentation import ROOT, Block, blocks, unmarked
from documented_models import classifier, encoder, listener, product
from made_tokenizers import encoder as sentence_encoder
from made_tokenizers import need_package, written
from PIL import Image
from playwright.sync_api import Page
from server import serve

IMPORT = "import { load } from './bundle/model.js';\n"
LOAD = f"{IMPORT}const model = await load();\n"
PICTURE = "const img = document.body.appendChild(new Image());\nimg.src = './picture.png';\nawait img.decode();\n"


TEXT = ("--text", "{folder}/tokenizer.json", "--tokenizers", str(ROOT / "node_modules" / "@huggingface" / "tokenizers"))


@dataclass(frozen=True)
class Setting:
    """Where a block runs: the name of a bundle below, what stands before it in its module, and a condition after it."""

    bundle: str
    before: str = ""
    after: str = "true"


BUNDLES: dict[str, tuple[onnx.ModelProto, tuple[str, ...]]] = {
    "digits": (classifier(shape=(1, 1, 32, 32)), ()),
    "pictures": (classifier("input", "output"), ("--picture", "input=imagenet")),
    "answers": (classifier("input", "output"), ("--picture", "input=imagenet", "--answer", "classify,top=3")),
    "sounds": (listener(), ("--dim", "batch_size=1", "--sound", "input_features=whisper")),
    "encoder": (
        encoder(("batch", "sequence_length")),
        ("--dim", "batch=1", "--dim", "sequence_length=1..512"),
    ),
    "sentences": (
        sentence_encoder(256, ("batch_size", "sequence_length"), 384),
        (*("--dim", "batch_size=1..8", "--dim", "sequence_length=1..256"), "--pool", "mean", "--normalise", *TEXT),
    ),
    "decoder": (tiny_decoder(), ("--dim", "batch=1", "--dim", "past=0..59", "--dim", "seq=1..5")),
    "product": (product(), ("--dim", "batch=1..4", "--dim", "length=1..16")),
}
SETTINGS: dict[str, tuple[Setting, ...]] = {
    "README": (Setting("digits", after="logits.length === 1"),),
    "index": (Setting("digits", after="logits.length === 1"),),
    "pictures": (
        Setting("pictures", LOAD + PICTURE, "best === 2"),
        Setting("answers", f"{LOAD}{PICTURE}const image = img;\n", "output[0].label === '2'"),
    ),
    "sounds": (Setting("sounds", LOAD, "last_hidden_state.length === 80"),),
    "text": (Setting("sentences", LOAD, "likeness.length === 2 && likeness.every((x) => Math.abs(x) <= 1.0001)"),),
    "sizes": (
        Setting("encoder", LOAD + "const mask = new BigInt64Array(12);\n"),
        Setting("product", LOAD + "const data = new Float32Array(3 * 5 * 64);\n", "y.shape.join() === '3,5,64'"),
    ),
    "javascript": (
        Setting(
            "digits",
            IMPORT + "const inputs = { image: new Float32Array(1024) };\n",
            "outputs.logits.length === 1 && model.backend === 'wasm'",
        ),
    ),
    "states": (
        Setting("decoder", after="model.position === 0 && fork.position === 4 && next.logits.length === 37"),
        Setting("decoder", IMPORT, "(await saving(), model.position === 0) && typeof goOn === 'function'"),
    ),
    "deploying": (
        Setting("digits", after="typeof cache.size === 'function'"),
        Setting("digits", after="(await load()).backend === 'wasm'"),
    ),
}
"""By page one for each of its blocks without a mark, in their order."""


def settled() -> list[tuple[Block, Setting]]:
    """Each block with its setting. A page with blocks needs as many in SETTINGS, or its blocks a mark."""
    found: dict[str, list[Block]] = {}
    for block in unmarked("js"):
        found.setdefault(block.page.stem, []).append(block)
    assert {page: len(of) for page, of in found.items()} == {page: len(of) for page, of in SETTINGS.items()}
    return [pair for page, of in found.items() for pair in zip(of, SETTINGS[page], strict=True)]


BLOCKS = settled()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """By the name of a bundle the address of a site with it."""
    folder = tmp_path_factory.mktemp("documented")
    need_package()
    (folder / "tokenizer.json").write_text(written("bert"))
    for name, (model, options) in BUNDLES.items():
        onnx.save(model, folder / f"{name}.onnx")
        given = [option.replace("{folder}", str(folder)) for option in options]
        compile_site(folder / f"{name}.onnx", folder / name, "--targets", "wasm", *given)
        Image.new("RGB", (60, 50), "blue").save(folder / name / "picture.png")
        with wave.open(str(folder / name / "speech.wav"), "wb") as file:
            file.setparams((1, 1, 22050, 0, "NONE", ""))
            file.writeframes(bytes(range(256)) * 40)
    with serve(folder) as served:
        yield {name: f"{served.url}{name}/" for name in BUNDLES}


def module(text: str, setting: Setting) -> str:
    """The script: the block with checks of `expression; // value`, and `passed`."""
    checked = re.sub(r"^(\S.*); // ([\[{].*)$", r"same(\1, \2);", text, flags=re.MULTILINE)
    same = "const same = (a, b) => { if (JSON.stringify(a) !== JSON.stringify(b)) throw Error(JSON.stringify(a)); };\n"
    return f"{same}{setting.before}{checked}\nexport const passed = {setting.after};\n"


@pytest.mark.parametrize(("block", "setting"), BLOCKS, ids=[f"{b.id}-{s.bundle}" for b, s in BLOCKS])
def test_script(page: Page, sites: dict[str, str], block: Block, setting: Setting) -> None:
    script = module(block.text, setting)
    page.goto(sites[setting.bundle] + "blank.html")
    page.route("**/documented.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
    try:
        assert page.evaluate("import(new URL('./documented.js', location.href)).then(({ passed }) => passed)")
    finally:
        page.unroute_all()


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site with a bundle as a classic script."""
    folder = tmp_path_factory.mktemp("classic")
    onnx.save(classifier(shape=(1, 1, 32, 32)), folder / "model.onnx")
    with serve(compile_site(folder / "model.onnx", folder, "--targets", "wasm", "--format", "iife")) as served:
        yield served.url


def test_a_classic_script(page: Page, classic: str) -> None:
    """On a page and in a worker, with inputs that the page gives."""
    html, worker = (
        b.text for b in blocks(ROOT / "docs" / "deploying.md") if b.mark == f"run by e2e/{Path(__file__).name}"
    )
    inputs = "<script>const inputs = { image: new Float32Array(1024) };</script>"
    page.route("**/documented.html", lambda route: route.fulfill(body=inputs + html, content_type="text/html"))
    answer = "\nloaded.then(({ backend }) => postMessage(backend));"
    page.route("**/worker.js", lambda route: route.fulfill(body=worker + answer, content_type="text/javascript"))
    try:
        with page.expect_console_message(lambda message: "logits" in message.text):
            page.goto(classic + "documented.html")
        said = "new Promise((give) => { new Worker('/worker.js').onmessage = ({ data }) => give(data); })"
        assert page.evaluate(said) == "wasm"
    finally:
        page.unroute_all()


def test_values_are_checked() -> None:
    assert "same(model.dimensions, [{ name: 'x' }]);" in module("model.dimensions; // [{ name: 'x' }]", Setting(""))
    (sizes,) = [b for b, s in BLOCKS if s.bundle == "encoder"]
    assert module(sizes.text, Setting("")).count("same(") == 3
