"""Formats of pictures: their names, files and objects, and what does not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from webnn_compile.dtypes import F32, I64, U8, DType
from webnn_compile.errors import InputError
from webnn_compile.graph.ir import Value
from webnn_compile.ir.nodes import Scalar
from webnn_compile.pictures.formats import FORMATS, PICTURES, PictureFormat
from webnn_compile.pictures.take_pictures import fit_picture


def test_every_format_is_valid() -> None:
    for name, form in FORMATS.items():
        form.check(name)
        assert PICTURES.parse(name) is form


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "camera.json"
    file.write_text(json.dumps({"like": "imagenet", "mean": 0.5, "kept": 1, "colours": "bgr", "most": 512}))
    form = PICTURES.parse(str(file))
    assert (form.resize, form.mean, form.std) == ("crop", (0.5,), FORMATS["imagenet"].std)
    assert (form.kept, form.colours, form.most) == (1, "bgr", 512)


def test_formats_by_input() -> None:
    own = PictureFormat(scale=1.0)
    given = PICTURES.by_input({"a": "yolox", "b": own, "c": {"like": "unit", "std": [1, 2, 3]}})
    assert given == {"a": FORMATS["yolox"], "b": own, "c": PictureFormat(std=(1, 2, 3))}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "it is no object"),
        ({"size": 3}, "'size' is unknown; a format has like, resize, kept"),
        ({"like": "imagent"}, 'like is "imagent"; give one of imagenet, '),
        ({"resize": "cover"}, 'resize is "cover"; give one of crop, letterbox'),
        ({"kept": 2}, "kept is 2; give a share"),
        ({"fill": [1, 2]}, r"fill is \[1, 2\]; give three numbers"),
        ({"fill": 3}, "fill is 3; it is of another type"),
        ({"colours": "yuv"}, 'colours is "yuv"; give one of rgb, bgr, grey'),
        ({"scale": 0}, "scale is 0; give a number above 0"),
        ({"scale": True}, "scale is true; it is of another type"),
        ({"mean": [0, 1]}, r"mean is \[0, 1\]; give one number, or three"),
        ({"mean": "0"}, 'mean is "0"; it is of another type'),
        ({"colours": "grey", "std": [1, 1, 1]}, r"std is \[1, 1, 1\]; give one number, above 0"),
        ({"std": [1, 0, 1]}, "std is .*above 0"),
        ({"width": 0}, "width is 0; give a number from 1"),
        ({"height": 2.5}, "height is 2.5; it is of another type"),
        ({"most": 100000}, "most is 100000; give a number from 1"),
    ],
)
def test_mistakes(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"^camera.json: {message}"):
        PICTURES.of(given, "camera.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("imagent", "'imagent' is no format of pictures; choose one of imagenet, .*or give a .json file"),
        ("none.json", "none.json: it cannot be read as JSON .*No such file"),
    ],
)
def test_mistakes_of_names(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PICTURES.parse(text)


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InputError, match=r"a\.json: it cannot be read as JSON"):
        PICTURES.parse(str(tmp_path / "a.json"))


def test_layouts() -> None:
    rgb, grey = PictureFormat(), PictureFormat(colours="grey")
    planar = fit_picture(Value("x", (1, 3, 20, 30), F32), rgb)
    assert (planar.rows, planar.columns, planar.planar, planar.channels) == (20, 30, True, 3)
    last = fit_picture(Value("x", (1, 20, 30, 1), F32), grey)
    assert (last.rows, last.columns, last.planar, last.channels) == (20, 30, False, 1)


@pytest.mark.parametrize(
    ("shape", "dtype", "form", "message"),
    [
        ((1, 3, 8, 8), I64, {}, r"the input is int64\[1, 3, 8, 8\].*float32, float16 or uint8"),
        ((1, 8), F32, {}, r"fills one of \[1, 3, height, width\] or \[1, height, width, 3\]$"),
        ((2, 3, 8, 8), F32, {}, r"\[2, 3, 8, 8\].* fills one of \[1, 3"),
        (
            (1, 1, 8, 8),
            F32,
            {},
            'a picture in rgb fills one of .*: give a format with "colours": "grey", as a file, --picture x=FILE.json$',
        ),
        ((1, 8, 8, 3), F32, {"colours": "grey"}, 'fills one of .*: give a format with "colours": "rgb"'),
        ((1, 3, Scalar("h", 99), 8), F32, {}, "needs a fixed height: fix it by --shape"),
        ((Scalar("n", 99), 3, 8, 8), F32, {}, "is one of a batch of 1: fix it by --shape or --dim"),
        ((1, 3, 8, 8), F32, {"width": 16}, "of width 16 does not fit it"),
        ((1, 3, 8, 8), U8, {"like": "imagenet"}, "is bytes there: give a format of scale 1"),
    ],
)
def test_inputs_that_no_picture_fills(shape: tuple[Any, ...], dtype: DType, form: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"^--picture x: .*{message}"):
        fit_picture(Value("x", shape, dtype), PICTURES.of(form, "f"))
