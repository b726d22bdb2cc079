"""Checks the structure of a model with onnx.checker; errors name a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence

import onnx
from onnx import helper

from ...errors import InputError, UnsupportedError
from ...ops.call import OWN_DOMAIN
from .read_model import Source

OLDEST_OPSET = 7
_INITIALISERS_ALONE = 4
"""The version of ONNX's format from which on initialisers need not be inputs."""
NOT_IN_OPSET = "not in this opset"
"""The domain that `check_model` sets for nodes of the default domain which its opset does not define."""
OF_ONNXRUNTIME = ("LayerNormalization", "SimplifiedLayerNormalization")
"""Operators that onnxruntime has in the default domain, whatever the opset: its optimiser and exporters write them."""


def check_model(skeleton: onnx.ModelProto, source: Source) -> int:
    """The opset of the default domain. Moves nodes that it does not define to the domain NOT_IN_OPSET, those
    OF_ONNXRUNTIME to OWN_DOMAIN.

    Raises InputError for an invalid model, UnsupportedError for an opset that is too old or too new.
    """
    opset = _opset(skeleton, source)
    if not skeleton.graph.output:
        raise InputError(f"{source.name} has no outputs, so it computes nothing; export the model again")
    for nodes, imports in (
        (skeleton.graph.node, skeleton.opset_import),
        *((f.node, f.opset_import) for f in skeleton.functions),
    ):
        _mark_unknown(nodes, imports)
        _check_imports(imports, source)
    try:
        onnx.checker.check_model(_as_required(skeleton))
    except onnx.checker.ValidationError as error:
        reason = _cycle(skeleton.graph.node) or " ".join(str(error).split()).rstrip(".")
        # Versions of ONNX add attributes to operators of opsets that are out already (Attention's windows, in 1.23).
        newer = f"upgrade the Python package onnx, of which {onnx.__version__} is installed, or "
        advice = (newer if "Unrecognized attribute" in reason else "") + "export it again"
        raise InputError(f"{source.name} is not a valid ONNX model: {reason}; {advice}") from None
    return opset


def _mark_unknown(nodes: Iterable[onnx.NodeProto], imports: MutableSequence[onnx.OperatorSetIdProto]) -> None:
    """Moves nodes that the imported opset does not define to domains that the checker ignores, and writes the default
    domain in one way."""
    for i in imports:
        i.domain = "" if i.domain == "ai.onnx" else i.domain
    version = next((i.version for i in imports if not i.domain), 1)
    unknown: dict[str, None] = {}
    for node in all_nodes(nodes):
        node.domain = "" if node.domain == "ai.onnx" else node.domain
        if not node.domain and not onnx.defs.has(node.op_type, max_inclusive_version=version):
            node.domain = OWN_DOMAIN if node.op_type in OF_ONNXRUNTIME else NOT_IN_OPSET
            unknown[node.domain] = None
    imports.extend(helper.make_opsetid(domain, 1) for domain in unknown if all(domain != i.domain for i in imports))


def _check_imports(imports: Iterable[onnx.OperatorSetIdProto], source: Source) -> None:
    """Raises InputError for a domain in two versions, of which ONNX takes now the first, now the last."""
    versions: dict[str, int] = {}
    for i in imports:
        version = versions.setdefault(i.domain, i.version)
        if version != i.version:
            raise InputError(
                f"{source.name} is not a valid ONNX model: it imports the operators of {i.domain or 'ai.onnx'!r} in "
                f"the versions {version} and {i.version}; export it again"
            )


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes, and those of their subgraphs at any depth."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g.node)


def names_read(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """The values that the nodes read, and that their subgraphs read and return."""
    for node in all_nodes(nodes):
        yield from node.input
        for attribute in node.attribute:
            yield from (o.name for o in attribute.g.output)


def _opset(skeleton: onnx.ModelProto, source: Source) -> int:
    versions = [i.version for i in skeleton.opset_import if i.domain in ("", "ai.onnx")]
    newest = int(onnx.defs.onnx_opset_version())
    if not versions:
        if not skeleton.opset_import:
            raise InputError(f"{source.name} does not say which ONNX opset it uses; export it again")
        # All its operators are of other domains; saying which ones is the task of others.
        skeleton.opset_import.append(helper.make_opsetid("", newest))
        return newest
    if versions[0] < OLDEST_OPSET:
        raise InputError(f"{source.name} uses ONNX opset {versions[0]}, which does not exist; export it again")
    if versions[0] > newest:
        raise UnsupportedError(
            f"{source.name} uses ONNX opset {versions[0]}, and onnx {onnx.__version__} supports {newest} at most; "
            "upgrade the Python package onnx"
        )
    return int(versions[0])


def _as_required(skeleton: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with an empty shape wherever the checker requires one that is missing, and initialisers as inputs, which
    the first versions of ONNX required: importing needs neither."""
    copy = onnx.ModelProto()
    copy.CopyFrom(skeleton)
    copy.ir_version = max(copy.ir_version, _INITIALISERS_ALONE)
    for value in (*copy.graph.input, *copy.graph.output):
        if value.type.WhichOneof("value") is None:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return copy


def _cycle(nodes: Iterable[onnx.NodeProto]) -> str | None:
    """The nodes that wait for each other in a circle, as words; None where there is no circle."""
    listed = list(nodes)
    makers = {output: i for i, node in enumerate(listed) for output in node.output if output}
    waiting = {i: {makers[n] for n in node.input if n in makers} for i, node in enumerate(listed)}
    while ready := {i for i, needs in waiting.items() if not needs}:
        waiting = {i: needs - ready for i, needs in waiting.items() if i not in ready}
    if not waiting:
        return None
    # Every node left waits for another that is left: walking back from any of them must come round.
    path = [min(waiting)]
    while path[-1] not in path[:-1]:
        path.append(min(waiting[path[-1]]))
    circle = path[path.index(path[-1]) :]
    names = [listed[i].name or f"{listed[i].op_type} that makes {listed[i].output[0]!r}" for i in reversed(circle)]
    return f"its nodes form a cycle: {' -> '.join(names)}"
