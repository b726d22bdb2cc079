"""The served model is compiled once for what matters, and again when its file changes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from webnn_compile.rpc.serving import Compiled, ServedModel

MADE: list[tuple[str, tuple[str, ...]]] = []


def make(path: Path, backend: str, features: Sequence[str]) -> Compiled:
    MADE.append((backend, tuple(features)))
    return SimpleNamespace(fields={"text": path.read_text()}, contents={})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    MADE.clear()
    found = tmp_path / "net.onnx"
    found.write_text("1")
    return found


def test_features_that_do_not_matter_make_no_difference(path: Path) -> None:
    model = ServedModel(path, make, ("simd", "threads"))
    for features in (["threads", "simd"], ["simd", "0", "threads"], ["simd", "1", "threads"], ["0"], ["1"]):
        model.compiled("wasm", features)
    assert MADE == [("wasm", ("simd", "threads")), ("wasm", ())]


def test_a_change_is_seen_while_the_model_compiles(path: Path) -> None:
    """The result is of the old file, and is not kept."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(path: Path, backend: str, features: Sequence[str]) -> Compiled:
        made = make(path, backend, features)
        begun.set()
        assert go_on.wait(20)
        return made

    model = ServedModel(path, slowly)
    compiling = threading.Thread(target=model.compiled, args=("wasm", ()))
    compiling.start()
    assert begun.wait(20)
    path.write_text("22")
    seen: list[bool] = []
    looking = threading.Thread(target=lambda: seen.append(model.has_changed()))
    looking.start()
    looking.join(5)
    assert seen == [True]
    go_on.set()
    compiling.join(20)
    assert model.compiled("wasm", ()).fields == {"text": "22"}
    assert len(MADE) == 2


def test_a_file_that_is_missing_or_empty_has_not_changed(path: Path) -> None:
    model = ServedModel(path, make)
    path.write_text("")
    assert not model.has_changed()
    path.unlink()
    assert not model.has_changed()
    path.write_text("22")
    assert model.has_changed()
    assert not model.has_changed()
