"""The npm packages that make tokens, and text of messages, in a page: where they are, and their forms in a bundle."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from made_tokenizers import need_package
from node_programs import need
from webnn_compile.bundle import JINJA, TextPackage, find_package
from webnn_compile.bundle.text_packages import TOKENIZERS, import_packages, inline_packages, text_package_files
from webnn_compile.errors import InputError

NAME = TOKENIZERS.name
SOURCE = "var a=class{};export{a as Tokenizer,b as Other};"


def written(folder: Path, *, version: str = "9.0.0", name: str = NAME, script: str = "tokenizers.mjs") -> Path:
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": name, "version": version}))
    (folder / "LICENSE").write_text("Licence\n*/ of it </script>\n")
    (folder / "dist" / script).write_text(f"{SOURCE}\n//# sourceMappingURL=x.map\n")
    return folder


def test_it_is_found_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "node_modules" / NAME, version="1.2.3")
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    found = find_package(None)
    assert (found.version, found.source) == ("1.2.3", f"{SOURCE}\n")
    other = written(tmp_path / "other", version="2.0.0", script="tokenizers.min.mjs")
    assert find_package(other).version == "2.0.0"


def test_the_wheels_own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webnn_compile.bundle.text_packages.files", lambda _: tmp_path)
    with pytest.raises(InputError, match=f"no node_modules here or above has it: npm install {NAME}"):
        find_package(None)
    written(tmp_path / "tokenizers_js", version="3.0.0")
    assert find_package(None).version == "3.0.0"


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--tokenizers .* does not hold the package @huggingface/tokenizers"):
        find_package(tmp_path / "nothing")
    with pytest.raises(InputError, match="is no folder of @huggingface/tokenizers"):
        find_package(written(tmp_path / "other", name="other"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="does not hold the package"):
        find_package(tmp_path / "file")


def test_files_of_a_bundle(tmp_path: Path) -> None:
    script, licence = text_package_files([find_package(written(tmp_path / "p"))])
    text = script.data.decode()
    assert text.startswith(f"/*! {NAME} 9.0.0, Apache-2.0: see {licence.name} */\n")
    assert text.endswith(f"{SOURCE}\n")
    assert licence.data.decode().startswith("Licence\n")


def test_the_function_of_a_classic_script(tmp_path: Path) -> None:
    made = find_package(written(tmp_path / "p")).function
    assert "return { Tokenizer: a };" in made
    assert "* / of it < /script>" in made
    assert "</script" not in made
    package = find_package(need_package())
    code = f"const f = {package.function}; console.log(typeof f().Tokenizer, typeof exports.Tokenizer);"
    (tmp_path / "x.cjs").write_text(code)
    done = subprocess.run([need("node"), tmp_path / "x.cjs"], capture_output=True, text=True)
    assert done.stdout.strip() == "function undefined", done.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("var a = 1;", "its module ends with no export of Tokenizer"),
        ("import x from 'y';\nexport{a as Tokenizer};", "'import' has no place in a classic script"),
        ("var a = '</script>';export{a as Tokenizer};", "'</script' has no place in a classic script"),
    ],
)
def test_modules_that_are_no_function(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = TextPackage(TOKENIZERS, "1.0.0", source, "").function


def test_several_packages_are_one_function(tmp_path: Path) -> None:
    """Imported, and inside of a classic script; the one for templates lies beside the one for tokens."""
    packages = [find_package(need_package()), find_package(need_package(), JINJA)]
    for file in text_package_files(packages):
        (tmp_path / file.name).write_bytes(file.data)
    found = {}
    for name, load in {"x.mjs": import_packages(packages), "x.cjs": inline_packages(packages)}.items():
        show = "(async () => { const all = await load(); console.log(typeof all.Tokenizer, typeof all.Template); })();"
        (tmp_path / name).write_text(f"const load = {load}; {show}")
        done = subprocess.run([need("node"), tmp_path / name], capture_output=True, text=True)
        found[name] = done.stdout.strip() or done.stderr
    assert found == dict.fromkeys(("x.mjs", "x.cjs"), "function function")
    assert import_packages(()) is inline_packages(()) is None


def test_the_package_for_templates_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webnn_compile.bundle.text_packages.files", lambda _: tmp_path)
    message = "^messages in a page need the package @huggingface/jinja, .* or lay it beside the folder of --tokenizers"
    with pytest.raises(InputError, match=message):
        find_package(written(tmp_path / "tokenizers"), JINJA)


def test_components_that_it_lacks() -> None:
    package = find_package(need_package())
    known = [("normalizer", "NFKC"), ("pre_tokenizer", "Metaspace"), ("decoder", "CTC")]
    assert list(package.lacks([*known, ("normalizer", "Nmt")])) == [("normalizer", "Nmt")]
