"""Mutations of nodes: wiring, operators, attributes, functions, branches, width and depth."""

from __future__ import annotations

from random import Random

import onnx
from fuzz.edit_tensors import ODD_EXTENTS, ODD_FLOATS, Feeds
from fuzz.edit_types import ODD_NAMES
from onnx import AttributeProto, helper
from webnn_compile.ops import OPERATORS

NODES_OF_A_BOMB = (3, 8, 40)
"""Depths of functions that each call the last twice: the largest makes 2^40 nodes."""
WIDTHS = (2, 30, 1000, 5000)
DEPTHS = (2, 30, 300)


def _node(model: onnx.ModelProto, draw: Random) -> onnx.NodeProto | None:
    return draw.choice(model.graph.node) if model.graph.node else None


def _names(model: onnx.ModelProto) -> list[str]:
    made = [o for n in model.graph.node for o in n.output]
    return [*made, *(v.name for v in model.graph.input), *(t.name for t in model.graph.initializer)] or ["x"]


def wiring(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    node = _node(model, draw)
    if node is None:
        return
    inputs = list(node.input)
    at = draw.randrange(len(inputs)) if inputs else 0
    other = draw.choice((*_names(model), "", "no such value"))
    match draw.randrange(6):
        case 0 if inputs:
            inputs[at] = other
        case 1 if inputs:
            del inputs[at]
        case 2 if inputs:
            inputs.insert(at, inputs[at])
        case 3:
            draw.shuffle(inputs)
        case 4:
            inputs += [other] * draw.choice((1, 1, 3, 30))
        case _:
            del inputs[at:]
    node.input[:] = inputs


def outputs(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    node = _node(model, draw)
    if node is None:
        return
    made = list(node.output)
    other = draw.choice((*_names(model), "", "another"))
    match draw.randrange(4):
        case 0 if made:
            made[draw.randrange(len(made))] = other
        case 1 if made:
            made.pop()
        case 2:
            made.append(other)
        case _:
            made += [f"more{i}" for i in range(draw.choice((1, 2, 100)))]
    node.output[:] = made


def operator(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    node = _node(model, draw)
    if node is not None:
        if draw.random() < 0.85:
            node.op_type = draw.choice(sorted(op for domain, op in OPERATORS if not domain))
        else:
            node.op_type = draw.choice(("", "Loop", "Scan", "If", "NonZero", "SequenceAt", "Relu ", *ODD_NAMES))


def node_names(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    node = _node(model, draw)
    if node is not None:
        if draw.random() < 0.7:
            node.name = draw.choice(ODD_NAMES)
        else:
            node.domain = draw.choice(("ai.onnx", "com.microsoft", "ai.onnx.ml", "x", "é"))


def attribute_value(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """A number, a text or a list of the right type, with another value."""
    found = [a for n in model.graph.node for a in n.attribute]
    if not found:
        return new_attribute(model, given, draw)
    a = draw.choice(found)
    match a.type:
        case AttributeProto.INT:
            a.i = draw.choice((a.i + 1, a.i - 1, -a.i, 2 * a.i, *ODD_EXTENTS))
        case AttributeProto.FLOAT:
            a.f = draw.choice(ODD_FLOATS)
        case AttributeProto.STRING:
            known = (
                b"constant",
                b"reflect",
                b"edge",
                b"wrap",
                b"linear",
                b"nearest",
                b"cubic",
                b"sum",
                b"none",
                b"mul",
            )
            known += (
                b"SAME_UPPER",
                b"SAME_LOWER",
                b"VALID",
                b"NOTSET",
                b"floor",
                b"asymmetric",
                b"align_corners",
                b"DCR",
            )
            a.s = draw.choice((*known, b"", b"\xff", b"ij,jk->ik", b"ii->i", b"...i,i", b"->", b"x" * 3000))
        case AttributeProto.INTS:
            values = list(a.ints)
            match draw.randrange(4):
                case 0:
                    values = values[:-1]
                case 1:
                    values += draw.choices((0, 1, 2, *ODD_EXTENTS), k=draw.choice((1, 1, 4)))
                case _ if values:
                    at = draw.randrange(len(values))
                    values[at] = draw.choice((values[at] + 1, values[at] - 1, values[0], *ODD_EXTENTS))
            a.ints[:] = values
        case AttributeProto.FLOATS:
            a.floats[:] = [*a.floats[:-1], draw.choice(ODD_FLOATS)]
        case _:
            pass
    return None


def attribute_type(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """Another type of value, or a field that contradicts the type."""
    found = [a for n in model.graph.node for a in n.attribute]
    if not found:
        return
    a = draw.choice(found)
    odd = draw.choice((1, 1.5, "text", b"\xff", [1, 2], [1.5], ["a"], [b"\xff"], model.graph.initializer[:1]))
    if odd and draw.random() < 0.8:
        value = odd[0] if isinstance(odd, list) and isinstance(odd[0], onnx.TensorProto) else odd
        a.CopyFrom(helper.make_attribute(a.name, value))
    elif draw.random() < 0.5:
        a.type = draw.choice(AttributeProto.AttributeType.values())
    else:
        a.ref_attr_name = draw.choice(("alpha", "", a.name))


def new_attribute(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """One that the operator defines and the node does not give, or one that is unknown, or twice the same."""
    node = _node(model, draw)
    if node is None:
        return
    if node.attribute and draw.random() < 0.2:
        node.attribute.add().CopyFrom(draw.choice(node.attribute))
        return
    if node.attribute and draw.random() < 0.2:
        node.attribute.remove(draw.choice(node.attribute))
        return
    known = dict(onnx.defs.get_schema(node.op_type).attributes) if onnx.defs.has(node.op_type) else {}
    if not known or draw.random() < 0.1:
        node.attribute.append(helper.make_attribute(draw.choice(("axis", "unheard_of", *ODD_NAMES)), 1))
        return
    chosen = draw.choice(sorted(known))
    values = {
        "INT": draw.choice((0, 1, 2, 3, *ODD_EXTENTS)),
        "FLOAT": draw.choice(ODD_FLOATS),
        "STRING": draw.choice(("constant", "SAME_UPPER", "VALID", "linear", "asymmetric", "")),
        "INTS": draw.choices((0, 1, 2, 3, *ODD_EXTENTS), k=draw.randrange(1, 5)),
        "FLOATS": draw.choices(ODD_FLOATS, k=draw.randrange(1, 4)),
    }
    value = values.get(known[chosen].type.name)
    if value is not None:
        node.attribute.append(helper.make_attribute(chosen, value))


def order(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """Nodes repeated, removed or moved."""
    nodes = list(model.graph.node)
    if not nodes:
        return
    match draw.randrange(3):
        case 0:
            nodes.insert(draw.randrange(len(nodes) + 1), draw.choice(nodes))
        case 1:
            nodes.remove(draw.choice(nodes))
        case _:
            draw.shuffle(nodes)
    copies = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def more_nodes(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """An operator on some value, wide, or many behind each other; its result is an output."""
    source = draw.choice(_names(model))
    match draw.randrange(3):
        case 0:
            op = draw.choice(("Sum", "Concat", "Max"))
            extra = {"axis": 0} if op == "Concat" else {}
            model.graph.node.append(helper.make_node(op, [source] * draw.choice(WIDTHS), ["wide"], **extra))
            last = "wide"
        case 1:
            last = source
            for i in range(draw.choice(DEPTHS)):
                model.graph.node.append(helper.make_node(draw.choice(("Relu", "Abs", "Neg")), [last], [f"deep{i}"]))
                last = f"deep{i}"
        case _:
            op = draw.choice(sorted(op for domain, op in OPERATORS if not domain))
            more = draw.choices(_names(model), k=draw.randrange(3))
            model.graph.node.append(helper.make_node(op, [source, *more], ["last"]))
            last = "last"
    model.graph.output.append(helper.make_empty_tensor_value_info(last))


def function(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """A node becomes a call: of a function that holds it, of itself, or of functions that double."""
    node = _node(model, draw)
    if node is None:
        return
    imports = [*model.opset_import, helper.make_opsetid("local", 1)]
    held = onnx.NodeProto.FromString(node.SerializeToString())
    given_names, made = [n for n in node.input if n], list(node.output)
    match draw.randrange(3):
        case 0:
            body = [held]
        case 1:
            body = [helper.make_node("F", given_names, made, domain="local")]
        case _:
            given_names, made = given_names[:1], made[:1]
            body = [helper.make_node("Neg", given_names, made)]
            for depth in range(draw.choice(NODES_OF_A_BOMB) if given_names and made else 0):
                name = f"D{depth}"
                model.functions.append(helper.make_function("local", name, given_names, made, body, imports))
                body = [
                    helper.make_node(name, given_names, ["inside"], domain="local"),
                    helper.make_node(name, ["inside"], made, domain="local"),
                ]
    model.functions.append(helper.make_function("local", "F", given_names, made, body, imports))
    if all(i.domain != "local" for i in model.opset_import):
        model.opset_import.append(helper.make_opsetid("local", 1))
    node.CopyFrom(helper.make_node("F", given_names, made, domain="local", name=node.name))


def branch(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """A node moves into a branch of an If, whose condition is a constant or an input."""
    node = _node(model, draw)
    if node is None:
        return
    held = onnx.NodeProto.FromString(node.SerializeToString())
    body = helper.make_graph([held], "branch", [], [helper.make_empty_tensor_value_info(o) for o in node.output if o])
    made = [o for o in node.output if o]
    if draw.random() < 0.8:
        condition = "condition"
        model.graph.initializer.append(helper.make_tensor(condition, draw.choice((9, 9, 7)), [], [1]))
    else:
        condition = draw.choice(_names(model))
    node.CopyFrom(helper.make_node("If", [condition], made, then_branch=body, else_branch=body))


MUTATIONS = (
    *(wiring, wiring, wiring, outputs, operator, operator, node_names, attribute_value, attribute_value),
    *(attribute_value, attribute_type, new_attribute, new_attribute, order, more_nodes, function, branch),
)
