"""Refusals of files that are no model, or no valid one: the message says what the file is and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import model, node, random
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model

NO_ONNX = (
    r"is not an ONNX model; export the model to ONNX, with torch\.onnx\.export\(model, inputs, 'model\.onnx'\) in "
    r"PyTorch, or give the folder of a SavedModel of TensorFlow$"
)


def relu() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"], "relu")], {"x": [2]}, ["y"])


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.onnx: there is no such file; check the path"):
        import_model(tmp_path / "nothing.onnx")


def test_a_mistyped_name(tmp_path: Path) -> None:
    (tmp_path / "network.onnx").touch()
    with pytest.raises(InputError, match=r"netwrok\.onnx: there is no such file; .*; did you mean network\.onnx\?$"):
        import_model(tmp_path / "netwrok.onnx")


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; give the path of an ONNX file"):
        import_model(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "closed.onnx"
    path.write_bytes(relu().SerializeToString())
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied; check its permissions"):
        import_model(path)


def test_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "none.onnx"
    path.touch()
    with pytest.raises(InputError, match=r"none\.onnx is empty; export or download the model again"):
        import_model(path)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04 rest", "but a zip archive"),
        (b"\x1c\0\0\0ORTM rest", "but a model in onnxruntime's own format"),
        (b"\n <!DOCTYPE html><html></html>", "but a text file, perhaps a web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "but a Git LFS pointer"),
        (b"just some words", NO_ONNX),
        (bytes(100), NO_ONNX),
    ],
)
def test_other_formats(data: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        import_model(data)


def test_truncated_at_every_place() -> None:
    weights = random((8, 8))
    data = model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 8]}, ["y"], {"w": weights}).SerializeToString()
    import_model(data)
    for length in range(1, len(data)):
        with pytest.raises(InputError):
            import_model(data[:length])
    with pytest.raises(InputError, match=rf"truncated or damaged.* its {len(data) // 2} bytes"):
        import_model(data[: len(data) // 2])


def test_cycle_names_its_nodes() -> None:
    nodes = [node("Relu", ["x"], ["r"], "first"), node("Add", ["r", "c"], ["b"], "add")]
    nodes += [node("Neg", ["b"], ["c"]), node("Abs", ["b"], ["y"], "last")]
    with pytest.raises(
        InputError, match=r"is not a valid ONNX model: its nodes form a cycle: (Neg that makes 'c'|add) -> "
    ):
        import_model(model(nodes, {"x": [2]}, ["y"]))


def test_node_that_reads_itself() -> None:
    with pytest.raises(InputError, match="form a cycle: add -> add; export it again"):
        import_model(model([node("Add", ["x", "y"], ["y"], "add")], {"x": [2]}, ["y"]))


def test_value_made_twice() -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])]
    with pytest.raises(InputError, match=r"not a valid ONNX model: .*single static assignment"):
        import_model(model(nodes, {"x": [2]}, ["y"]))


@pytest.mark.parametrize("opset", [6, 17])
def test_output_that_nothing_makes(opset: int) -> None:
    with pytest.raises(
        InputError,
        match="not a valid ONNX model: Graph output 'z' is not an output of any node in graph; export it again",
    ):
        import_model(model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["z"], opset=opset))


def test_parameters_of_another_type_after_a_branch() -> None:
    """The shapes that ONNX's check needs are known once the branch is taken."""
    text = """
      <ir_version: 10, opset_import: ["" : 18]>
      random (float[1, 1, 1] x) => (y) <float[1] s = {0.5}, double[1] b = {0.5}, bool c = {1}> {
        t = Concat <axis = 1> (x, x)
        v = If (c) <then_branch = one () => (float[k, l, m] p) { p = Sub (x, x) },
                    else_branch = other () => (float[k, l, m] q) { q = Sub (t, t) }>
        y = InstanceNormalization (v, s, b)
      }"""
    with pytest.raises(InputError, match=r"InstanceNormalization \(node .*\): B has inconsistent type"):
        import_model(onnx.parser.parse_model(text))


def test_no_outputs() -> None:
    with pytest.raises(InputError, match="has no outputs, so it computes nothing"):
        import_model(model([node("Relu", ["x"], ["y"])], {"x": [2]}, []))


def test_unknown_attribute() -> None:
    with pytest.raises(InputError, match="Unrecognized attribute: speed for operator Relu"):
        import_model(model([node("Relu", ["x"], ["y"], speed=3)], {"x": [2]}, ["y"]))


def test_two_weights_of_one_name() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [2]}, ["y"], {"w": random((2,))})
    proto.graph.initializer.append(proto.graph.initializer[0])
    with pytest.raises(InputError, match="two initialisers named 'w'"):
        import_model(proto)


def test_weight_with_too_few_bytes() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [300]}, ["y"], {"w": random((300,))})
    proto.graph.initializer[0].raw_data = b"1234"
    with pytest.raises(InputError, match=r"tensor 'w' of shape \[300\] is damaged .*export the model again"):
        import_model(proto)


