"""Replaces calls of functions by their bodies."""

from __future__ import annotations

import onnx
from onnx import helper, inliner

from ...custom.table import NO_OPERATORS, CustomOperators
from ...errors import InputError
from ...ops import OPERATORS
from .check_calls import check_calls, check_count
from .check_model import all_nodes
from .handlers import is_supported
from .hide_shape_operands import hide_shape_operands, show_shape_operands
from .prefer_custom import prefer_custom
from .read_model import Source
from .write_defaults import write_defaults

_LARGEST_BODY = 100
"""Nodes by which ONNX defines an operator, where that depends on the types of its inputs."""

_BODIES = "bodies of operators"
"""The domain of functions that stand for operators, until they are inlined."""


def inline_functions(model: onnx.ModelProto, source: Source, custom: CustomOperators = NO_OPERATORS) -> onnx.ModelProto:
    """`model` without functions of its own, and without operators that ONNX itself defines by supported ones. Operators
    of `custom` stay, though the model have a function of the same name.

    Bodies written for another opset are converted to that of the model. Raises InputError where too many nodes would
    come of it.
    """
    model = prefer_custom(model, custom)
    check_calls(model, source)
    # Inlining infers types where it converts versions, and where the body depends on them.
    hidden = hide_shape_operands(model, source)
    model = inline_local(model, source)
    versions = {i.domain: i.version for i in model.opset_import}
    for kind in sorted({(n.domain, n.op_type) for n in model.graph.node} - OPERATORS.keys() - custom.versions.keys()):
        domain, op = kind
        version = versions.get(domain, 0)
        if not onnx.defs.has(op, domain=domain, max_inclusive_version=version):
            continue
        schema = onnx.defs.get_schema(op, version, domain)
        if schema.has_function or schema.has_context_dependent_function:  # type: ignore[attr-defined]
            body = len(schema.function_body.node) if schema.has_function else _LARGEST_BODY  # type: ignore[attr-defined]
            uses = sum(1 for n in model.graph.node if (n.domain, n.op_type) == kind)
            check_count(len(model.graph.node) + uses * body, f"{uses * body} of them by {op}", source)
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            write_defaults((n for n in copy.graph.node if n.op_type == op), versions[""])
            try:
                if schema.has_context_dependent_function and any(  # type: ignore[attr-defined]
                    "" in n.input for n in copy.graph.node if (n.domain, n.op_type) == kind
                ):
                    _call_bodies(copy, schema)
                expanded = _expanded(copy, kind)
            except (RuntimeError, ValueError):  # of a body that ONNX does not make for these types
                continue
            # Worth it only if nothing else becomes unsupported: the error is then about what the user wrote.
            if _unsupported(expanded) < _unsupported(model):
                model = expanded
    show_shape_operands(model, hidden)
    return model


def inline_local(model: onnx.ModelProto, source: Source) -> onnx.ModelProto:
    """`model` without functions of its own, with the versions of domains that their nodes have. Raises InputError where
    ONNX's inliner does not take them."""
    if not model.functions:
        return model
    versions = {i.domain: i.version for f in model.functions for i in f.opset_import}
    model = _with_one_opset(model)
    try:
        model = inliner.inline_local_functions(model, convert_version=True)
    except (onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{source.name}: its functions cannot be inlined: {' '.join(str(error).split())}; export it again"
        ) from None
    imported = {i.domain for i in model.opset_import}
    model.opset_import.extend(
        helper.make_opsetid(domain, versions.get(domain, 1))
        for domain in sorted({n.domain for n in all_nodes(model.graph.node)} - imported)
    )
    return model


def _with_one_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its opset in place of that of each function whose operators are the same in both. The inliner
    converts bodies, for which it must infer all types of a model; it cannot where calls are inside of branches."""
    opset = next((i.version for i in model.opset_import if not i.domain), None)
    if opset is None:
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for function in changed.functions:
        for own in function.opset_import:
            if not own.domain and all(_is_same(n, own.version, opset) for n in function.node if not n.domain):
                own.version = opset
    return changed


def _is_same(node: onnx.NodeProto, one: int, other: int) -> bool:
    """Whether an operator, and all of those in its branches, are of one version in two opsets."""
    try:
        since = {onnx.defs.get_schema(node.op_type, version).since_version for version in (one, other)}
    except onnx.defs.SchemaError:
        return False
    inner = [n for a in node.attribute for n in a.g.node if not n.domain]
    return len(since) == 1 and all(_is_same(n, one, other) for n in inner)


def _expanded(model: onnx.ModelProto, op: tuple[str, str]) -> onnx.ModelProto:
    """The model with the body of an operator in its place, and with those of unsupported operators in that body."""
    known, selected = _unsupported(model), [op]
    if model.functions:
        model = inliner.inline_local_functions(model, convert_version=True)
    while True:
        expanded = inliner.inline_selected_functions(model, selected, inline_schema_functions=True)
        inner = sorted(o for o in _unsupported(expanded) - known if not o[0] and o not in selected)
        if not inner:
            return expanded
        selected += inner


def _call_bodies(model: onnx.ModelProto, schema: onnx.defs.OpSchema) -> None:
    """Calls of functions in place of the nodes of an operator whose body depends on its inputs: ONNX's inliner fails
    where one between others is left out (onnx 1.22). Nodes stay whose body ONNX does not make."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    types = {v.name: v.type for v in (*inferred.input, *inferred.value_info, *inferred.output)}
    versions = schema.context_dependent_function_opset_versions  # type: ignore[attr-defined]
    for node in model.graph.node:
        if (node.domain, node.op_type) != (schema.domain, schema.name):
            continue
        operands = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        made = schema.get_context_dependent_function_with_opset_version(  # type: ignore[attr-defined]
            max(versions), node.SerializeToString(), operands
        )
        body = onnx.FunctionProto.FromString(made)
        if not body.node:
            continue
        body.name, body.domain = f"body{len(model.functions)}", _BODIES
        del body.attribute[:], node.attribute[:]
        model.functions.append(body)
        node.op_type, node.domain = body.name, _BODIES
    model.opset_import.append(helper.make_opsetid(_BODIES, 1))


def _unsupported(model: onnx.ModelProto) -> set[tuple[str, str]]:
    return {(n.domain, n.op_type) for n in model.graph.node if not is_supported(n)}
