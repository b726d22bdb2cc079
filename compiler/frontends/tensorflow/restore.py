"""The tensor of a checkpoint that each variable is restored from: by the nodes that would restore it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .read_graph import Function, Node, called_functions, origin

_ASSIGNS = ("Assign", "AssignVariableOp")


def restored_from(nodes: Mapping[str, Node], functions: Mapping[str, Function]) -> dict[str, str]:
    """Names in a checkpoint by the names of variables, which are nodes of the main graph."""
    found = dict(_assignments(nodes))
    for node in nodes.values():
        for name in called_functions(node):
            function = functions.get(name)
            if function is None or not any(n.op == "RestoreV2" for n in function.nodes.values()):
                continue
            places = {argument: i for i, argument in enumerate(function.arguments)}
            for argument, key in _assignments(function.nodes):
                at = places.get(argument)
                if at is not None and at < len(node.inputs):
                    found[origin(nodes, node.inputs[at])[0]] = key
    return found


def _assignments(nodes: Mapping[str, Node]) -> Iterator[tuple[str, str]]:
    """The node of a variable, or the argument for one, and the name of the tensor that it is assigned."""
    for node in nodes.values():
        if node.op not in _ASSIGNS or len(node.inputs) != 2:
            continue
        source, result = origin(nodes, node.inputs[1])
        restoring = nodes.get(source)
        if restoring is None or restoring.op != "RestoreV2" or len(restoring.inputs) < 2:
            continue
        names = nodes.get(origin(nodes, restoring.inputs[1])[0])
        if names is not None and names.op == "Const":
            listed = names.attributes["value"].tensor.string_val
            if result < len(listed):
                yield origin(nodes, node.inputs[0])[0], listed[result].decode()
