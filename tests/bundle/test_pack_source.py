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
    before = "  let t4 = x * 2;\n  let t5 = t4 - -1;\n"
    source = (
        "  let t6 = b0[t4 + 64];\n  let t7 = b1[t5];\n    acc_0_0 = acc_0_0 + t6.x * t7;\n"
        "  let t8 = b0[t4 + 128];\n    acc_0_1 = acc_0_1 + t8.x * t7;\n"
    )
    assert pack_source(f"  var acc_0_0 = 0;\n  var acc_0_1 = 0;\n{before}{source}") == (
        "var $Y=0;var $Y=0;@Z=x*2;@Z=$Z1 - -1;@A=b0[$Z0+$64];@B=b1[$Z1];$Y1+=$A0.x*$B0;@A=b0[$Z1+$64];$Y1+=$A0.x*$B0;\n"
    )


def test_unrolled_statements_are_equal() -> None:
    """Accumulators come in turn, offsets at one distance, and all read one temporary."""
    head = "".join(f"var acc_{n} = 0.0;\n" for n in range(8)) + "let t0 = b1[3];\nlet t1 = thread_x;\n"
    steps = [f"let t{n + 2} = b0[t1 + {96 * n + 5}];\nacc_{n} = acc_{n} + t{n + 2} * t0;\n" for n in range(8)]
    packed = pack_source(head + "".join(steps)).split(";")[-15:-1]
    assert len(set(packed[0::2])) == len(set(packed[1::2])) == 1


def test_offsets_are_of_integers_in_sums_alone() -> None:
    text = "x=b0[$Z+1]+2.5+3u-4+5e2*(6+7)"
    source = "x = b0[t0 + 1] + 2.5 + 3u - 4 + 5e2 * (6 + 7)"
    assert pack_source(source) == text.replace("+1]", "+$1]")


def test_names_that_are_declared_elsewhere_stay() -> None:
    """Outputs of a fragment shader in their order, else as they are."""
    assert pack_source("o0 = s1;\no1 = o0;\n") == "$o=s1;$o=$o1;\n"
    assert pack_source("o1 = o0;\n") == "o1=o0;\n"


def test_a_sum_of_more_terms_is_added_as_it_stands() -> None:
    """Its first two terms are added first."""
    assert pack_source("acc = acc + x * y + z;\n") == "acc=acc+x*y+z;\n"
    assert pack_source("acc = acc + x * (y + z);\n") == "acc=acc+x*(y+z);\n"


def test_other_operators_keep_their_spaces() -> None:
    text = "let x: array<f32> = a <= b || c > d - -1;"
    assert pack_source(text) == text


def test_texels_have_a_short_form() -> None:
    assert pack_source("o0 = texelFetch(p12, ivec3(x, y, 0), 0);\n") == "$o=@12(x,y,0),0);\n"


@pytest.mark.parametrize("text", ["let $x = 1;", "let A1 = 1;", "@A = 1;", "x = @1(2);"])
def test_names_that_the_runtime_makes_are_refused(text: str) -> None:
    with pytest.raises(InternalError, match="in a shader"):
        pack_source(text)


def canonical(source: str) -> str:
    """Without spaces, variables numbered as they come, sums of products in their short form."""
    names: dict[str, str] = {}
    text = re.sub(r"^ *(\w+) = \1 \+ ([\w.]+ \* [\w.]+);$", r"\1 += \2;", source, flags=re.MULTILINE)
    variable = r"(?<![\w$.])(?:t\d+|[A-Z]\d+|[A-Za-z]\w*_\d+)\b"
    text = re.sub(variable, lambda name: names.setdefault(name[0], f"T{len(names)}"), text)
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
