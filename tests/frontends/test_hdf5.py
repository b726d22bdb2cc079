"""HDF5 files are read as their own library reads them, and damaged ones are refused."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from webnn_compile.frontends.hdf5 import Node, Unsupported, open_hdf5

h5py = pytest.importorskip("h5py", reason="h5py is not installed, which writes the files: pip install h5py")

RNG = np.random.default_rng(8)


def written(write: Callable[[Any], None], **options: Any) -> bytes:
    data = io.BytesIO()
    with h5py.File(data, "w", **options) as file:
        write(file)
    return data.getvalue()


def everything(file: Any) -> None:
    """Groups of many entries, so that their trees have levels; texts of both kinds; each kind of dataset."""
    texts = np.asarray(["kernel", "", "bias:0", "é"], h5py.string_dtype())
    file.attrs["variable"], file.attrs["fixed"] = texts, [b"kernel", b"of/another/length"]
    file.attrs["scalar"], file.attrs["bytes"], file.attrs["long"] = "text", b"bytes", "0123456789" * 5000
    for i in range(700):
        file[f"many/group_{i % 20}/value{i}"] = np.float32(i)
    for dtype in ("f2", "f4", "f8", ">f4", "i1", "u1", ">i2", "u4", "i8", "?"):
        file[f"types/{dtype}"] = (RNG.normal(size=(3, 5)) * 50).astype(dtype)
    data = (RNG.normal(size=(13, 7, 3)) * 9).round().astype("f4")
    for i, (shuffle, level, checksum) in enumerate(itertools.product((False, True), (None, 6), (False, True))):
        options = {"compression": level and "gzip", "compression_opts": level}
        file.create_dataset(f"chunks/{i}", data=data, chunks=(4, 7, 2), shuffle=shuffle, fletcher32=checksum, **options)
    file["chunks/many"] = data
    file.create_dataset("chunks/2000", data=np.arange(4000, dtype="i4"), chunks=(2,))
    file["empty"] = np.zeros((0, 4), "f4")
    file["again"] = file["many"]  # two names of one group
    file["in"] = h5py.SoftLink("/many")
    file["out"] = h5py.ExternalLink("other.h5", "/many")


def agrees(node: Node, expected: Any) -> int:
    """How many datasets are below."""
    hard = [name for name in expected if isinstance(expected.get(name, getlink=True), h5py.HardLink)]
    assert sorted(node.names) == sorted(hard)
    assert sorted(node.attributes) == sorted(expected.attrs)
    for name, value in expected.attrs.items():
        texts = [t.decode() if isinstance(t, bytes) else t for t in np.asarray(value).reshape(-1).tolist()]
        assert node.texts(name) == texts
    count = 0
    for name in hard:
        found = node.child(name)
        assert found is not None
        assert found.is_dataset == isinstance(expected[name], h5py.Dataset)
        if not found.is_dataset:
            count += agrees(found, expected[name])
            continue
        want = expected[name][()]
        np.testing.assert_array_equal(found.elements, want)
        assert found.elements.dtype == want.dtype.newbyteorder("=")
        count += 1
    return count


def test_as_the_library_reads() -> None:
    data = written(everything)
    assert agrees(open_hdf5(data), h5py.File(io.BytesIO(data))) == 700 + 700 + 10 + 10 + 1
    assert open_hdf5(data).child("in") is open_hdf5(data).child("out") is None
    root = open_hdf5(data)
    assert root.child("again") is root.child("many")


@pytest.mark.parametrize("version", ["v108", "v110", "latest"])
def test_headers_of_version_2(version: str) -> None:
    """Links are messages there, and blocks of a header are continued."""

    def write(file: Any) -> None:
        for i in range(6):
            file[f"group/{'x' * 200}{i}"] = np.arange(i + 2, dtype="f4")
            file["group"].attrs[f"name{i}"] = "text" * 40

    data = written(write, libver=(version, version) if version != "latest" else "latest")
    assert agrees(open_hdf5(data), h5py.File(io.BytesIO(data))) == 6


def test_bfloat16() -> None:
    """As h5py writes elements of the package ml_dtypes, and as HDF5 has them."""
    real = RNG.normal(size=(4, 3)).astype("f4")
    words = (real.view(np.uint32) >> 16).astype(np.uint16)
    expected = (words.astype(np.uint32) << 16).view(np.float32)

    def write(file: Any) -> None:
        file.create_dataset("opaque", data=words.view("V2"))
        kind = h5py.h5t.IEEE_F32LE.copy()
        kind.set_fields(15, 7, 8, 0, 7)
        kind.set_size(2)
        h5py.h5d.create(file.id, b"real", kind, h5py.h5s.create_simple((4, 3))).write(
            h5py.h5s.ALL, h5py.h5s.ALL, words, mtype=kind
        )

    root = open_hdf5(written(write))
    for name in ("opaque", "real"):
        node = root.child(name)
        assert node is not None
        np.testing.assert_array_equal(node.elements, expected)


def many_links(file: Any) -> None:
    for i in range(20):
        file.create_group(f"group{i}")


def record(file: Any) -> None:
    file["data"] = np.zeros(3, [("a", "f4"), ("b", "i4")])


def chunk_index(file: Any) -> None:
    file.create_dataset("data", data=np.zeros((8, 8), "f4"), chunks=(4, 4))


def other_filter(file: Any) -> None:
    file.create_dataset("data", data=np.zeros((8, 8), "f4"), chunks=(4, 4), compression="lzf")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (many_links, "a group of many links in a fractal heap"),
        (record, "elements of class 6, of 8 bytes each"),
        (chunk_index, "chunks with an index other than a B-tree"),
        (other_filter, "chunks by the filter number 32000"),
    ],
)
def test_what_is_not_supported(write: Callable[[Any], None], message: str) -> None:
    root = open_hdf5(written(write, libver="latest" if write in (many_links, chunk_index) else None))
    with pytest.raises(Unsupported, match=message):
        _ = root.child("data").elements  # type: ignore[union-attr]


def test_structures_that_overlap_are_refused() -> None:
    """Entries of a tree that are all the same table of many symbols."""
    data = bytearray(written(lambda file: file.update({f"value{i}": i for i in range(9)})))
    at, leaf = data.index(b"TREE"), data.index(b"SNOD")
    count = 2000
    node = data[at : at + 24] + struct.pack("<QQ", 0, leaf) * count + bytes(8)
    node[6:8] = struct.pack("<H", count)
    data += bytes(-len(data) % 8)
    place = len(data)
    data += node
    for found in (i for i in range(64, place - 7) if data[i : i + 8] == struct.pack("<Q", at)):
        data[found : found + 8] = struct.pack("<Q", place)
    root = open_hdf5(bytes(data))
    with pytest.raises(ValueError, match="its structures overlap"):
        _ = root.names


def test_a_tree_with_a_cycle_ends() -> None:
    """The node of the only tree is made a node above itself."""
    data = bytearray(written(lambda file: file.update({"value": 1})))
    at = data.index(b"TREE")
    data[at + 5] = 1
    data[at + 32 : at + 40] = struct.pack("<Q", at)
    root = open_hdf5(bytes(data))
    with pytest.raises(ValueError, match=rf"the tree node at byte {at} is not one of its tree"):
        _ = root.names


@pytest.mark.parametrize("length", [0, 7, 12, 60, 500])
def test_a_file_that_ends_early(length: int) -> None:
    with pytest.raises(ValueError, match=r"it ends before byte|is no HDF5 file"):
        _ = open_hdf5(written(everything)[:length]).names
