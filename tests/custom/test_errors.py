"""Mistakes in a file of operators, or in its use: one message with file and line, exit code 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from cli.command import run
from onnx import helper
from onnx_models import model, node
from webnn_compile import compile
from webnn_compile.errors import InputError, UnsupportedError, WebnnCompileError

DOMAIN = "com.example"
IMPORTS = "from webnn_compile.custom import *\n"
HEAD = f'{IMPORTS}@operator("com.example", "Twice")\ndef twice(call):\n'


def a_model(op: str = "Twice", outputs: int = 1, version: int = 1, **attributes: Any) -> onnx.ModelProto:
    names = [f"y{i}" for i in range(outputs)]
    nodes = [node(op, ["x"], names, "it", domain=DOMAIN, **attributes)]
    return model(nodes, {"x": [2, 3]}, names, imports=[helper.make_opsetid(DOMAIN, version)])


def message(file: Path, proto: onnx.ModelProto, kind: type[WebnnCompileError] = InputError) -> str:
    with pytest.raises(kind) as caught:
        compile(proto, operators=file)
    assert caught.value.exit_code == 2
    return str(caught.value).replace(str(file.parent), "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "/ops.py:1: this file of operators is no Python: "),
        ("x = 1\ny = x / 0\n", "/ops.py:2: this file of operators failed with ZeroDivisionError: division by zero"),
        ("import sys\n\nsys.exit(3)\n", "/ops.py:3: this file of operators failed with SystemExit: 3"),
        ("x = 1\n", "/ops.py defines no operator: put @operator(DOMAIN, NAME)"),
        (
            f"{HEAD}    return call.input(0)\n@operator('com.example', 'Third')\ndef twice(call):\n    pass\n",
            "/ops.py:3: the function 'twice' is lost, since line 6 binds the name again",
        ),
        (
            f"{HEAD}    return call.input(0)\nother = operator('com.example', 'Twice')(twice.define)\n",
            "/ops.py:5: com.example.Twice since version 1 is defined at ops.py:2 already",
        ),
        (
            f"{IMPORTS}\n@operator('', 'Relu')\ndef f(call): ...\n",
            "/ops.py:3: @operator('', 'Relu'): operators of ONNX's",
        ),
        (
            f"{IMPORTS}@operator('ai.onnx', 'Mine')\ndef f(call): ...\n",
            "operators of ONNX's own domain cannot be defined",
        ),
        (f"{IMPORTS}@operator('com.microsoft', 'Gelu')\ndef f(call): ...\n", "the compiler has this operator"),
        (f"{IMPORTS}@operator('a', 'b.C')\ndef f(call): ...\n", "the name of an operator has no dot"),
        (f"{IMPORTS}@operator('a', 'B', since=0)\ndef f(call): ...\n", "since=0 is no version of a domain"),
        (f"{IMPORTS}@operator('a', 'B', ignored='mode')\ndef f(call): ...\n", "ignored='mode': give a tuple of names"),
        (f"{IMPORTS}@operator\ndef f(call): ...\n", "ops.py:2: this file of operators failed with TypeError"),
    ],
)
def test_a_file_that_defines_nothing(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "ops.py").write_text(text)
    assert words in message(tmp_path / "ops.py", a_model())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "    x = call.input(0)\n    return x.nothing\n",
            ":5: com.example.Twice (node 'it'): the definition failed with Att",
        ),
        (
            "    raise NotImplementedError\n",
            ":4: com.example.Twice (node 'it'): the definition failed with NotImplementedErr",
        ),
        (
            "    return pointwise(call, lambda x: x.cast(F16), call.input(0))\n",
            "returned float16 for inputs of other types",
        ),
        ("    return 2.0\n", ":2: com.example.Twice (node 'it'): the definition returned a float, where a Tensor"),
        ("    pass\n", "the definition returned None, where a Tensor or a tuple of Tensors is expected"),
        ("    return ()\n", "the definition returned 0 of the 1 outputs that the node has"),
        (
            "    x = call.input(0)\n    return compute('y', x.shape, (x,),\n        lambda i, j: x[i, j + 1])\n",
            ":5: com.example.Twice (node 'it'): the definition failed with BoundsError: 'y' reads elements 1 to 3",
        ),
        (
            "    x = call.input(0)\n"
            "    return compute('y', (2,), (x,), lambda i: reduce('sum', (3,), lambda j: x[i, j]) * 2)\n",
            "the body of tensor 'y' has a reduction inside: a reduction is the whole body of a tensor",
        ),
        (
            "    return pointwise(call, lambda x: exp(x.cast(I32)), call.input(0))\n",
            ":4: com.example.Twice (node 'it'): ",
        ),
        ("    return pointwise(call, lambda x: x + x.cast(I32), call.input(0))\n", "operands of different dtypes"),
        (
            "    return apply(call, 'Rellu', call.input(0))\n",
            ":4: com.example.Twice (node 'it'): the definition failed with",
        ),
        ("    return apply(call, 'Softmax', call.input(0), axs=1)\n", "Softmax does not read the attribute 'axs'"),
        ("    return apply_all(call, 'Relu', call.input(0), outputs=2)[1]\n", "Relu has 1 outputs here, not 2"),
        (
            "    return apply(call, 'Mul', call.input(0), 2.0)\n",
            "input 1 of Mul is a float: give a tensor, an array of",
        ),
        ("    return pointwise(call, lambda x: x * call.input(0), call.input(0))\n", "an operand is a Tensor: give an"),
        (
            "    return pointwise(call, lambda x: 1.0, call.input(0))\n",
            "the body of it gives a float, not an expression",
        ),
        (
            "    return pointwise(call, lambda x: select(x == 0, x, -x), call.input(0))\n",
            "the condition is False, not a",
        ),
        ("    return pointwise(call, lambda x: x.cast('float32'), call.input(0))\n", "'float32' is no type to cast to"),
        ("    return compute('y', (2, 3 / 2), (), lambda *_: number(0, F32))\n", "a size is a float: give an integer"),
        ("    return pointwise(call, max, bytes(3))\n", "an operand is a bytes: an array of NumPy becomes a tensor by"),
        (
            "    x = call.input(0)\n    return reduce_axes('y', 'mean', x.shape, (1,), (x,), lambda *i: x[i])\n",
            ":5: com.example.Twice (node 'it'): the definition failed with ValueError: there is no reduction 'mean'",
        ),
        (
            "    x = call.input(0)\n    return reduce_axes('y', 'sum', x.shape, (-1,), (x,), lambda *i: x[i])\n",
            "axes [-1] are not all dimensions of [2, 3]: count them from 0 on",
        ),
        (
            "    x = call.input(0)\n    return loop('l', 3, [x], lambda t, c: ([c[0], x], []))[0]\n",
            "the body of loop l gives 2 next values of the 1 carried ones",
        ),
        (
            "    x = call.input(0)\n"
            "    return loop('l', 3, [x], lambda t, c: ([compute('n', (2, 3), (), lambda *_: number(t))], []))[0]\n",
            "the body of loop l gives int32[2, 3] as carried value 0, which is float32[2, 3]",
        ),
    ],
)
def test_a_definition_that_fails(tmp_path: Path, body: str, words: str) -> None:
    (tmp_path / "ops.py").write_text(HEAD + body)
    text = message(tmp_path / "ops.py", a_model())
    assert text.startswith("/ops.py:")
    assert words in text


def test_outputs_and_attributes_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(f"{HEAD}    return pointwise(call, lambda x: x * 2, call.input(0))\n")
    assert "returned 1 of the 2 outputs" in message(tmp_path / "ops.py", a_model(outputs=2))
    text = message(tmp_path / "ops.py", a_model(factor=3.0))
    assert "the node has the attribute 'factor', which the definition did not read" in text
    (tmp_path / "ops.py").write_text(
        f"{HEAD}    k = call.attribute('factor', 2.0)\n    return pointwise(call, lambda x: x * k, call.input(0))\n"
    )
    text = message(tmp_path / "ops.py", a_model(factor=3), UnsupportedError)
    assert "attribute factor is an integer, where a float is expected" in text
    assert "(ops.py:4, in the definition of com.example.Twice)" in text
    inner = helper.make_graph([], "inner", [], [])
    assert "attribute 'factor' is a graph" in message(tmp_path / "ops.py", a_model(factor=inner), UnsupportedError)


def test_a_name_that_no_node_has(tmp_path: Path) -> None:
    """Also where the model needs another one, which is then the message."""
    (tmp_path / "ops.py").write_text(f"{HEAD}    return call.input(0)\n")
    text = message(tmp_path / "ops.py", model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"]))
    assert text.startswith("/ops.py: the model has none of its operators, com.example.Twice (line 2)")
    text = message(tmp_path / "ops.py", a_model("Thrice"), UnsupportedError)
    assert "com.example.Thrice: 1 node 'it'" in text
    assert "in a file for --ops" in text
    assert "which defines com.example.Twice (ops.py:2) so far" in text


def test_versions(tmp_path: Path) -> None:
    text = HEAD.replace('"Twice"', '"Twice", since=3')
    (tmp_path / "ops.py").write_text(f"{text}    return call.input(0)\n")
    words = "the model has version 2 of the domain 'com.example', and ops.py:2 defines it since version 3"
    assert words in message(tmp_path / "ops.py", a_model(version=2), UnsupportedError)


def test_no_file_and_no_operator(tmp_path: Path) -> None:
    assert "/ops.py: this file of operators cannot be read: No such file" in message(tmp_path / "ops.py", a_model())
    with pytest.raises(
        InputError, match="operators= has an object of type int: give files, and functions that are dec"
    ):
        compile(a_model(), operators=[3])  # type: ignore[list-item]


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(f"{HEAD}    return 1 / 0\n")
    onnx.save(a_model(), tmp_path / "model.onnx")
    done = run(str(tmp_path / "model.onnx"), "--ops", str(tmp_path / "ops.py"), "--out", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert f"{tmp_path / 'ops.py'}:4: com.example.Twice (node 'it')" in done.stderr.replace("\n", "")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
