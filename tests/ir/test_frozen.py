"""Nodes are values: made by position or by name, equal by their fields, and they never change."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest
from webnn_compile.dtypes import F32, I32
from webnn_compile.ir.nodes import Binary, Const, Load, LoopKind, Seq, Var
from webnn_compile.ir.nodes import For as Loop


def test_fields_by_position_by_name_and_by_default() -> None:
    two, x = Const(2), Var("x", 3)
    assert two == Const(value=2, type=I32) != Const(2.0, F32)
    assert Binary("+", b=two, a=x) == Binary("+", x, two)
    loop = Loop(x, Seq(()))
    assert (loop.kind, loop.parallel) == (LoopKind.SERIAL, True)
    assert replace(loop, kind=LoopKind.UNROLL).kind is LoopKind.UNROLL
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        Binary("+", x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'value'"):
        Load(buffer=None, indices=(), value=two)  # type: ignore[arg-type, call-arg]


def test_a_node_never_changes() -> None:
    e = Binary("+", Const(1), Const(2))
    with pytest.raises(FrozenInstanceError):
        e.op = "-"  # type: ignore[misc]
    assert hash(e) == hash(Binary("+", Const(1), Const(2)))
    assert pickle.loads(pickle.dumps(e)) == e
    assert pickle.loads(pickle.dumps(I32)) is I32
    assert repr(Const(1)) == f"Const(value=1, type={I32!r})"
