"""The oracles find what is planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from fuzz import check_model as oracle
from fuzz.case import Outcome, Subject
from fuzz.check_page import judge
from fuzz.compare import disagreement
from fuzz.draw_page import PageCase, Part
from fuzz.run_guarded import OutOfBounds, run_guarded
from onnx_models import model, node, random
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.program.program import Program, Region

PROTO = model([node("Mul", ["x", "w"], ["y"])], {"x": [5, 16]}, ["y"], {"w": random((5, 16), 1)})
X = {"x": random((5, 16))}
SUBJECT = Subject(PROTO.SerializeToString(), X)


def check(subject: Subject) -> Outcome:
    return oracle.check_model(subject, lambda _: None)


def test_a_model_that_agrees() -> None:
    assert check(SUBJECT) == Outcome("agrees (native)", details="")


def test_the_command_line_that_succeeds_and_that_refuses() -> None:
    assert check(replace(SUBJECT, target="bundle")) == Outcome("command line", details="")
    assert check(replace(SUBJECT, target="bundle", model=b"<html>")) == Outcome("command line", details="")


def test_a_refusal_is_a_fault_of_valid_models_only() -> None:
    assert check(replace(SUBJECT, model=b"nonsense")).result == "refused"
    assert check(replace(SUBJECT, model=b"nonsense", strict=True)).fault == "a valid model is refused"


def raising(error: Exception) -> Any:
    def run(*_: object, **__: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "fault"),
    [(KeyError("x"), "compile: KeyError"), (RecursionError(), "compile: RecursionError"), (InputError("no"), "")],
)
def test_exceptions(monkeypatch: pytest.MonkeyPatch, error: Exception, fault: str) -> None:
    monkeypatch.setattr(oracle, "import_model", raising(error))
    assert check(SUBJECT).fault == fault


def test_exceptions_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "run_guarded", raising(KeyError("at run")))
    assert check(SUBJECT).fault == "run: KeyError"
    monkeypatch.setattr(oracle, "run_guarded", raising(InputError("at run")))
    assert check(SUBJECT).fault == "a run is refused that onnxruntime makes (native)"
    monkeypatch.setattr(oracle, "_reference", raising(RuntimeError("refused")))
    assert check(SUBJECT).result == "the run is refused by both"


def test_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "MOST_MEMORY", -1)
    assert check(SUBJECT).fault == "compiling takes gigabytes"


def test_other_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "_reference", lambda path, feeds: {"y": feeds["x"]})
    assert check(SUBJECT).fault == "another result than onnxruntime's (native)"


def test_a_reference_that_contradicts_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    # Far from the result, so that the contradiction does not put that in doubt, too.
    monkeypatch.setattr(oracle, "_reference", lambda path, feeds: {"y": 10 + draw.random((5, 16), np.float32) / 100})
    assert check(SUBJECT).result == "onnxruntime contradicts itself"


def test_other_results_where_onnxruntime_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "_reference", raising(RuntimeError("refused")))
    assert check(SUBJECT).result == "accepted, onnxruntime refuses"
    monkeypatch.setattr(oracle, "evaluate_graph", lambda graph, feeds: {"y": feeds["x"]})
    assert check(SUBJECT).fault == "another result than by the operators' definitions"
    monkeypatch.setattr(oracle, "evaluate_graph", raising(IndexError()))
    assert check(SUBJECT).fault == "out of bounds by its definition"


def test_what_onnx_leaves_open_is_as_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model([node("Cast", ["x"], ["y"], to=6)], {"x": [3]}, ["y"])
    subject = Subject(proto.SerializeToString(), {"x": np.asarray([1e30, -1e30, np.nan], np.float32)})
    assert check(subject).result == "as defined, unlike onnxruntime"
    monkeypatch.setattr(oracle, "evaluate_graph", lambda graph, feeds: {"y": np.ones(3, np.int32)})
    assert check(subject).fault == "another result than by the operators' definitions"


@pytest.mark.parametrize(
    "proto",
    [
        model([node("MaxPool", ["x"], ["y"], kernel_shape=[1])], {"x": [1, 2, 3]}, ["y"]),
        model(
            [node("InstanceNormalization", ["x", "scale", "bias"], ["y"])],
            {"x": [1, 2, 3]},
            ["y"],
            {"scale": np.full(2, -np.inf, np.float32), "bias": np.ones(2, np.float32)},
        ),
        model([node("Celu", ["x"], ["y"], alpha=-0.0)], {"x": [1, 2, 3]}, ["y"]),
    ],
    ids=["a NaN in a window", "an infinite scale", "an attribute of -0"],
)
def test_of_extremes_the_definition_decides(proto: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.asarray([[[1, 2, 4], [3, 5, np.nan]]], np.float32)
    whole = -x if proto.graph.node[0].op_type == "Celu" else x[:, [0, 0]]
    subject = Subject(proto.SerializeToString(), {"x": x if proto.graph.node[0].op_type == "MaxPool" else whole})
    assert check(subject).result == "as defined, unlike onnxruntime"
    monkeypatch.setattr(oracle, "evaluate_graph", lambda graph, feeds: {"y": np.ones((1, 2, 3), np.float32)})
    assert check(subject).fault == "another result than by the operators' definitions"


def test_definitions_are_evaluated_in_float32() -> None:
    nodes = [node("Cast", ["x"], ["h"], to=10), node("Sum", ["h"] * 250, ["y"])]
    proto = model(nodes, {"x": [2]}, ["y"])
    proto.opset_import[0].domain = "ai.onnx.ml"  # which onnxruntime refuses
    subject = Subject(proto.SerializeToString(), {"x": np.asarray([99, 73], np.float32)})
    assert check(subject).result == "accepted, onnxruntime refuses"


def moved(program: Program, region: Region, offset: int) -> Program:
    """Each argument in `region` moved by so many bytes."""
    (step,) = program.steps
    slots = tuple(replace(s, offset=s.offset + offset) if s.region == region else s for s in step.arguments)
    return replace(program, steps=(replace(step, arguments=slots),))


def test_memory_that_is_not_the_models() -> None:
    program = compile_for_cpu(lower_model(import_model(PROTO)), host_target())
    np.testing.assert_allclose(run_guarded(program, X)["y"], X["x"] * random((5, 16), 1), rtol=1e-6)
    for offset in (64, -64):
        with pytest.raises(OutOfBounds, match="y depends on memory"):
            run_guarded(moved(program, Region.WEIGHTS, offset), X)
    with pytest.raises(OutOfBounds, match="writes outside of the arena"):
        run_guarded(moved(program, Region.ARENA, program.arena - 64), X)


def test_files_outside_of_the_folder_are_found() -> None:
    secret = np.full(16, 777.125, np.float32)
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [16]}, ["y"], {"w": secret})
    subject = Subject(proto.SerializeToString(), {"x": random((16,))})
    assert "outside of the model's folder" in check(subject).fault
    assert "outside of the model's folder" in check(replace(subject, target="bundle")).fault


def results(**arrays: Any) -> dict[str, Any]:
    return {n: np.asarray(a, np.float32) for n, a in arrays.items()}


@pytest.mark.parametrize(
    ("got", "want", "agrees"),
    [
        ([1, 2], [1, 2.0001], True),
        ([1, 2], [1, 2.01], False),
        ([np.nan, np.inf], [np.nan, np.inf], True),
        ([np.nan, 1], [0, 1], False),
        ([np.inf, 1], [-np.inf, 1], False),
        ([1, 2], [[1, 2]], False),
    ],
)
def test_agreement(got: object, want: object, agrees: bool) -> None:
    why = disagreement(results(y=got), results(y=want), lambda _: results(y=want))
    assert (why == "") == agrees


def test_what_the_reference_doubts_may_differ() -> None:
    """A step at 0.5: the nudged reference falls to the other side."""
    step = results(y=[1.0, 1.0])
    assert disagreement(results(y=[0.0, 1.0]), step, lambda _: results(y=[0.0, 1.0])) == ""
    assert disagreement(results(y=[1.0, 0.0]), step, lambda _: results(y=[0.0, 1.0])) != ""


def page(*parts: Part) -> PageCase:
    return PageCase("chromium", "wasm", False, parts, "model.dispose()")


def fault_of(drawn: PageCase, load: dict[str, Any], *answers: dict[str, Any]) -> str:
    found = judge(drawn, [load, *answers])
    return "" if found is None else found[0]


def error(name: str, code: str | None = None, message: str = "a plain message", typed: bool = True) -> dict[str, Any]:
    return {"name": name, "code": code, "message": message, "typed": typed}


MISSING = Part("fault", ("weights-*.bin", "missing"))


@pytest.mark.parametrize(
    ("parts", "load", "fault"),
    [
        ((MISSING,), error("DownloadError", "http"), ""),
        ((MISSING,), error("DownloadError", "unheard of"), "gives a DownloadError with the code unheard of"),
        ((MISSING,), error("DownloadError", "http", typed=False), "gives a DownloadError with the code http"),
        ((MISSING,), error("TypeError"), "gives a TypeError"),
        ((MISSING,), error("never"), "never settles"),
        ((), error("DownloadError", "http"), "fails without a reason: DownloadError"),
        ((Part("option", ("threads: 0",), "wrong"),), error("RangeError"), ""),
        ((Part("option", ("threads: 0",), "wrong"),), {"other": "object"}, "takes an option that is wrong"),
        (
            (Part("option", ("threads: 0",), "wrong"),),
            error("TypeError", message="x.threads is not a function"),
            "gives a TypeError without a plain message: x.threads is not a function",
        ),
    ],
)
def test_answers_of_load(parts: tuple[Part, ...], load: dict[str, Any], fault: str) -> None:
    assert fault_of(page(*parts), load) == (f"chromium: load {fault}" if fault else "")


def test_answers_of_calls() -> None:
    loaded = {"other": "object", "backend": "wasm"}
    wrong = Part("call", ("model.run(1)",), "wrong")
    right = Part("call", ("model.run(x)",), "right")
    assert fault_of(page(wrong), loaded, error("TypeError")) == ""
    assert fault_of(page(wrong), loaded, error("never")) == "chromium: a call never settles"
    assert fault_of(page(right), loaded, error("TypeError")) == "chromium: a call is refused: TypeError"
    assert fault_of(page(right), loaded, {"output": [0.0] * 1024}) == "chromium: a call gives wrong results"
