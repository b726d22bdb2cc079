"""Fragment shaders by the interpreter: what naive kernels compute, over textures full of poison."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from device_json import read_program
from glsl.fragments import MODELS, Array, biggest, kernels, kernels_of, one, places_of
from kernel_checks import assert_close, inputs_for, laid_out, poison, run_kernel, taken_out
from node_programs import need
from onnx import TensorProto
from onnx_models import model, node
from webnn_compile.bundle.render_device import render_device
from webnn_compile.dtypes import F32
from webnn_compile.errors import InternalError
from webnn_compile.glsl.backend import WebGl, fragment_kernel
from webnn_compile.glsl.compose import compose
from webnn_compile.glsl.render import own_texel
from webnn_compile.glsl.textures import place_flat, place_image
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.nodes import Buffer, Const, For, Kernel, LoopKind, Store, Var
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.program.device_program import DeviceProgram, Placement
from webnn_compile.target import TEXEL, TEXTURE_SIZE

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "glsl"
SPLIT_OUTPUTS, TRANSFER = (ROOT / "runtime-js" / "webgl" / f"{name}.js" for name in ("split_outputs", "webgl_transfer"))


def texel_of(place: Placement, shape: tuple[int, ...], index: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Layer, row, column and component, word for word as `Placement` says."""
    if not place.tile:
        e = int(np.ravel_multi_index(index, shape)) if shape else 0
        t = e // 4
        return t // 2**22, t // 2048 % 2048, t % 2048, e % 4
    *outer, width, channels = (1, 1, *shape)
    *h, w, c = (0, 0, *index)
    row = int(np.ravel_multi_index(tuple(h), tuple(outer)))
    columns, groups = -(-width // place.tile), -(-channels // 4)
    if place.tall:
        line = row * groups + c // 4
        return w % place.tile, line % place.height, line // place.height * columns + w // place.tile, c % 4
    height = -(-int(np.prod(outer)) // place.bands)
    return w % place.tile, row % height, (row // height * groups + c // 4) * columns + w // place.tile, c % 4


def texture(place: Placement, dtype: np.dtype[np.generic], fill: object) -> Array:
    return np.full((place.layers, place.height, place.width, 4), fill, dtype)


def to_texture(place: Placement, data: Array, fill: object) -> Array:
    made = texture(place, data.dtype, fill)
    for index in np.ndindex(data.shape):
        made[texel_of(place, data.shape, index)] = data[index]
    return made


def from_texture(place: Placement, shape: tuple[int, ...], made: Array) -> Array:
    found = np.empty(shape, made.dtype)
    for index in np.ndindex(shape):
        found[index] = made[texel_of(place, shape, index)]
    return found


SHAPES = [
    (1, 40, 32),
    (),
    (3,),
    (9,),
    (8192,),
    (3, 5),
    (4, 9),
    (300, 8),
    (3, 7, 12),
    (2, 3, 5, 6),
    (300, 9, 40),
    (1, 1, 4000),
    (6, 784, 6, 8),
    (64, 10001),
    (1, 9, 50257),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_element_has_a_component_of_its_own(shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    for place in (place_flat(size), place_image(shape), place_image(shape, drawn=True)):
        if place is None:
            continue
        limits = place.layers, place.height, place.width, 4
        assert max(limits) <= 2048
        step = max(1, size // 5000)
        found = [texel_of(place, shape, np.unravel_index(e, shape)) for e in range(0, size, step)]
        assert len(set(found)) == len(found)
        assert all(0 <= i < n for texel in found for i, n in zip(texel, limits, strict=True))


def test_a_large_image_is_tall_and_a_larger_one_a_line() -> None:
    assert place_image((128, 768)) == Placement(16, 192, 8, 8, tall=True)
    assert place_image((56, 56, 64)) == Placement(112, 56, 8, 8)
    assert place_image((30522, 768)) is None
    assert place_image((56, 56, 1)) is None


def test_rows_of_small_images_stand_side_by_side() -> None:
    assert place_image((1, 14, 14, 96), drawn=True) == Placement(144, 5, 7, 7, bands=3)
    assert place_image((7, 7, 160), drawn=True) == Placement(80, 4, 7, 7, bands=2)
    assert place_image((56, 56, 128), drawn=True) == Placement(224, 56, 8, 8)
    assert place_image((1, 128, 768), drawn=True) == Placement(192, 16, 8, 8, tall=True, bands=12)
    assert place_image((1, 1, 1, 320), drawn=True) == Placement(20, 4, 1, 1, tall=True, bands=20)
    assert place_image((1, 10), drawn=True) == Placement(3, 1, 1, 1)
    assert place_image((14, 14, 96)) == Placement(48, 14, 7, 7)
    assert place_image((3, 14, 14, 96), drawn=True) == Placement(48, 42, 7, 7)


def test_channels_of_one_row_stand_in_bands_of_which_the_last_may_be_shorter() -> None:
    assert place_image((64, 50257), drawn=True) == Placement(1576, 64, 8, 8, tall=True, bands=197)
    assert place_image((1, 256, 30522), drawn=True) == Placement(1920, 128, 8, 8, tall=True, bands=60)
    assert place_image((64, 50257)) is None
    assert place_image((64, 50257), drawn=True, partly=True) is None
    assert place_image((3, 64, 50257), drawn=True) is None


def test_rows_that_are_more_than_a_texture_has_stand_side_by_side() -> None:
    assert place_image((6, 784, 6, 8), drawn=True) == Placement(6, 1568, 6, 6, bands=3)
    assert place_image((6, 784, 6, 8)) is None
    assert place_image((2053, 6, 8), drawn=True) is None  # a prime: no bands of equal length


def test_tiles_waste_little() -> None:
    tiles = {width: place.tile for width in (1, 3, 7, 14, 28, 56, 9) if (place := place_image((4, width, 8)))}
    assert tiles == {1: 1, 3: 3, 7: 7, 14: 7, 28: 7, 56: 8, 9: 5}


def test_tiles_are_whole_rows_of_what_is_made_together() -> None:
    tiles = [place.tile for n in (2, 4, 6) if (place := place_image((4, 7, 8), multiple=n))]
    assert tiles == [4, 4, 6]


@pytest.mark.parametrize("images", [True, False], ids=["images", "lines"])
@pytest.mark.parametrize("name", MODELS)
def test_fragments_compute_what_the_naive_kernel_does(name: str, images: bool) -> None:
    for naive in kernels(name):
        if naive.params[-1].size <= 2000:
            check_fragments(naive, images=images, rows_only=name == "gather")


@pytest.mark.parametrize("images", [True, False], ids=["images", "lines"])
@pytest.mark.parametrize(
    ("shapes", "axis"),
    [([(4, 3, 5), (4, 4, 5), (4, 6, 5)], 1), ([(5, 6, 5), (2, 6, 5)], 0), ([(7, 4, 6), (7, 4, 3)], 2)],
    ids=str,
)
def test_elements_that_the_result_is_rounded_up_by_fetch_nothing_beyond_a_texture(
    shapes: list[tuple[int, ...]], axis: int, images: bool
) -> None:
    """The interpreter refuses such a fetch: what is joined lies under guards that hold there, too."""
    (naive,) = kernels_of(one("Concat", shapes, axis=axis))
    check_fragments(naive, images=images)


def check_fragments(naive: Kernel, *, images: bool, rows_only: bool = False) -> None:
    places = dict(zip(naive.params, places_of(naive, images=images), strict=True))
    kernel = fragment_kernel(naive, places)
    verify_kernel(kernel, "use_textures")
    inputs = inputs_for(naive)
    if rows_only:
        inputs = [np.abs(a) if a.dtype.kind == "i" else a for a in inputs]
    out = naive.params[-1]
    arrays = [
        to_texture(places[b], laid_out(b, a).reshape(b.shape), 0 if b.constant else poison(b.dtype))
        for b, a in zip(naive.params, inputs, strict=False)
    ]
    arrays.append(texture(places[out], out.dtype.numpy, poison(out.dtype)))
    interpret(kernel, arrays)
    found = from_texture(places[out], out.shape, arrays[-1])
    assert_close(run_kernel(naive, inputs), [taken_out(out, found)], 1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_golden_shader(name: str, request: pytest.FixtureRequest) -> None:
    """After a change that is meant: pytest --update-golden, then read the difference like code."""
    kernel = biggest(name)
    text = compose(WebGl().compile_kernel(kernel, places_of(kernel, images=True)).kernel)
    file = GOLDEN / f"{name}.frag"
    if request.config.getoption("update_golden"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("count", [1, 2, 16])
def test_loops_around_many_functions_are_kept(count: int) -> None:
    """Each of four results evaluates its sines; steps of the sum are unrolled while these are few."""
    sines = [node("Sin", [f"s{i}"], [f"s{i + 1}"]) for i in range(count)]
    total = node("ReduceSum", [f"s{count}", "axis"], ["y"], keepdims=0)
    made = model([*sines, total], {"s0": (8, 64)}, ["y"], {"axis": np.array([1])})
    (kernel,) = kernels_of(made)
    text = compose(WebGl().compile_kernel(kernel, places_of(kernel, images=False)).kernel)
    assert text.count("if (1174405120 <= ") == 4 * count * (4 if count <= 2 else 1)
    assert text.count("-0.00019515296 * ") == text.count("if (1174405120 <= ")


def test_the_least_of_bools_is_of_selected_numbers() -> None:
    nodes = [node("ReduceMin", ["x", "axis"], ["y"])]
    made = model(nodes, {"x": [4, 3]}, ["y"], {"axis": np.array([0])}, 20, TensorProto.BOOL)
    (kernel,) = webnn_compile.compile(made, "webgl", cache=False).program.kernels
    assert "min(" in kernel.source
    assert not re.search(r"\bint\(", kernel.source)


def test_no_golden_shader_is_left_over() -> None:
    assert sorted(p.stem for p in GOLDEN.iterdir()) == sorted(MODELS)


@pytest.mark.skipif(
    shutil.which("glslangValidator") is None, reason="glslangValidator (Debian glslang-tools) is absent"
)
@pytest.mark.parametrize("images", [True, False], ids=["images", "lines"])
def test_the_reference_compiler_takes_every_shader(images: bool, tmp_path: Path) -> None:
    files = []
    for name in MODELS:
        for i, kernel in enumerate(kernels(name)):
            made = WebGl().compile_kernel(kernel, places_of(kernel, images=images)).kernel
            files.append(tmp_path / f"{name}_{i}.frag")
            files[-1].write_text(compose(made))
    result = subprocess.run(["glslangValidator", *map(str, files)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert len(files) > len(MODELS)


def test_the_runtime_composes_the_same_text(tmp_path: Path) -> None:
    made = [
        WebGl().compile_kernel(kernel, places_of(kernel, images=True)).kernel
        for name in MODELS
        for kernel in kernels(name)
    ]
    program = DeviceProgram("webgl", "", tuple(made), (), (), (), (), (), (), ())
    rows = read_program(render_device(program))["kernels"]
    unpacked = [row | {"source": kernel.source} for row, kernel in zip(rows, made, strict=True)]
    (tmp_path / "kernels.json").write_text(json.dumps(unpacked))
    (tmp_path / "main.mjs").write_text(
        f"import {{ splitOutputs }} from {json.dumps(SPLIT_OUTPUTS.as_uri())};\n"
        "import { readFileSync } from 'node:fs';\n"
        "const kernels = JSON.parse(readFileSync(new URL('./kernels.json', import.meta.url)));\n"
        "console.log(JSON.stringify(kernels.map((kernel) => splitOutputs(kernel, 8).map(({ source }) => source))));\n"
    )
    done = subprocess.run([need("node"), tmp_path / "main.mjs"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[compose(kernel)] for kernel in made]


def test_flat_textures_are_those_of_the_runtime(tmp_path: Path) -> None:
    row = TEXTURE_SIZE * TEXEL
    lengths = [1, 4, 5, row - 1, row, row + 1, 7 * row, row * TEXTURE_SIZE, row * TEXTURE_SIZE + 1]
    (tmp_path / "main.mjs").write_text(
        f"import {{ ROW, rectangles }} from {json.dumps(TRANSFER.as_uri())};\n"
        f"console.log(JSON.stringify([ROW, {json.dumps(lengths)}.map(rectangles)]));\n"
    )
    done = subprocess.run([need("node"), tmp_path / "main.mjs"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    width, uploads = json.loads(done.stdout)
    assert width == TEXTURE_SIZE
    for length, parts in zip(lengths, uploads, strict=True):
        place = place_flat(length)
        assert (place.width, place.height, place.layers) == (parts[0]["width"], parts[0]["height"], len(parts))


def stores(*indices: object, loops: tuple[Var, ...]) -> Kernel:
    out = Buffer("y", (2, 4, 8, 4), F32)
    body = Store(out, tuple(indices), Const(0.0, F32))  # type: ignore[arg-type]
    for v in loops:
        body = For(v, body, LoopKind.BLOCK)  # type: ignore[assignment]
    return Kernel("stores", (out,), body)


def test_a_fragment_stores_at_its_own_place() -> None:
    x, y, z, zero = Var("x", 4), Var("y", 4), Var("z", 2), Const(0)
    good = own_texel(stores(Const(1), y, z * 4 + x, zero, loops=(x, y, z)))
    assert good.column == ((x, 1), (z, 4))
    assert good.row == ((y, 1),)
    for indices in [
        (zero, y, x + 1, zero),  # beside
        (zero, y, z * 2 + x, zero),  # two at one place
        (zero, x, z * 4 + x, zero),  # the same in rows and columns
        (zero, zero, z * 4 + x, zero),  # rows of fragments at one place
        (zero, y, x * 2 + z, zero),  # in another order: still one each
    ]:
        kernel = stores(*indices, loops=(x, y, z))
        if indices == (zero, y, x * 2 + z, zero):
            assert own_texel(kernel).column == ((z, 1), (x, 2))
            continue
        with pytest.raises(InternalError, match="kernel stores: its fragments"):
            own_texel(kernel)
