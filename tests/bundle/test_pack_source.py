"""Packed shaders: what they look like, and that the runtime makes the same shaders of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from webnn_compile.bundle.pack_source import pack_source
from webnn_compile.errors import InternalError

ROOT = Path(__file__).parents[2]
SHADERS = sorted(path for path in (ROOT / "tests" / "golden").rglob("*") if path.suffix in (".wgsl", ".glsl", ".frag"))


def test_before_and_after() -> None:
    source = "  let t6 = b0[t4 + 1];\n  let t7 = b1[t5];\n    acc_0 = acc_0 + t6.x * t7;\n"
    before = "  let t4 = x * 2;\n  let t5 = t4 - -1;\n"
    assert pack_source(before + source) == (
        "let $z=x*2;\nlet $z=$z1 - -1;\nlet $a=b0[$z1+1];\nlet $b=b1[$z0];\nacc_0+=$a0.x*$b0;\n"
    )


def test_a_sum_of_more_terms_is_added_as_it_stands() -> None:
    """Its first two terms are added first."""
    assert pack_source("acc = acc + x * y + z;\n") == "acc=acc+x*y+z;\n"
    assert pack_source("acc = acc + x * (y + z);\n") == "acc=acc+x*(y+z);\n"


def test_other_operators_keep_their_spaces() -> None:
    text = "let x: array<f32> = a < b && c > d - -1;"
    assert pack_source(text) == text


@pytest.mark.parametrize("text", ["let $x = 1;", "let ta1 = 1;"])
def test_names_that_the_runtime_makes_are_refused(text: str) -> None:
    with pytest.raises(InternalError, match="in a shader"):
        pack_source(text)


def canonical(source: str) -> str:
    """Without spaces, temporaries numbered as they come, sums of products in their short form."""
    names: dict[str, str] = {}
    text = re.sub(r"^ *(\w+) = \1 \+ ([\w.]+ \* [\w.]+);$", r"\1 += \2;", source, flags=re.MULTILINE)
    text = re.sub(r"\bt[a-z]?\d+\b", lambda name: names.setdefault(name[0], f"T{len(names)}"), text)
    return re.sub(r"[ ]+", "", text)


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run the runtime")
def test_the_runtime_unpacks_what_was_packed() -> None:
    assert len(SHADERS) > 10
    sources = [path.read_text() for path in SHADERS]
    module = (ROOT / "runtime-js" / "device" / "unpack_source.js").as_uri()
    script = (
        f"import {{ unpackSource }} from {module!r};\nlet text = '';\n"
        "for await (const part of process.stdin) text += part;\n"
        "console.log(JSON.stringify(JSON.parse(text).map(unpackSource)));"
    )
    packed = json.dumps([pack_source(source) for source in sources])
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], input=packed, capture_output=True, text=True, check=True
    )
    for path, source, unpacked in zip(SHADERS, sources, json.loads(done.stdout), strict=True):
        assert canonical(unpacked) == canonical(source), path
