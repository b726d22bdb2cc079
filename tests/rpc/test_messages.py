"""Messages, their frames and their arrays: what is sent arrives, and what is no message is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from webnn_compile.rpc.arrays import DTYPES, pack_arrays, unpack_arrays
from webnn_compile.rpc.messages import (
    LARGEST_HEADER,
    MOST_OPEN,
    Assembler,
    Message,
    ProtocolError,
    encode,
    join_frame,
)

HEADERS = st.dictionaries(
    st.text(max_size=5).filter(lambda k: k not in ("at", "bytes", "id")), st.text() | st.integers()
)


@given(st.lists(st.tuples(HEADERS, st.binary(max_size=60)), min_size=1, max_size=5), st.data())
def test_messages_of_interleaved_frames_arrive(
    messages: list[tuple[dict[str, object], bytes]], data: st.DataObject
) -> None:
    sent = [Message({**header, "id": i}, payload) for i, (header, payload) in enumerate(messages)]
    waiting = [list(encode(m, chunk=7)) for m in sent]
    assembler, got = Assembler(), {}
    while any(waiting):
        frames = data.draw(st.sampled_from([w for w in waiting if w]))
        if (made := assembler.feed(frames.pop(0))) is not None:
            got[made.header["id"]] = made
    for m in sent:
        received = got[m.header["id"]]
        assert bytes(received.payload) == m.payload
        assert {k: v for k, v in received.header.items() if k != "bytes"} == m.header


def frame(header: object, payload: bytes = b"") -> bytes:
    return text(json.dumps(header), payload)


def text(header: str, payload: bytes = b"") -> bytes:
    data = header.encode()
    return len(data).to_bytes(4, "little") + data + payload


LATER = join_frame({"id": 1, "bytes": 10}, b"12345")


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        (["text"], "a text message"),
        ([b""], "a frame of 0 bytes"),
        ([b"\xff\xff\xff\xff{}"], "a header of 4294967295 bytes in a frame of 6"),
        ([(LARGEST_HEADER + 1).to_bytes(4, "little") + bytes(LARGEST_HEADER + 1)], "a header of"),
        ([b"\x02\0\0\0{]"], "no JSON: JSONDecodeError"),
        ([text('{"id": NaN}')], "no JSON: ValueError"),
        ([text('{"id": [-Infinity]}')], "no JSON: ValueError"),
        ([text('{"id": 1e400}')], "no JSON: ValueError"),
        ([text('{"id": "\\ud800"}')], "no JSON: UnicodeEncodeError"),
        ([b"\x02\0\0\0\xff\xff"], "no JSON: UnicodeDecodeError"),
        ([(40_000).to_bytes(4, "little") + b"[" * 40_000], "no JSON: RecursionError"),
        ([frame([1])], "no JSON object"),
        ([frame({"id": 1, "bytes": 2**31})], "a message of 2147483648 bytes"),
        ([frame({"id": 1, "bytes": -1})], "a message of -1 bytes"),
        ([frame({"id": 1, "bytes": True})], "a message of True bytes"),
        ([frame({"id": 1, "bytes": 1}, b"12")], "2 bytes of a message of 1"),
        ([frame({"id": [], "bytes": 9}, b"12")], "a message with the id \\[\\]"),
        ([frame({"id": 7, "at": 5}, b"1")], "a piece of message 7, which has not begun"),
        ([LATER, frame({"id": 1, "at": 4}, b"1")], "a piece at 4 of message 1, which has 5 of 10 bytes"),
        ([LATER, frame({"id": 1, "at": 5}, b"")], "a piece at 5"),
        ([LATER, frame({"id": 1, "at": 5}, b"123456")], "a piece at 5"),
        ([LATER, LATER], "message 1 is there already"),
        ([frame({"id": i, "bytes": 9}, b"1") for i in range(MOST_OPEN + 1)], "16 others are incomplete"),
    ],
)
def test_what_is_no_message_is_refused(frames: list[object], reason: str) -> None:
    assembler = Assembler()
    for f in frames[:-1]:
        assert assembler.feed(f) is None
    with pytest.raises(ProtocolError, match=reason):
        assembler.feed(frames[-1])


def test_text_of_all_planes_arrives() -> None:
    for header in ('{"s": "\\ud83d\\ude00"}', '{"s": "\U0001f600"}'):
        message = Assembler().feed(text(header))
        assert message is not None
        assert message.header == {"s": "\U0001f600"}


def test_an_error_stands_for_the_rest_of_its_message() -> None:
    assembler = Assembler()
    for _ in range(MOST_OPEN + 1):
        assert assembler.feed(LATER) is None
        assert assembler.feed(frame({"id": 1, "error": {}})) is not None
    with pytest.raises(ProtocolError, match="has not begun"):
        assembler.feed(frame({"id": 1, "at": 5}, b"1"))


def test_a_message_takes_no_memory_before_it_arrives() -> None:
    assembler = Assembler()
    assert assembler.feed(frame({"id": 1, "bytes": 2**30}, b"1")) is None
    assert [len(data) for _, data in assembler._incomplete] == [1]


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_arrays_of_each_dtype(dtype: str) -> None:
    arrays = {
        "scalar": np.asarray(1, dtype),
        "empty": np.zeros((0, 3), dtype),
        "strided": np.arange(24).astype(dtype).reshape(4, 6)[::2, ::3],
        "big endian": np.arange(3).astype(np.dtype(dtype).newbyteorder(">")),
    }
    specs, payload = pack_arrays(arrays)
    got = unpack_arrays(Message({"arrays": json.loads(json.dumps(specs))}, payload))
    assert list(got) == list(arrays)
    for name, array in arrays.items():
        assert got[name].dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got[name], array)
        assert got[name].flags.writeable


def test_arrays_that_no_model_takes() -> None:
    with pytest.raises(TypeError, match="input 'x' is of complex64"):
        pack_arrays({"x": np.zeros(1, np.complex64)})


SPEC = {"name": "x", "dtype": "float32", "shape": [2]}


@pytest.mark.parametrize(
    ("specs", "payload", "reason"),
    [
        (None, b"", "without arrays"),
        ([SPEC], b"1234567", "7 bytes where an array has 8"),
        ([SPEC], b"123456789", "1 bytes more"),
        ([{**SPEC, "dtype": "object"}], bytes(16), "no array is described"),
        ([{**SPEC, "shape": [-2]}], bytes(8), "no array has the shape"),
        ([{**SPEC, "shape": ["2"]}], bytes(8), "no array has the shape"),
        ([[]], b"", "no array is described"),
    ],
)
def test_arrays_that_contradict_their_bytes(specs: object, payload: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        unpack_arrays(Message({"arrays": specs}, payload))
