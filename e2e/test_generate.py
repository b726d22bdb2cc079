"""`generate` of a decoder in a page: in its worker, by messages and by shared memory, and on the page's own thread."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
import webnn_compile
from compiled import ROOT, compile_site
from devices import value
from documentation import blocks, documented_policy
from harness import open_page
from made_tokenizers import need_package, write_talker, written
from played_generation import (
    AHEAD,
    CHATTING,
    END,
    KEPT,
    SIZES,
    STOP,
    TALK,
    TOKENS,
    WRITING,
    argument,
    check_ahead,
    check_chatting,
    check_kept,
    check_tokens,
    check_writing,
)
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from small_decoder import small_decoder

POLICY = documented_policy("deploying.md", "content-security-policy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("generate")
    onnx.save(small_decoder(), made / "decoder.onnx")
    return compile_site(made / "decoder.onnx", made / "site", *SIZES, "--generate", "top=3", "--targets", "wasm")


@pytest.fixture(params=[False, True], ids=["plain", "isolated"])
def served(folder: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with serve(folder, headers=ISOLATION if request.param else {}) as site:
        yield site


def test_tokens_are_those_of_the_reference(page: Page, served: Site) -> None:
    open_page(page, served)
    check_tokens(value(page, TOKENS, argument(backend="wasm")), top=3)


@pytest.mark.parametrize("worker", [True, False])
def test_it_goes_on_stops_and_says_why_it_does_not_go_on(page: Page, served: Site, worker: bool) -> None:
    open_page(page, served)
    check_kept(value(page, KEPT, argument(backend="wasm", worker=worker)))


COUNT_WAITING = """() => {
  globalThis.waiting = { now: 0, most: 0 };
  const { postMessage } = Worker.prototype;
  const seen = new WeakSet();
  Worker.prototype.postMessage = function (message, ...more) {
    if (!seen.has(this)) this.addEventListener('message', ({ data }) => void (data.results && waiting.now--));
    seen.add(this);
    if (message.run !== undefined) waiting.most = Math.max(waiting.most, ++waiting.now);
    postMessage.call(this, message, ...more);
  };
}"""


@pytest.mark.parametrize("worker", [True, False])
def test_a_step_begins_before_the_token_of_the_last_has_come(page: Page, served: Site, worker: bool) -> None:
    """In the worker, while the page takes a token; on the page's own thread it would hold the page up."""
    open_page(page, served)
    page.evaluate(COUNT_WAITING)
    found = value(page, AHEAD, argument(backend="wasm", worker=worker))
    check_ahead(found, ahead=worker)
    assert (found["most"] > 1) == worker


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that writes text, with its site."""
    made = tmp_path_factory.mktemp("writer")
    onnx.save(small_decoder(words=420), made / "writer.onnx")
    (made / "tokenizer.json").write_text(written("gpt2"))
    package = ("--tokenizers", str(need_package()), "--text", str(made / "tokenizer.json"))
    compile_site(made / "writer.onnx", made / "site", *SIZES, "--generate", "", "--targets", "wasm", *package)
    return made


@pytest.fixture
def writing(writer: Path) -> Iterator[Site]:
    with serve(writer / "site", headers={"Content-Security-Policy": POLICY}) as site:
        yield site


def test_text_is_that_of_python(page: Page, writer: Path, writing: Site) -> None:
    made = webnn_compile.compile(
        writer / "writer.onnx", generate=True, dims={"sequence_length": (1, 4)}, text=writer / "tokenizer.json"
    )
    open_page(page, writing)
    check_writing(value(page, WRITING, argument() | {"stop": STOP, "end": END}), made, STOP, END)


def test_answers_to_messages_are_those_of_python(
    page: Page, writer: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Under a strict policy: the template is interpreted."""
    folder = tmp_path_factory.mktemp("talker")
    write_talker(folder)
    need_package("jinja")
    package = ("--tokenizers", str(need_package()), "--text", str(folder / "tokenizer.json"))
    compile_site(writer / "writer.onnx", folder / "site", *SIZES, "--generate", "", "--targets", "wasm", *package)
    made = webnn_compile.compile(
        writer / "writer.onnx", generate=True, dims={"sequence_length": (1, 4)}, text=folder / "tokenizer.json"
    )
    with serve(folder / "site", headers={"Content-Security-Policy": POLICY}) as site:
        open_page(page, site)
        check_chatting(value(page, CHATTING, argument() | {"talk": TALK}), made)
        *_, documented = (b.text for b in blocks(ROOT / "docs" / "generate.md") if b.language == "js")
        messages = value(page, f"const model = await bundle.load(); {documented} return messages;", {})
        assert messages[1]["content"] == "".join(made.generate(messages=messages[:1], max_tokens=20))
        page.goto(f"{site.url}bundle/index.html")
        page.get_by_label("Prompt").fill("hello")
        set_number(page, "maxTokens", 6)
        set_number(page, "temperature", 0)
        page.get_by_role("button", name="Generate").click()
        page.locator("#status").filter(has_text=re.compile("^Done, on wasm: [0-9]+ pieces")).wait_for()
        answer = "".join(made.generate(messages=[{"role": "user", "content": "hello"}], max_tokens=6))
        assert page.text_content("#written") == f"hello\n\n{answer}"


def test_documented_scripts(page: Page, writing: Site) -> None:
    """The ten tokens of the second script of docs/generate.md are those of the first."""
    first, second, third, _ = (b.text for b in blocks(ROOT / "docs" / "generate.md") if b.language == "js")
    open_page(page, writing)
    script = f"""
      const model = await bundle.load();
      const printed = [];
      const console = {{ log: (token) => printed.push(token) }};
      {first}
      {second}
      {third}
      return {{ printed, tokens, answer }};
    """
    found = value(page, script, {})
    assert len(found["printed"]) == 20
    assert found["tokens"] == found["printed"][:10]
    assert found["answer"]


def set_number(page: Page, label: str, number: int) -> None:
    """`fill` leaves what Firefox has in a field of a number."""
    page.get_by_label(label).evaluate("(field, number) => { field.value = number; }", str(number))


def test_the_bundles_page_writes(page: Page, writing: Site) -> None:
    page.goto(f"{writing.url}bundle/index.html")
    status, text = page.locator("#status"), page.locator("#written")

    def wait(words: str) -> str:
        status.filter(has_text=re.compile(words)).wait_for()
        return text.text_content() or ""

    wait("^Ready")
    page.get_by_label("Prompt").fill("The quick")
    set_number(page, "maxTokens", 12)
    page.get_by_role("button", name="Generate").click()
    first = wait("^Done, on wasm: [0-9]+ pieces")
    assert first.startswith("The quick")
    assert len(first) > len("The quick")
    page.get_by_role("button", name="Go on").click()
    more = wait("^Done, on wasm: [0-9]+ pieces")
    assert more.startswith(first)
    assert len(more) > len(first)
    page.get_by_role("button", name="Run", exact=True).click()
    wait("^Done, on wasm.$")
    # Before the first token is there.
    page.locator("#generating form").evaluate("(form) => { form.requestSubmit(); form.elements.stop.click(); }")
    assert wait("^Done, on wasm: 0 pieces") == "The quick"
