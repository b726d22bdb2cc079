"""Text from elsewhere inside other languages, and that no writer goes past the functions for it."""

from __future__ import annotations

import ast
import html
import json
import shutil
import subprocess
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_names import NAMES
from webnn_compile.text.escape import (
    c_string,
    comment,
    documentation,
    html_text,
    js_literal,
    line_comment,
    shell_word,
    terminal_lines,
    terminal_text,
)

COMPILER = Path(__file__).resolve().parent.parent / "compiler"
NO_COMMENTS = {"isolation.py"}
"""Where `/*` is a path."""


@pytest.mark.parametrize("name", NAMES)
def test_a_comment_ends_where_it_should(name: str) -> None:
    for text in (comment(name), comment(f"a {name}", f"{name}* ", f"/{name}"), documentation(name)):
        assert text.find("*/") == len(text) - 2
        assert text.count("/*") == 1
        assert not {"\\", "??", "--", "<!", "</"} & {text[i : i + n] for i in range(len(text)) for n in (1, 2)}
        assert text.isascii()
    assert len(comment(name, name).splitlines()) == 2
    assert len(f"// {line_comment(name)}".splitlines()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_literal_is_the_name(name: str) -> None:
    assert (
        ast.literal_eval("b" + c_string(name).removeprefix("__extension__ ")).decode()
        == name.encode(errors="replace").decode()
    )
    assert json.loads(js_literal(name)) == name
    assert "</" not in js_literal(name)
    assert js_literal(name).isascii()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("length", [4094, 4095, 70_000])
def test_strings_of_any_length_are_compiled_without_a_warning(compiler: str, length: int, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    file = tmp_path / "long.c"
    file.write_text(f"const char *name(void) {{ return {c_string('x' * length)}; }}\n")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run([compiler, *flags, file], check=True)


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str | None]] = []

    def handle_data(self, data: str) -> None:
        self.found.append(("text", data))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, value) for _, value in attrs]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_page_is_text(name: str) -> None:
    text, parser = html_text(name), _Texts()
    parser.feed(f'<p title="{text}">{text}</p>')
    parser.close()
    shown = html.unescape(text)
    assert parser.found == [("p", shown), ("text", shown)] if name else [("p", "")]


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_takes_a_name_for_cells_alone(name: str) -> None:
    for text in (terminal_text(name), terminal_lines(name).replace("\n", "")):
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


@pytest.mark.parametrize("name", [n for n in NAMES if "\x00" not in n])
def test_a_name_is_one_word_of_a_shell(name: str) -> None:
    word = shell_word(name)
    assert word.isprintable()
    if shutil.which("bash"):
        done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
        assert done.stdout.decode() == name


def test_what_a_terminal_shows() -> None:
    assert (
        terminal_text("größe [bold] 大 \x1b[2J\n\u202e\U000e0001") == "größe [bold] 大 \\x1b[2J\\x0a\\u202e\\U000e0001"
    )
    assert terminal_lines("a\nb\r") == "a\nb\\x0d"


def test_no_comment_is_made_of_other_text() -> None:
    """A comment around a value in an f-string of a module that writes files: only the functions make these."""
    parts = ("bundle", "c", "codegen", "library", "page")
    for file in (f for part in parts for f in (COMPILER / part).rglob("*.py") if f.name not in NO_COMMENTS):
        for n in ast.walk(ast.parse(file.read_text())):
            if not isinstance(n, ast.JoinedStr):
                continue
            text = ""
            for value in n.values:
                if isinstance(value, ast.Constant):
                    text += str(value.value)
                elif isinstance(value, ast.FormattedValue):
                    safe = isinstance(value.value, ast.Call) and ast.unparse(value.value.func) == "line_comment"
                    assert safe or not _in_comment(text), f"{file.name}, line {n.lineno}: {ast.unparse(n)}"
                    text += "x"


def _in_comment(text: str) -> bool:
    line = text.rpartition("\n")[2]
    return text.count("/*") > text.count("*/") or "<!--" in line or "// " in line or "  ; " in line
