"""Models with free sizes are told options that compile them: each line that is suggested does."""

from __future__ import annotations

import shlex

import onnx
import pytest
from onnx_models import from_text
from webnn_compile.cli.input_options import DimOption, ShapeOption
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model

MODELS = {
    "a batch": ("(float[n, 4] x) => (y) { y = Exp(x) }", ["--dim n=1", "--dim n=1..8"]),
    "batches under several names that have to be one": (
        "(float[unk__1, 4] x, float[unk__2, 4] z, float[unk__3, s] q) => (y) { y = Concat <axis = 1> (x, z, q) }",
        ["--dim unk__1=1 --dim unk__2=1 --dim unk__3=1 --dim s=128",
         "--dim unk__1=1 --dim unk__2=1 --dim unk__3=1 --dim s=1..128"],
    ),
    "a total that is a sum": (
        """(float[batch, past_sequence_length, 4] p, float[batch, sequence_length, 4] x,
            float[batch, total_sequence_length] m) => (y) <int64[1] last = {2}> {
             c = Concat <axis = 1> (p, x) u = Unsqueeze(m, last) y = Mul(c, u)
           }""",
        ["--dim batch=1 --dim past_sequence_length=128 --dim sequence_length=128",
         "--dim batch=1..8 --dim past_sequence_length=0..128 --dim sequence_length=1..128"],
    ),
    "a total that is a sum, joined to it": (
        """(float[batch, past_sequence_length, 4] p, float[batch, sequence_length, 4] x,
            float[batch, total_sequence_length] m) => (y) <int64[1] last = {2}> {
             c = Concat <axis = 1> (p, x) u = Unsqueeze(m, last) d = Concat <axis = 2> (c, u) y = Exp(d)
           }""",
        ["--dim batch=1 --dim past_sequence_length=128 --dim sequence_length=128",
         "--dim batch=1..8 --dim past_sequence_length=0..128 --dim sequence_length=1..128"],
    ),
    "a total that is a sum, from which nothing follows": (
        """(float[batch, past_sequence_length, 4] p, float[batch, sequence_length, 4] x,
            float[batch, total_sequence_length] m) => (y) <int64[1] last = {2}> {
             c = Concat <axis = 1> (p, x) u = Unsqueeze(m, last) i = Cast <to = 7> (u)
             y = GatherND <batch_dims = 2> (c, i)
           }""",
        ["--shape m=batchxpast_sequence_length+sequence_length --dim batch=1 --dim past_sequence_length=128 "
         "--dim sequence_length=128",
         "--shape m=batchxpast_sequence_length+sequence_length --dim batch=1..8 --dim past_sequence_length=0..128 "
         "--dim sequence_length=1..128"],
    ),
    "a sum that is declared": (
        """(float[1, past, 4] p, float[1, seq, 4] x, float[1, SUM] m) => (y) <int64[1] last = {2}> {
             c = Concat <axis = 1> (p, x) u = Unsqueeze(m, last) y = Mul(c, u)
           }""",
        ["--dim past=128 --dim seq=128", "--dim past=0..128 --dim seq=1..128"],
    ),
    "what there must be nothing of": (
        "(float[1, past, 4] p, float[1, 3, 4] x) => (y) { c = Concat <axis = 1> (p, x) y = Add(c, x) }",
        ["--dim past=0"],
    ),
    "an image whose halves have to meet": (
        """(float[1, 1, h, w] x) => (y) <float[1, 1, 2, 2] k = {1, 2, 3, 4}> {
             a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
             b = ConvTranspose <strides = [2, 2]> (a, k) y = Add(b, x)
           }""",
        ["--dim h=224 --dim w=224", "--dim h=32..256,multiple=32 --dim w=32..256,multiple=32"],
    ),
    "an image with its channels last": (
        "(float[n, h, w, 3] x) => (y) { y = Transpose <perm = [0, 3, 1, 2]> (x) }",
        ["--dim n=1 --dim h=224 --dim w=224", "--dim n=1..8 --dim h=1..128 --dim w=1..128"],
    ),
    "an image without names": ("(float[?, ?, ?, ?] x) => (y) { y = GlobalAveragePool(x) }", ["--shape x=1x3x224x224"]),
    "a line of text, whose height has to vanish": (
        """(float[?, 3, ?, ?] x) => (y) <int64[1] rows = {2}> {
             a = MaxPool <kernel_shape = [48, 1], strides = [48, 1]> (x) y = Squeeze(a, rows)
           }""",
        ["--shape x=1x3x48x320"],
    ),
    "an image that is halved until 256 of its rows are one": (
        "(float[1, 3, h, w] x) => (y) <int64[4] to = {1, 3, -1, 65536}> { y = Reshape(x, to) }",
        ["--dim h=256 --dim w=256"],
    ),
    "the state of a recurrent layer": (
        "(float[?, ?, 4] x, float[1, ?, 4] h) => (y) { y = Add(x, h) }",
        ["--shape x=1x128x4 --shape h=1x1x4"],
    ),
    "a name with an x": (
        "(float[batch, max_length] x) => (y) { y = Exp(x) }",
        ["--dim batch=1 --dim max_length=128", "--dim batch=1..8 --dim max_length=1..128"],
    ),
}  # fmt: skip


def parsed(text: str) -> onnx.ModelProto:
    made = from_text(text, 18)
    for d in (d for i in made.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param == "SUM"):
        d.dim_param = "past + seq"  # as exporters write it
    return made


@pytest.mark.parametrize("name", MODELS)
def test_each_line_compiles(name: str) -> None:
    text, expected = MODELS[name]
    with pytest.raises(InputError) as refusal:
        import_model(parsed(text))
    lines = [line.partition(": ")[2] for line in str(refusal.value).splitlines() if "--" in line]
    assert lines == expected
    for line in lines:
        words = shlex.split(line)
        options = list(zip(words[::2], words[1::2], strict=True))
        shapes = dict(ShapeOption().convert(v, None, None) for option, v in options if option == "--shape")
        dims = dict(DimOption().convert(v, None, None) for option, v in options if option == "--dim")
        import_model(parsed(text), ModelInputs(shapes, dims))


def test_nothing_that_fits() -> None:
    text = "(float[1, a, 4] x, float[1, 3, 5] z) => (y) { c = Concat <axis = 1> (x, x) y = Add(c, z) }"
    advice = "Fix them by --shape x=1xax4, with numbers for what is free, or by --dim NAME=LEAST..MOST for each name"
    with pytest.raises(InputError, match=rf"x: declared \[1, a, 4\]\n{advice}: none of the sizes"):
        import_model(parsed(text))
