"""Walking and rebuilding: what is shared is seen once and stays shared."""

from __future__ import annotations

from webnn_compile.dtypes import F32
from webnn_compile.ir.lanes import Ramp, Splat, lanes_of
from webnn_compile.ir.nodes import Alloc, Barrier, Buffer, Const, Expr, For, If, Load, Node, Seq, Stmt, Store, Var
from webnn_compile.ir.reduction import Reduce
from webnn_compile.ir.rewrite import (
    free_vars,
    rewrite,
    rewrite_statements,
    rewrite_top_down,
    statements,
    substitute,
    walk,
)

X = Buffer("x", (8,), F32)


def tower(e: Expr, levels: int) -> Expr:
    """2**levels copies of `e` as a tree, `levels` nodes as a graph."""
    for _ in range(levels):
        e = e * e
    return e


def test_a_shared_node_is_walked_once() -> None:
    i = Var("i", 8)
    load = Load(X, (i,))
    assert list(walk(tower(load, 60)))[-2:] == [load, i]
    assert len(list(walk(tower(load, 60)))) == 62


def test_statements_are_those_of_a_walk() -> None:
    """In its order; no expression is visited, however large."""
    i = Var("i", 8)
    store = Store(X, (i,), tower(Load(X, (i,)), 60))
    branch = If(i < 4, Seq((Barrier(), Store(X, (i,), Const(0.0, F32)))))
    loop = For(i, Seq((store, Alloc(Buffer("t", (8,), F32), branch))))
    found = list(statements(loop))
    assert [type(n) for n in found] == [For, Seq, Store, Alloc, If, Seq, Barrier, Store]
    assert all(a is b for a, b in zip(found, (n for n in walk(loop) if not isinstance(n, Expr)), strict=True))
    assert list(statements(Load(X, (i,)))) == []


def test_free_variables_of_a_shared_node() -> None:
    i, j = Var("i", 8), Var("j", 8)
    deep = tower(Load(X, (i,)) + Load(X, (j,)), 60)
    assert free_vars(deep) == {i, j}
    assert free_vars(For(i, Store(X, (i,), deep))) == {j}
    assert free_vars(Reduce("sum", (j,), deep, Const(0.0, F32))) == {i}


def test_a_rewrite_keeps_sharing() -> None:
    i, j = Var("i", 8), Var("j", 8)
    deep = tower(Load(X, (i,)), 60)
    for changed in (
        substitute(deep, {i: j}),
        rewrite_top_down(deep, lambda n: Load(X, (j,)) if isinstance(n, Load) else None),
    ):
        assert len(list(walk(changed))) == 62
        assert free_vars(changed) == {j}


def test_a_rewrite_that_changes_nothing_returns_the_same_object() -> None:
    i = Var("i", 8)
    loop = For(i, Store(X, (i,), Load(X, (i,)) + 1.0))
    assert rewrite(loop, lambda _: None) is loop
    assert rewrite_top_down(loop, lambda _: None) is loop
    assert substitute(loop, {Var("other", 3): Const(0)}) is loop


def test_a_rule_of_statements_sees_those_alone_from_inside_out() -> None:
    i, j = Var("i", 8), Var("j", 2)
    store = Store(X, (i,), tower(Load(X, (i,)), 60))
    loop = For(i, Seq((For(j, store), If(i < 4, store))))
    seen: list[Node] = []

    def rule(n: Node) -> Stmt | None:
        seen.append(n)
        return n.body if isinstance(n, For) and n.var is j else None

    changed = rewrite_statements(loop, rule)
    assert changed == rewrite(loop, lambda n: n.body if isinstance(n, For) and n.var is j else None)
    assert [type(n) for n in seen] == [Store, For, If, Seq, For]
    assert rewrite_statements(loop, lambda _: None) is loop


def test_the_lanes_of_a_shared_node() -> None:
    assert lanes_of(tower(Load(X, (Ramp(Const(0), 4),)), 60)) == 4
    assert lanes_of(Load(X, (Const(0),)) + 1.0) == 1
    assert lanes_of(Splat(Const(1.0, F32), 8)) == 8