def test_shapes_that_do_not_fit() -> None:
    proto = model([node("Add", ["a", "b"], ["y"], "sum")], {"a": [2, 3], "b": ["n", 4]}, ["y"])
    with pytest.raises(
        InputError, match=r"do not fit together: .*op_type:Add, node name: sum.* the inputs are a \[2, 3\], b \[2, 4\]"
    ):
        import_model(proto, ModelInputs({"b": (2, 4)}))


def test_only_the_first_misfit_is_shown_and_no_weights() -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"], "wrong"), *(node("Relu", ["m"], [f"r{i}"], f"r{i}") for i in range(9))]
    nodes += [node("Sum", [f"r{i}" for i in range(9)], ["y"], "sum")]
    with pytest.raises(InputError) as caught:
        import_model(model(nodes, {"x": [2, 3]}, ["y"], {"w": random((20, 20))}))
    assert "node name: wrong" in str(caught.value)
    assert "name: sum" not in str(caught.value)
    assert "the inputs are x [2, 3]: check them" in str(caught.value)


def test_dtypes_that_do_not_fit() -> None:
    nodes = [node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("Add", ["x", "i"], ["y"], "sum")]
    with pytest.raises(InputError, match=r"dtypes or shapes do not fit together: .*node name: sum.*tensor\(int64\)"):
        import_model(model(nodes, {"x": [2]}, ["y"]))


def test_no_opset() -> None:
    proto = relu()
    del proto.opset_import[:]
    with pytest.raises(InputError, match="does not say which ONNX opset it uses"):
        import_model(proto)


def test_only_operators_of_another_domain() -> None:
    proto = model([node("Novel", ["x"], ["y"], domain="com.example")], {"x": [1, 2]}, ["y"])
    proto.opset_import[0].CopyFrom(helper.make_opsetid("com.example", 1))
    with pytest.raises(UnsupportedError, match=r"com\.example\.Novel: 1 node 'y'"):
        import_model(proto)


def test_opset_too_old() -> None:
    """The operator is one that ONNX's converter lacks."""
    with pytest.raises(UnsupportedError, match=r"uses ONNX opset 5, and 7 is the oldest .*: export it again, with a n"):
        import_model(model([node("ATen", ["x"], ["y"])], {"x": [2]}, ["y"], opset=5))
    with pytest.raises(InputError, match=r"uses ONNX opset 0, which does not exist; export it again"):
        import_model(model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], opset=0))


def test_opset_too_new() -> None:
    newest = onnx.defs.onnx_opset_version()
    with pytest.raises(
        UnsupportedError, match=rf"uses ONNX opset 1000, and onnx .* supports {newest} at most; upgrade"
    ):
        import_model(model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], opset=1000))


def test_the_given_model_is_not_changed() -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": ["n", 20]}, ["y"], {"w": random((20, 20))})
    before = proto.SerializeToString(deterministic=True)
    import_model(proto, ModelInputs({"x": (1, 20)}))
    assert proto.SerializeToString(deterministic=True) == before


def test_every_error_exits_with_2() -> None:
    with pytest.raises(InputError) as caught:
        import_model(b"")
    assert caught.value.exit_code == 2
    assert UnsupportedError.exit_code == 2


def test_bytes_path_and_message_give_the_same_graph(tmp_path: Path) -> None:
    proto = relu()
    path = tmp_path / "relu.onnx"
    path.write_bytes(proto.SerializeToString())
    for given in (proto, path, str(path), path.read_bytes()):
        graph = import_model(given)
        assert [(n.op, n.name) for n in graph.nodes] == [("Relu", "relu")]
        assert [repr(v) for v in (*graph.inputs, *graph.outputs)] == ["x: float32[2]", "y: float32[2]"]


def test_float64_is_kept() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], dtype=TensorProto.DOUBLE)
    assert [v.dtype.name for v in import_model(proto).outputs] == ["float64"]
    assert helper.tensor_dtype_to_np_dtype(TensorProto.DOUBLE) == np.float64


def test_function_that_calls_itself() -> None:
    call = [node("F", ["a"], ["b"], domain="my")]
    function = helper.make_function("my", "F", ["a"], ["b"], call, [helper.make_opsetid("my", 1)])
    proto = model(
        [node("F", ["x"], ["y"], domain="my")],
        {"x": [3]},
        ["y"],
        functions=[function],
        imports=[helper.make_opsetid("my", 1)],
    )
    with pytest.raises(InputError, match="not a valid ONNX model: Cycle detected in model-local function"):
        import_model(proto)


def test_damaged_models_are_imported_or_refused_but_never_break_the_importer() -> None:
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"], "relu")]
    nodes += [node("Shape", ["r"], ["s"]), node("Reshape", ["r", "s"], ["t"]), node("Flatten", ["t"], ["f"])]
    nodes += [node("Gemm", ["f", "g"], ["y"], transB=1)]
    weights = {"w": random((4, 2, 3, 3)), "g": random((3, 64))}
    data = model(nodes, {"x": [1, 2, 4, 4]}, ["y"], weights).SerializeToString()
    generator = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        for place in generator.integers(len(data), size=2):
            damaged[place] = generator.integers(256)
        try:
            import_model(bytes(damaged))
        except (InputError, UnsupportedError):
            refused += 1
    assert refused > 30
