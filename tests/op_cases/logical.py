"""Rows of logic and bits."""

from __future__ import annotations

from op_cases._arrays import Arrays, scalar
from op_table import Case

a = Arrays(4)

CASES = [
    *(Case(f"{op.lower()}-same", op, (a.bools(3, 5), a.bools(3, 5))) for op in ("And", "Or", "Xor")),
    *(Case(f"{op.lower()}-both-ways", op, (a.bools(3, 1, 4), a.bools(2, 1)), opset=7) for op in ("And", "Or", "Xor")),
    *(
        Case(f"{op.lower()}-scalar", op, (a.bools(3, 4), scalar(1, "bool")), constants=frozenset({1}))
        for op in ("And", "Or", "Xor")
    ),
    Case("not", "Not", (a.bools(3, 5),)),
    Case("not-rank0", "Not", (scalar(0, "bool"),), opset=7),
    *(
        Case(
            f"{op.lower()}-int32", op, (a.integers(-99, 99, 3, 5, dtype="int32"), a.integers(-99, 99, 5, dtype="int32"))
        )
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
    ),
    *(
        Case(
            f"{op.lower()}-uint8",
            op,
            (a.integers(0, 255, 9, dtype="uint8"), a.integers(0, 255, 9, dtype="uint8")),
            opset=18,
        )
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
    ),
    Case("bitwisenot-int64", "BitwiseNot", (a.integers(-99, 99, 3, 5),)),
    Case("bitwisenot-uint8", "BitwiseNot", (a.integers(0, 255, 7, dtype="uint8"),), opset=18),
    Case(
        "bitshift-left",
        "BitShift",
        (a.integers(0, 255, 3, 4, dtype="uint8"), a.integers(0, 8, 4, dtype="uint8")),
        {"direction": "LEFT"},
    ),
    Case(
        "bitshift-right",
        "BitShift",
        (a.integers(0, 2**31, 3, 4, dtype="uint32"), a.integers(0, 32, 3, 1, dtype="uint32")),
        {"direction": "RIGHT"},
    ),
    Case(
        "bitshift-uint64",
        "BitShift",
        (a.integers(0, 2**40, 5, dtype="uint64"), a.integers(0, 64, 5, dtype="uint64")),
        {"direction": "RIGHT"},
        opset=11,
    ),
]
