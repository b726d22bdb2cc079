"""LEB128 and sections: round trips, the bytes of the specification, and malformed input."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from webnn_compile.errors import InternalError
from webnn_compile.wasm import binary
from webnn_compile.wasm.binary import Reader


@settings(derandomize=True)
@given(st.integers(0, 2**64 - 1))
def test_uleb_round_trip(value: int) -> None:
    encoded = binary.uleb(value)
    reader = Reader(encoded, "test")
    assert reader.uleb() == value
    assert reader.at_end
    assert len(encoded) == max(1, -(-value.bit_length() // 7))


@settings(derandomize=True)
@given(st.integers(-(2**63), 2**63 - 1))
def test_sleb_round_trip(value: int) -> None:
    encoded = binary.sleb(value)
    reader = Reader(encoded, "test")
    assert reader.sleb() == value
    assert reader.at_end
    # One bit more than the magnitude, for the sign.
    assert len(encoded) == (value if value >= 0 else ~value).bit_length() // 7 + 1


@pytest.mark.parametrize(
    ("value", "unsigned", "signed"),
    [
        (0, "00", "00"),
        (63, "3f", "3f"),
        (64, "40", "c000"),
        (127, "7f", "ff00"),
        (128, "8001", "8001"),
        (624485, "e58e26", "e58e26"),
    ],
)
def test_known_encodings(value: int, unsigned: str, signed: str) -> None:
    assert binary.uleb(value).hex() == unsigned
    assert binary.sleb(value).hex() == signed


def test_negative_encodings() -> None:
    assert binary.sleb(-1).hex() == "7f"
    assert binary.sleb(-123456).hex() == "c0bb78"
    assert binary.i32_const(0xFFFFFFFF).hex() == "417f0b"
    assert Reader(binary.i32_const(0x80000000), "test").i32_const() == -(2**31)


def test_padded_numbers_are_read() -> None:
    assert Reader(bytes.fromhex("8080808000"), "test").uleb() == 0
    assert Reader(bytes.fromhex("ffffffff7f"), "test").sleb() == -1


@pytest.mark.parametrize(
    ("data", "read", "message"),
    [
        (b"\x80\x80", Reader.uleb, "ends too early at byte 2 of 2"),
        (b"\x80" * 20, Reader.sleb, "an integer longer than 64 bits"),
        (b"\x05abc", Reader.name, "5 bytes expected"),
        (b"\x02\xff\xfe", Reader.name, "a name that is not UTF-8"),
        (b"\x42\x00\x0b", Reader.i32_const, "an initialiser other than i32.const"),
        (b"\x41\x00\x00", Reader.i32_const, "an initialiser other than i32.const"),
    ],
)
def test_malformed_input_is_named(data: bytes, read: object, message: str) -> None:
    assert callable(read)
    with pytest.raises(InternalError, match=f"^test: .*{message}"):
        read(Reader(data, "test"))


def test_sections_round_trip() -> None:
    body = binary.vector([binary.name("x")])
    custom = binary.name("note") + b"text"
    module = binary.MAGIC + binary.section(binary.TYPE, body) + binary.section(binary.CUSTOM, custom)
    found = [(s.number, s.title, s.body) for s in binary.sections(module, "test")]
    assert found == [(binary.TYPE, "", body), (binary.CUSTOM, "note", b"text")]


@pytest.mark.parametrize("data", [b"", b"\0asm", b"\x7fELF\x01\0\0\0", b"<html>\n<body>"])
def test_what_is_no_module_is_refused(data: bytes) -> None:
    with pytest.raises(InternalError, match="no WebAssembly header"):
        list(binary.sections(data, "test"))
