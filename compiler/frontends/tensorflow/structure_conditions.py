"""Conditions of TensorFlow 1 as If nodes. Switch gives a value to one of two branches, result 1 where the condition
holds, and Merge has the result of the branch that it was given to, and which of its inputs that is:

    Switch(x, condition) -> result 1 -> then -> Merge            If(condition, x...) of two functions
                            result 0 -> else -> Merge       =>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .read_graph import Function, Node, Ref, origin
from .schema import CLASSES
from .structure_loops import Nodes, needed, without_readers

_Branches = tuple[Ref, dict[str, Node], Sequence[dict[str, Node]], Sequence[Ref]]
"""The condition, the Switch nodes by name, and of else and then the nodes and the result."""


def structure_conditions(nodes: Mapping[str, Node], within: str = "") -> tuple[Nodes, dict[str, Function]]:
    """`nodes`, of the main graph or of the function `within`, with an If of the same name in place of each Merge, and
    its functions by name. A Merge of another form stays as it is, with what it needs. Loops have to be structured."""
    result, functions = dict(nodes), dict[str, Function]()
    read = {ref for n in nodes.values() for ref in n.inputs}
    waiting = [n for n in nodes.values() if n.op == "Merge"]
    removed = {n.name for n in nodes.values() if n.op == "Switch"}
    while found := next(((m, b) for m in waiting if (b := _branches(result, m, removed)) is not None), None):
        merge, (condition, switches, own, results) = found
        waiting.remove(merge)
        attributes = {}
        for name, branch, ref in zip(("else_branch", "then_branch"), own, results, strict=True):
            inner = {n.name: replace(n, inputs=tuple(_given(r, switches) for r in n.inputs)) for n in branch.values()}
            ends = [_given(ref, switches)]
            if (merge.name, 1) in read:
                number = _number(f"{merge.name}/value_index", merge.inputs.index(ref))
                inner[number.name] = number
                ends.append((number.name, 0))
            function = Function(f"{within}/{merge.name}/{name}", tuple(switches), inner, tuple(ends))
            functions[function.name] = function
            attributes[name] = CLASSES["AttrValue"](func=CLASSES["NameAttrList"](name=function.name))
        operands = (condition, *(s.inputs[0] for s in switches.values()))
        result[merge.name] = Node(merge.name, "If", operands, attributes)
    if not functions:
        return result, {}
    removed -= {n.name for n in needed(result, [(m.name, 0) for m in waiting], set())}
    return without_readers({name: n for name, n in result.items() if name not in removed}, removed), functions


def _number(name: str, value: int) -> Node:
    tensor = CLASSES["TensorProto"](dtype="DT_INT32", int_val=[value])
    kind, element = CLASSES["AttrValue"](type="DT_INT32"), CLASSES["AttrValue"](tensor=tensor)
    return Node(name, "Const", (), {"dtype": kind, "value": element})


def _given(ref: Ref, switches: Mapping[str, Node]) -> Ref:
    """The result, where it is one of a Switch the argument of that name."""
    return (ref[0], 0) if ref[0] in switches else ref


def _branches(nodes: Mapping[str, Node], merge: Node, stops: set[str]) -> _Branches | None:
    """The branches of an innermost condition, which begin at Switch nodes, `stops`; None for another one."""
    switches: dict[str, Node] = {}
    sides: dict[int, tuple[dict[str, Node], Ref]] = {}
    apart: list[tuple[dict[str, Node], Ref]] = []
    for ref in merge.inputs:
        own = {n.name: n for n in needed(nodes, [ref], stops)}
        if any(n.op in ("Merge", "Placeholder") for n in own.values()):
            return None
        read = [r for n in own.values() for r in n.inputs] + [ref]
        of_switches = [r for r in read if r[0] in stops]
        numbers = {number for _, number in of_switches}
        if len(numbers) > 1 or numbers & sides.keys():
            return None
        if numbers:
            sides[numbers.pop()] = own, ref
        else:
            apart.append((own, ref))
        switches |= {name: nodes[name] for name, _ in of_switches}
    if len(merge.inputs) != 2 or any(len(s.inputs) != 2 for s in switches.values()):
        return None
    if len(sides) == 1 and apart:
        sides[1 - min(sides)] = apart[0]
    conditions = {origin(nodes, s.inputs[1]) for s in switches.values()}
    if sides.keys() != {0, 1} or len(conditions) != 1:
        return None
    branches = [sides[number] for number in (0, 1)]
    return conditions.pop(), switches, [own for own, _ in branches], [ref for _, ref in branches]
