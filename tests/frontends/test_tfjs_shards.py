"""Weights of TensorFlow.js models: element types, quantised ones, shards, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from webnn_compile.errors import InputError
from webnn_compile.frontends.tfjs.read_shards import read_json, read_weights

RNG = np.random.default_rng(3)


def spec(name: str, shape: tuple[int, ...], dtype: str = "float32", **more: Any) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "dtype": dtype, **more}


def save(folder: Path, groups: list[Any]) -> Path:
    path = folder / "model.json"
    path.write_text(json.dumps({"format": "layers-model", "weightsManifest": groups}))
    return path


def weights(path: Path) -> dict[str, np.ndarray]:
    return read_weights(read_json(path))


def test_element_types_across_shards(tmp_path: Path) -> None:
    """The end of a shard may lie within an element."""
    real = RNG.normal(size=(3, 5)).astype("<f4")
    whole = RNG.integers(-(2**31), 2**31, (2, 2)).astype("<i4")
    flags = np.asarray([True, False, True])
    texts = [b"", b"caf\xc3\xa9", b"\0" * 300]
    written = b"".join(len(t).to_bytes(4, "little") + t for t in texts)
    data = real.tobytes() + flags.tobytes() + whole.tobytes() + written
    for i, part in enumerate((data[:7], data[7:62], data[62:])):
        (tmp_path / f"shard{i}").write_bytes(part)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "scalar.bin").write_bytes(np.float32(2.5).tobytes())
    specs = [spec("r", (3, 5)), spec("b", (3,), "bool"), spec("i", (2, 2), "int32"), spec("t", (3, 1), "string")]
    paths = ["shard0", "shard1", "shard2"]
    groups = [{"paths": paths, "weights": specs}, {"paths": ["sub/scalar.bin"], "weights": [spec("s", ())]}]
    found = weights(save(tmp_path, groups))
    assert list(found) == ["r", "b", "i", "t", "s"]
    for name, want in {"r": real, "b": flags, "i": whole, "s": np.float32(2.5)}.items():
        np.testing.assert_array_equal(found[name], want)
        assert found[name].dtype == np.asarray(want).dtype
    assert found["t"].reshape(-1).tolist() == texts
    assert found["t"].shape == (3, 1)


@pytest.mark.parametrize("stored", ["uint8", "uint16", "float16"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_quantised_weights(stored: str, dtype: str, tmp_path: Path) -> None:
    if stored == "float16":
        data = RNG.normal(size=(4, 6)).astype("<f2")
        expected, options = data.astype(dtype), {}
    else:
        data = RNG.integers(0, np.iinfo(stored).max + 1, (4, 6)).astype(stored)
        options = {"scale": 0.0371, "min": -3.5}
        real = data * 0.0371 - 3.5
        expected = real.astype(np.float32) if dtype == "float32" else np.floor(real + 0.5).astype(np.int32)
    (tmp_path / "w").write_bytes(data.tobytes())
    entry = spec("w", (4, 6), dtype, quantization={"dtype": stored, **options})
    found = weights(save(tmp_path, [{"paths": ["w"], "weights": [entry]}]))["w"]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("paths", "weight", "message"),
    [
        (["a", "none"], spec("w", (3,)), r"its shard .*none is missing; put it beside the model"),
        (["a"], spec("w", (3,)), r"the shards a have 8 bytes together, and the weight 'w' ends at 12 of them; save"),
        (["a"], spec("w", (1,)), r"the shards a have 8 bytes together, and its weights take 4; save"),
        (["a"], spec("w", (2**31,)), "the weight 'w' of shape .* has 2147483648 elements"),
        (["a"], spec("w", (1, -2)), r"weightsManifest is not one .*: the weight 'w' has the shape \[1, -2\]"),
        (["a"], spec("w", (2,), "float8"), "weightsManifest is not one of TensorFlow.js .*'float8'"),
        (["a"], spec("w", (2,), "string"), "the weight 'w' ends at .* of them"),
        (["a"], spec("w", (8,), quantization={"dtype": "uint8", "scale": 1e300}), "has values that float32 lacks"),
        (["a"], spec("w", (8,), "bool", quantization={"dtype": "uint8"}), "a quantised weight is of type bool"),
        (["a", 1], spec("w", (2,)), "the paths of a group are no list of names"),
        (["a", "./a"], spec("w", (4,)), r"the shard '\./a' stands in it twice"),
        (["../a"], spec("w", (2,)), r"its weightsManifest refers to the file '\.\./a', which is not within"),
        (["/etc/passwd"], spec("w", (2,)), "refers to the file '/etc/passwd', which is not within"),
        (["C:\\a"], spec("w", (2,)), "which is not within the model's folder"),
        (["link"], spec("w", (2,)), "a link to .*secret, which is not within the model's folder; this is refused"),
        ([""], spec("w", (2,)), "which is not within the model's folder"),
        (["folder"], spec("w", (2,)), "it is a folder, a pipe or a device; put the file itself there"),
    ],
)
def test_what_is_refused(paths: list[Any], weight: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "folder").mkdir(parents=True)
    (folder / "a").write_bytes(b"\1\0\0\0\2\0\0\0")
    for outside in ("a", "secret"):
        (tmp_path / outside).write_bytes(bytes(8))
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match=rf"^model\.json\b.*{message}"):
        weights(save(folder, [{"paths": paths, "weights": [weight]}]))


def test_bytes_have_no_shards_beside_them(tmp_path: Path) -> None:
    data = save(tmp_path, [{"paths": ["a"], "weights": []}]).read_bytes()
    with pytest.raises(InputError, match="keeps the data of its weightsManifest in the file 'a'; give the path"):
        read_weights(read_json(data))


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a": ', b"\xff\xfe{}", b"[1]", b""])
def test_what_is_no_json_object(data: bytes) -> None:
    with pytest.raises(InputError, match=r"is truncated or damaged|is JSON of no object|is empty"):
        read_json(data)
