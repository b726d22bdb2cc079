"""Loops of TensorFlow 1 as While nodes: graphs are frozen, and converted for TensorFlow.js, with these by default.

A loop is a frame. Enter takes a value into it, Merge has that value or the one of NextIteration, Switch gives it to the
body (result 1) or to Exit (result 0), by LoopCond. What does not change has Enter alone:

    Enter -> Merge -> Switch -> body -> NextIteration -> Merge            While(entered..., cond, body)
                      Switch -> Exit                               =>     Identity of its result
             Merge -> condition -> LoopCond -> Switch
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .read_graph import Function, Node, Ref, origin
from .schema import CLASSES

Nodes = dict[str, Node]


@dataclass(frozen=True, slots=True)
class _Frame:
    """The nodes of a loop: `enters`, `merges` and `next` by variable; `switches`, of which a variable that is not used
    has none; and `entered`, what does not change."""

    condition: Node
    enters: tuple[Node, ...]
    merges: tuple[Node, ...]
    next: tuple[Node, ...]
    switches: tuple[Node, ...]
    entered: tuple[Node, ...]


def structure_loops(nodes: Mapping[str, Node]) -> tuple[Nodes, dict[str, Function]]:
    """`nodes` with a While, of the name of its LoopCond, in place of each loop, and its functions by name. Loops that
    are not whole stay as they are."""
    result, functions, waiting = dict(nodes), dict[str, Function](), _frames(nodes)
    while (inner := next((f for f in waiting if _is_innermost(result, f)), None)) is not None:
        waiting.remove(inner)
        condition, body = _functions(result, inner)
        functions |= {f.name: f for f in (condition, body)}
        _replace(result, inner, condition, body)
    return without_readers(result, nodes.keys() - result.keys()), functions


def without_readers(nodes: Nodes, removed: Iterable[str]) -> Nodes:
    """The nodes without those that need what is `removed`: functions of loops and branches have them."""
    readers: dict[str, list[str]] = {}
    for node in nodes.values():
        for name, _ in node.inputs:
            readers.setdefault(name, []).append(node.name)
    inside, waiting = set[str](), list(removed)
    while waiting:
        for reader in readers.get(waiting.pop(), ()):
            if reader not in inside:
                inside.add(reader)
                waiting.append(reader)
    return {name: node for name, node in nodes.items() if name not in inside}


def _frames(nodes: Mapping[str, Node]) -> list[_Frame]:
    """The loops that are whole."""
    enters: dict[bytes, list[Node]] = {}
    variables: dict[bytes, list[tuple[Node, Node, Node]]] = {}
    switches: dict[str, list[Node]] = {}
    for node in nodes.values():
        sources = [nodes.get(origin(nodes, r)[0]) for r in node.inputs] if node.op in ("Merge", "Switch") else []
        kinds = {n.op: n for n in sources if n is not None}
        if node.op == "Enter":
            enters.setdefault(_frame_of(node), []).append(node)
        elif node.op == "Merge" and kinds.keys() == {"Enter", "NextIteration"}:
            enter, following = kinds["Enter"], kinds["NextIteration"]
            variables.setdefault(_frame_of(enter), []).append((enter, node, following))
        elif kinds.keys() == {"Merge", "LoopCond"}:
            switches.setdefault(kinds["Merge"].name, []).append(node)
    found = []
    for name, entered in enters.items():
        of_frame = variables.get(name, [])
        first, merges, last = (tuple(v[i] for v in of_frame) for i in range(3))
        own = [s for m in merges for s in switches.get(m.name, ())]
        changing = {n.name for n in first}
        same = tuple(n for n in entered if n.name not in changing)
        conditions = {origin(nodes, s.inputs[1])[0] for s in own}
        if len(conditions) == 1 and all(n.inputs for n in (*entered, *last, nodes[min(conditions)])):
            found.append(_Frame(nodes[conditions.pop()], first, merges, last, tuple(own), same))
    return found


def _frame_of(enter: Node) -> bytes:
    return bytes(enter.attributes["frame_name"].s) if "frame_name" in enter.attributes else b""


def _is_innermost(nodes: Mapping[str, Node], frame: _Frame) -> bool:
    """Whether its iterations need no other loop that is not structured yet."""
    stops = {n.name for n in (*frame.merges, *frame.entered, *frame.switches)}
    results = [frame.condition.inputs[0], *(n.inputs[0] for n in frame.next)]
    return all(n.op not in ("Exit", "Enter") for n in needed(nodes, results, stops))


def needed(nodes: Mapping[str, Node], results: Sequence[Ref], stops: set[str]) -> Iterator[Node]:
    """The nodes that results need, without those of `stops` and what is before these."""
    seen, waiting = set(stops), [ref[0] for ref in results]
    while waiting:
        node = nodes.get(waiting.pop())
        if node is not None and node.name not in seen:
            seen.add(node.name)
            yield node
            waiting += [ref[0] for ref in node.inputs]


def _functions(nodes: Mapping[str, Node], frame: _Frame) -> tuple[Function, Function]:
    """The condition and the body. Their arguments have the names of the Merge and Enter nodes that they stand for."""
    arguments = tuple(n.name for n in (*frame.merges, *frame.entered))
    given = {(s.name, 1): (origin(nodes, s.inputs[0])[0], 0) for s in frame.switches}

    def function(what: str, results: Sequence[Ref]) -> Function:
        found = needed(nodes, [given.get(r, r) for r in results], {*arguments, *(s.name for s in frame.switches)})
        own = {n.name: replace(n, inputs=tuple(given.get(r, r) for r in n.inputs)) for n in found}
        return Function(f"{frame.condition.name}/{what}", arguments, own, tuple(given.get(r, r) for r in results))

    body = [*(n.inputs[0] for n in frame.next), *((n.name, 0) for n in frame.entered)]
    return function("cond", frame.condition.inputs[:1]), function("body", body)


def _replace(nodes: Nodes, frame: _Frame, condition: Function, body: Function) -> None:
    name = frame.condition.name
    attributes = {
        key: CLASSES["AttrValue"](func=CLASSES["NameAttrList"](name=f.name))
        for key, f in (("cond", condition), ("body", body))
    }
    operands = tuple(n.inputs[0] for n in (*frame.enters, *frame.entered))
    places = {n.name: i for i, n in enumerate(frame.merges)}
    results = {s.name: (name, places[origin(nodes, s.inputs[0])[0]]) for s in frame.switches}
    exits = [n for n in nodes.values() if n.op == "Exit" and n.inputs and n.inputs[0][0] in results]
    inside = [*frame.enters, *frame.merges, *frame.next, *frame.switches, *frame.entered]
    for node in exits:
        nodes[node.name] = Node(node.name, "Identity", (results[node.inputs[0][0]],), {})
    for node in inside:
        del nodes[node.name]
    nodes[name] = Node(name, "While", operands, attributes)
