"""Changes the bytes of a model file: flips, cuts, splices, lengths and text."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

ODD_NUMBERS = (
    b"\x00",
    b"\x01",
    b"\x7f",
    b"\xff\x01",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x10",
    b"\xff" * 9 + b"\x01",
)
"""Varints of protobuf: 0, 1, 127, 255, 2^32 - 1, 2^32, 2^64 - 1."""
ODD_TEXT = (b"\xff", b"\x00", b"\xc3\x28", b"\xed\xa0\x80", b"\n", b"<", b'"', b"/")
"""Bytes in the middle of a name, some of them no UTF-8."""


def flip_bit(data: bytearray, draw: Random) -> None:
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def change_byte(data: bytearray, draw: Random) -> None:
    data[draw.randrange(len(data))] = draw.randrange(256)


def change_number(data: bytearray, draw: Random) -> None:
    at = draw.randrange(len(data))
    data[at : at + draw.choice((1, 1, 2, 5))] = draw.choice(ODD_NUMBERS)


def change_text(data: bytearray, draw: Random) -> None:
    """A byte of some name; its length stays."""
    letters = [i for i, b in enumerate(data) if 0x30 <= b <= 0x7A]
    if letters:
        at = draw.choice(letters)
        odd = draw.choice(ODD_TEXT)
        data[at : at + len(odd)] = odd[: len(data) - at]


def cut_end(data: bytearray, draw: Random) -> None:
    del data[draw.randrange(len(data)) :]


def cut_middle(data: bytearray, draw: Random) -> None:
    at = draw.randrange(len(data))
    del data[at : at + draw.choice((1, 2, 8, 64))]


def insert_bytes(data: bytearray, draw: Random) -> None:
    at = draw.randrange(len(data) + 1)
    data[at:at] = draw.randbytes(draw.choice((1, 2, 8, 64)))


def splice(data: bytearray, draw: Random) -> None:
    """One piece is copied over or between others."""
    start, size = draw.randrange(len(data)), draw.choice((2, 8, 32, 128))
    piece, at = data[start : start + size], draw.randrange(len(data))
    data[at : at + draw.choice((0, len(piece)))] = piece


def repeat_all(data: bytearray, draw: Random) -> None:
    """Protobuf merges what is said twice."""
    data += data[draw.choice((0, draw.randrange(len(data)))) :]


MUTATIONS: tuple[Callable[[bytearray, Random], None], ...] = (
    *(flip_bit, flip_bit, change_byte, change_number, change_number, change_text, change_text),
    *(cut_end, cut_middle, insert_bytes, splice, repeat_all),
)


def mutate_bytes(data: bytes, seeds: list[int]) -> tuple[bytes, tuple[str, ...]]:
    """`data` after one mutation for each seed, and the names of these."""
    changed, names = bytearray(data), []
    for seed in seeds:
        draw = Random(seed)
        mutation = draw.choice(MUTATIONS)
        names.append(mutation.__name__)
        if changed:
            mutation(changed, draw)
    return bytes(changed), tuple(names)
