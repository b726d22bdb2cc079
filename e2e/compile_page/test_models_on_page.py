"""The page on which one drops a model, below a sub-path and under a strict policy: what it asks for and shows."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from compile_page_steps import START, dense_model, drop, enter, numbers, run_on_file, wait
from decoders.tiny import tiny_decoder
from digits import MODEL as DIGITS
from digits import agrees
from harness import browser_name
from onnx import TensorProto, helper
from onnx_models import model, node, random
from page_compiler import command_error, command_line, reference_of
from page_requests import boxes_and_scores
from playwright.sync_api import Page, expect


def test_a_dropped_model_runs_and_reads_a_digit(opened: Page, tmp_path: Path) -> None:
    drop(opened, DIGITS)
    assert opened.evaluate("crossOriginIsolated")
    assert "nothing is sent anywhere" in opened.inner_text("header")
    samples = json.loads((DIGITS.parent / "samples.json").read_text())["samples"]
    sample = next(s for s in samples if s["label"] == 7)
    image = (np.array(sample["pixels"], np.float32) / 255).reshape(1, 1, 32, 32)
    run_on_file(opened, image, tmp_path / "seven.npy", "image")
    expected = reference_of(DIGITS, {"image": image})["logits"].ravel()
    shown = opened.inner_text("#outputs [data-output=logits]")
    assert agrees(numbers(shown, "min") + numbers(shown, "max"), [float(expected.min()), float(expected.max())])
    assert opened.get_attribute(".top li >> nth=0", "data-index") == "7"
    assert opened.get_attribute("#model", "data-backend") in ("webgpu", "webgl")


def test_the_card_and_the_command_line(opened: Page) -> None:
    drop(opened, DIGITS)
    card = opened.inner_text("#card")
    for text in ("resnet18_digits.onnx", "pytorch", "396,766", "Conv", "image", "[1, 1, 32, 32]", "logits", "[1, 10]"):
        assert text in card
    assert opened.inner_text("#command") == (
        "webnn-compile resnet18_digits.onnx --out bundle/ --host js --targets webgpu,webgl"
    )
    assert "./resnet18_digits/model.js" in opened.inner_text("#code")
    assert "kernels" in opened.inner_text("#report")
    model = f"{DIGITS.stat().st_size / 1e6:.1f} MB of the model, as it has scripts and shaders"
    assert model in opened.inner_text("#report")


def test_the_archive_that_is_downloaded_holds_the_bundle(opened: Page, tmp_path: Path) -> None:
    if browser_name(opened) != "chromium":
        pytest.skip("only Chromium hands its downloads to Playwright here")
    drop(opened, DIGITS)
    with opened.expect_download(timeout=START) as download:
        opened.click("#download")
    assert download.value.suggested_filename == "resnet18_digits.zip"
    command_line(DIGITS, tmp_path / "bundle")
    with zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {f"resnet18_digits/{p.name}": p.read_bytes() for p in (tmp_path / "bundle").iterdir()}


def test_free_sizes_are_asked_for(opened: Page, tmp_path: Path) -> None:
    drop(opened, dense_model(tmp_path / "free.onnx", first="rows"), state="described")
    assert "rows" in opened.inner_text("#sizes")
    opened.fill("#size-0", "3")
    opened.click("#compile")
    wait(opened, "running")
    opened.wait_for_selector("body[data-busy='']", timeout=START)
    assert "[3, 4]" in opened.inner_text("#outputs [data-output=y]")
    assert opened.is_hidden("#run-sizes")
    assert opened.inner_text("#command").endswith("--dim rows=3")


def test_a_size_that_is_left_to_each_run(opened: Page, tmp_path: Path) -> None:
    path = dense_model(tmp_path / "ranged.onnx", first="rows")
    drop(opened, path, state="described")
    problem, rows, y = opened.locator("#problem"), opened.locator("[data-dimension=rows]"), "#outputs [data-output=y]"
    opened.fill("#size-0", "8..2")
    opened.click("#compile")
    expect(problem).to_have_text(command_error(path, tmp_path / "out", "--dim", "rows=8..2"), timeout=START)
    opened.fill("#size-0", "1..8")
    opened.click("#compile")
    wait(opened, "running")
    opened.wait_for_selector("body[data-busy='']", timeout=START)
    assert opened.inner_text("#command").endswith("--dim rows=1..8")
    code = "x: { data: new Float32Array(48), shape: [8, 6] }, // float32, shape [rows, 6]"
    assert code in opened.inner_text("#code")
    assert "[8, 4]" in opened.inner_text(y)

    values = np.random.default_rng(5).standard_normal((5, 6)).astype(np.float32)
    for length in (5, 2):
        run_on_file(opened, values[:length], tmp_path / f"{length}.npy", "x")
        assert rows.input_value() == str(length)
        expected = reference_of(path, {"x": values[:length]})["y"]
        shown = opened.inner_text(y)
        assert f"[{length}, 4]" in shown
        assert agrees(numbers(shown, "values"), expected.ravel()[:8].tolist())
        assert agrees(numbers(shown, "max"), [float(expected.max())])

    enter(opened, "[data-dimension=rows]", "9")
    opened.click("#run")
    expect(problem).to_have_text("the size given makes rows 9, and the model was compiled for 1 to 8")
    enter(opened, "[data-dimension=rows]", "3")
    opened.click("#run")
    expect(problem).to_have_text("2.npy for the input x: it has the shape (2, 6), the input needs (3, 6)")
    opened.select_option("select[data-input=x]", "random")
    opened.click("#run")
    expect(opened.locator(y)).to_contain_text("[3, 4]")
    opened.click("#profile")
    opened.wait_for_selector("#profile-table:has-text('MatMul')", timeout=START)


def test_sizes_without_names_get_some(opened: Page, tmp_path: Path) -> None:
    ports = {"a": ["batch", None, "past + length"], "b": ["length", "past", "its width"]}
    graph = helper.make_graph(
        [helper.make_node("Relu", [name], [f"{name}_out"]) for name in ports],
        "several",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ports.items()],
        [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None) for name in ports],
    )
    path = tmp_path / "several.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    drop(opened, path, state="described")
    fields = {"batch": "2", "N1": "4..8,multiple=4", "length": "1..3", "past": "2", "N2": "5"}
    assert opened.locator("#size-fields b").all_inner_texts() == list(fields)
    for i, size in enumerate(fields.values()):
        opened.fill(f"#size-{i}", size)
    opened.click("#compile")
    wait(opened, "running")
    opened.wait_for_selector("body[data-busy='']", timeout=START)
    assert "[2, 8, 5]" in opened.inner_text("#outputs [data-output=a_out]")
    assert "[3, 2, 5]" in opened.inner_text("#outputs [data-output=b_out]")
    lines = opened.locator("#run-size-fields .line").all_inner_texts()
    assert [" ".join(line.split()) for line in lines] == ["N1 4 to 8, multiples of 4", "length 1 to 3"]
    command = shlex.split(opened.inner_text("#command"))
    sizes = command[command.index("webgpu,webgl") + 1 :]
    assert sizes[:4] == ["--shape", "a=2xN1xpast + length", "--shape", "b=lengthx2x5"]
    command_line(path, tmp_path / "bundle", *sizes)


def test_a_shape_that_is_not_declared_is_asked_for(opened: Page, tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], "the_node")],
        "shapeless",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    path = tmp_path / "shapeless.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    drop(opened, path, state="described")
    assert opened.inner_text("#card-ports").count("any shape") == 2
    opened.fill("#shape-0", "2x5")
    opened.click("#compile")
    wait(opened, "running")
    opened.wait_for_selector("body[data-busy='']", timeout=START)
    assert "[2, 5]" in opened.inner_text("#outputs [data-output=y]")


def test_options_are_those_of_the_command_line(opened: Page, tmp_path: Path) -> None:
    drop(opened, dense_model(tmp_path / "dense.onnx"))
    opened.click("#options summary")
    opened.uncheck("#target-webgpu")
    opened.select_option("#precision", "f16")
    opened.uncheck("#fast-math")
    opened.click("#compile")
    wait(opened, "compiling", "running")
    command = "webnn-compile dense.onnx --out bundle/ --host js --targets webgl --precision f16 --fast-math off"
    expect(opened.locator("#command")).to_have_text(command, timeout=START)
    wait(opened, "running")
    assert opened.get_attribute("#model", "data-backend") == "webgl"
    opened.check("#target-webgpu")
    opened.select_option("#precision", "f32")
    opened.check("#fast-math")
    opened.click("#options summary")


def test_states_and_generating(opened: Page, tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    onnx.save(tiny_decoder(), path)
    drop(opened, path, state="described")
    sizes = {"batch": "1", "past": "0..59", "seq": "1..5"}
    fields = opened.locator("#size-fields b").all_inner_texts()
    for i, name in enumerate(fields):
        opened.fill(f"#size-{i}", sizes[name])
    opened.click("#options summary")
    opened.fill("#states", "past.key")
    opened.click("#compile")  # which the field's form does not allow
    expect(opened.locator("#states")).to_be_focused()
    wait(opened, "described")
    opened.fill("#states", " past_key_values.*=present.* ")
    opened.fill("#given", "attention_mask")
    opened.check("#generate")
    opened.fill("#generate-settings", "top=2")
    enter(opened, "#max-seconds", "600")
    enter(opened, "#compile-memory", "0.001")
    opened.click("#compile")
    expect(opened.locator("#problem")).to_contain_text("--compile-memory allows 1000 bytes", timeout=START)
    enter(opened, "#compile-memory", "500")
    opened.click("#compile")
    wait(opened, "running")
    opened.wait_for_selector("body[data-busy='']", timeout=START)
    options = "--state 'past_key_values.*=present.*' --given attention_mask --generate top=2"
    options += " --max-seconds 600 --compile-memory 500000000"
    command = opened.inner_text("#command")
    assert command.endswith(options)
    assert [opened.is_visible(f"#outputs [data-output={name}]") for name in ("token", "top_ids")] == [True, True]
    assert "sampling" not in opened.inner_text("#try")
    assert opened.locator("[data-dimension]").evaluate_all("(all) => all.map((one) => one.dataset.dimension)") == [
        "seq"
    ]
    for field in ("#given", "#max-seconds", "#compile-memory"):
        opened.fill(field, "")
    enter(opened, "#state-window", "30")
    opened.click("#compile")
    options = "--state 'past_key_values.*=present.*' --state-window 30 --generate top=2"
    expect(opened.locator("#command")).to_have_text(re.compile(f" {re.escape(options)}$"), timeout=START)
    wait(opened, "running")
    opened.wait_for_selector("body[data-busy='']", timeout=START)
    drop(opened, dense_model(tmp_path / "dense.onnx"))
    assert opened.inner_text("#command").endswith("--targets webgpu,webgl")
    opened.click("#options summary")


def test_weights_in_few_bits_and_what_became_of_them(opened: Page, tmp_path: Path) -> None:
    product = node("MatMul", ["x", "w"], ["y"], "wide")
    onnx.save(model([product], {"x": [1, 192]}, ["y"], {"w": random((192, 192))}), tmp_path / "wide.onnx")
    opened.evaluate("document.getElementById('weights').value = 'int4'")  # no model yet: it may be hidden
    drop(opened, tmp_path / "wide.onnx")
    opened.wait_for_selector("#layers:not([hidden])")
    facts = opened.inner_text("#report")
    assert "1 of 1 layer: int4:block=32 weights; 147.5 kB → 23.0 kB" in facts
    assert "18.4 kB int4" in facts
    assert "1 of float32 and int4 in float32 (WebGPU, WebGL)" in facts
    opened.click("#layers summary")
    row = opened.inner_text("#layer-table tbody").split()
    assert row[:5] == ["wide", "MatMul", "int4:block=32", "23.0", "kB"]
    assert 5 < float(row[5].removesuffix("%")) < 15
    assert "--weights int4" in opened.inner_text("#command")
    opened.evaluate("document.getElementById('weights').value = ''")


def test_a_bad_file_is_explained_and_another_one_works(opened: Page, tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(DIGITS.read_bytes()[:1000])
    opened.set_input_files("#files", str(bad))
    problem = opened.locator("#problem")
    expect(problem).to_contain_text("bad.onnx is truncated or damaged", timeout=START)
    expect(problem).to_have_role("alert")
    drop(opened, dense_model(tmp_path / "good.onnx"))
    expect(problem).to_be_hidden()


def test_backends_are_compared_and_kernels_timed(opened: Page, tmp_path: Path) -> None:
    drop(opened, dense_model(tmp_path / "dense.onnx"))
    opened.click("#compare")
    opened.wait_for_selector("body[data-busy=compare]", timeout=START)
    opened.wait_for_selector("body[data-busy='']", timeout=START)
    assert "ms" in opened.inner_text("#compare-table tr[data-backend=webgl]")
    opened.click("#profile")
    opened.wait_for_selector("#profile-table:has-text('MatMul')", timeout=START)


def compile_again(page: Page) -> None:
    page.click("#compile")
    wait(page, "compiling")
    wait(page, "running")
    page.wait_for_selector("body[data-busy='']", timeout=START)


@pytest.fixture
def pictures(opened: Page) -> Page:
    """The page with a model of one grey picture, whose format is not yet given; it runs on random values."""
    drop(opened, DIGITS)
    return opened


def sample(digit: int, path: Path) -> tuple[Path, np.ndarray]:
    """A picture of a digit, in a file, and its pixels."""
    from PIL import Image

    samples = json.loads((DIGITS.parent / "samples.json").read_text())["samples"]
    pixels = np.array(next(s for s in samples if s["label"] == digit)["pixels"], np.uint8).reshape(32, 32)
    Image.fromarray(pixels).save(path / "digit.png")
    return path / "digit.png", pixels


def test_a_picture_is_given_to_the_model_which_answers(pictures: Page, tmp_path: Path) -> None:
    """The picture comes before its format: the page asks for this, by keyboard, and then takes the picture that it
    has. Scores are those of the reference."""
    picture, pixels = sample(7, tmp_path)
    names = tmp_path / "digits.txt"
    names.write_text("\n".join(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]))
    pictures.set_input_files("#files", str(picture))
    expect(pictures.locator("#status")).to_contain_text("No input takes digit.png yet")
    expect(pictures.locator("select[data-format=image]")).to_be_focused()
    pictures.keyboard.type("unit")
    expect(pictures.locator("select[data-format=image]")).to_have_value("pictures unit")
    pictures.get_by_text("Change the format").click()
    pictures.get_by_label("image: colours").select_option("grey")
    pictures.get_by_label("Answer", exact=True).select_option("classify")
    pictures.get_by_label("Settings of answer").fill("top=3")
    pictures.set_input_files("#labels-file", str(names))
    assert "digits.txt" in pictures.inner_text("#labels-name")
    compile_again(pictures)
    shown = pictures.locator("#outputs [data-output=logits]")
    expect(shown.locator("label")).to_have_count(3)
    expect(shown.locator("label").first).to_contain_text("seven")
    logits = reference_of(DIGITS, {"image": (pixels.astype(np.float32) / 255).reshape(1, 1, 32, 32)})["logits"].ravel()
    scores = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = float(shown.locator("meter").first.get_attribute("value") or 0)
    assert abs(best - scores[7]) < 1e-3
    assert "3 of 10 classes" in pictures.inner_text("#report")
    assert "image: document.querySelector('img')" in pictures.inner_text("#code")
    write, command = pictures.inner_text("#command").split("\n")
    assert write == """echo '{"like":"unit","colours":"grey"}' > format-1.json"""
    assert "--picture image=format-1.json --answer classify,top=3 --labels digits.txt" in command
    pictures.click("#compare")
    pictures.wait_for_selector("body[data-busy='']", timeout=START)
    expect(pictures.locator("#problem")).to_be_hidden()

    # The same by the tensor's own way: words of pixels.
    pictures.check("#how-tensors")
    pictures.select_option("select[data-input=image]", "file")
    pictures.set_input_files("input[data-input=image]", str(picture))
    expect(shown.locator("label").first).to_contain_text("seven")


def test_a_format_that_does_not_fit_gives_the_compilers_message(pictures: Page, tmp_path: Path) -> None:
    pictures.get_by_text("Pictures, sounds and answers").click()
    pictures.select_option("select[data-format=image]", "pictures imagenet")
    pictures.click("#compile")
    message = command_error(DIGITS, tmp_path / "out", "--picture", "image=imagenet")
    expect(pictures.locator("#problem")).to_have_text(message, timeout=START)
    pictures.get_by_text("Change the format").click()
    pictures.get_by_label("image: colours").select_option("grey")
    pictures.get_by_label("image: mean").fill("half")
    pictures.click("#compile")
    expect(pictures.locator("#problem")).to_contain_text('mean is ["half"]; it is of another type', timeout=START)
    # The formats were of that model.
    drop(pictures, DIGITS)
    assert "--picture" not in pictures.inner_text("#command")


def test_a_detector_of_ones_own_comes_as_a_file(opened: Page, tmp_path: Path) -> None:
    onnx.save(boxes_and_scores(), tmp_path / "m.onnx")
    own, chooser = tmp_path / "own.json", opened.get_by_label("File of answer", exact=True)
    drop(opened, tmp_path / "m.onnx")
    opened.click("#media summary")
    opened.get_by_label("Answer", exact=True).select_option("detect=FILE.json")
    opened.click("#media summary")
    opened.click("#compile")
    expect(chooser).to_be_focused()  # which says that it needs a file
    expect(opened.locator("body")).to_have_attribute("data-state", "running")
    own.write_text('{"like": "sdd"}')
    chooser.set_input_files(own)
    opened.click("#compile")
    message = '--answer detect=own.json: own.json: like is "sdd"; give one of yolox, yolov5, yolov8, ssd, ultraface'
    expect(opened.locator("#problem")).to_have_text(message, timeout=START)
    own.write_text('{"like": "ssd", "background": false, "boxes_output": "boxes", "threshold": 0}')
    chooser.set_input_files(own)
    compile_again(opened)
    assert "up to 2 boxes of 4 classes" in opened.inner_text("#report")
    assert opened.inner_text("#command").endswith("--answer detect=own.json")
    expect(opened.locator("#outputs [data-output=boxes] .detect")).to_be_visible()


def test_a_search_is_shown_and_can_be_stopped(opened: Page, tmp_path: Path) -> None:
    drop(opened, DIGITS)
    opened.click("#tune")
    opened.wait_for_selector("body[data-busy=tune]", timeout=START)
    expect(opened.locator("#tune-figures")).to_contain_text(re.compile("[1-9][0-9]* (trial|of)"), timeout=START)
    opened.click("#tune-stop")
    opened.wait_for_selector("body[data-state=running][data-busy='']", timeout=START)
    expect(opened.locator("#tune-note")).to_contain_text("trial")
    expect(opened.locator("#problem")).to_be_hidden()
