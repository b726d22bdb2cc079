"""Resources of a model on a device are freed when it is closed, and after its last reference."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel


def network() -> onnx.ModelProto:
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["y"])]
    return model(nodes, {"x": (1, 8, 9, 9)}, ["y"], {"w": random((8, 8, 3, 3))})


def compiled(target: str) -> DeviceModel:
    need_driver(target)
    made = webnn_compile.compile(network(), target=target)
    assert isinstance(made, DeviceModel)
    return made


def exists(kind: str, name: int) -> bool:
    """Whether the context has a "Texture", "Framebuffer" or "Program" of this name."""
    from webnn_compile.glsl.gles import context

    return bool(getattr(context(), f"glIs{kind}")(name) & 0xFF)  # a GLboolean: the other bits mean nothing


FEEDS = {"x": random((1, 8, 9, 9), 1)}


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_a_closed_model_does_not_run_and_others_do(target: str) -> None:
    made, other = compiled(target), compiled(target)
    expected = made.run(FEEDS)["y"]
    made.close()
    made.close()
    with pytest.raises(InputError, match=f"{target}: the model is closed; compile it again"):
        made.run(FEEDS)
    np.testing.assert_array_equal(other.run(FEEDS)["y"], expected)
    np.testing.assert_array_equal(compiled(target).run(FEEDS)["y"], expected)


def test_a_model_runs_on_while_others_are_given_up() -> None:
    """Resources are deleted when the next model is made: the last reference may go in the middle of a launch."""
    made, other = compiled("webgl"), compiled("webgl")
    from webnn_compile.glsl.device import GlesDevice

    expected = other.run(FEEDS)["y"]
    programs = list(other._device._objects.programs)  # type: ignore[attr-defined]
    del other
    gc.collect()
    assert programs
    assert all(exists("Program", name) for name in programs)
    np.testing.assert_array_equal(made.run(FEEDS)["y"], expected)
    GlesDevice(())
    assert not any(exists("Program", name) for name in programs)


@pytest.mark.parametrize("closed", [True, False])
def test_nothing_is_left_in_the_context_of_opengl(closed: bool) -> None:
    made = compiled("webgl")
    from webnn_compile.glsl.gles import context

    made.run(FEEDS)
    objects = made._device._objects  # type: ignore[attr-defined]
    held = {
        "Texture": [t for t in objects.textures if t],
        "Framebuffer": list(objects.framebuffers),
        "Program": list(objects.programs),
    }
    assert all(held.values())
    assert all(exists(kind, name) for kind, names in held.items() for name in names)
    if closed:
        made.close()
    else:
        del made
        gc.collect()
        context().delete_discarded()
    assert not any(exists(kind, name) for kind, names in held.items() for name in names)


def test_models_of_both_targets_take_turns() -> None:
    """Other users of EGL leave no context, and calls of OpenGL without one do nothing and report nothing."""
    webgl, webgpu = compiled("webgl"), compiled("webgpu")
    expected = webgl.run(FEEDS)["y"]
    for made in (webgpu, webgl, compiled("webgpu"), webgl):
        np.testing.assert_allclose(made.run(FEEDS)["y"], expected, atol=1e-4)


def test_the_context_of_opengl_belongs_to_one_thread() -> None:
    made = compiled("webgl")
    made.run(FEEDS)
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="run all of its models in one thread"):
        pool.submit(made.run, FEEDS).result()
    made.run(FEEDS)
