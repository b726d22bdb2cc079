"""Collects everything that makes a model unsupported, for one error that names it all."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from ...custom.table import NO_OPERATORS, CustomOperators
from ...errors import UnsupportedError
from ...ir.sizes import Size
from ...ops.call import operator_name
from .check_model import NOT_IN_OPSET

Differing = list[tuple[Size, Size]]
"""Pairs of sizes that have to be equal, and are not known to be."""

_SHOWN = 3
"""So many node names, attribute values and list elements are shown of each kind."""


def is_onnx(node: onnx.NodeProto, *op_types: str) -> bool:
    """Whether a node is one of these operators of ai.onnx."""
    return not node.domain and node.op_type in op_types


class Problems:
    """The problems found so far; `raise_if_any` turns it into one UnsupportedError."""

    def __init__(
        self,
        source: str,
        opset: int,
        is_supported: Callable[[onnx.NodeProto], bool],
        custom: CustomOperators = NO_OPERATORS,
        differing: Differing | None = None,
    ) -> None:
        self.differing: Differing = [] if differing is None else differing
        """In all attempts, also those that came to nothing."""
        self._is_supported = is_supported
        self._custom = custom
        self._source = source
        self._opset = opset
        self._kinds: dict[tuple[str, str], list[onnx.NodeProto]] = {}
        self._reasons: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds or self._reasons)

    @property
    def of_sizes(self) -> str | None:
        """The first reason, where all operators are supported: one of this model's sizes."""
        return next(iter(self._reasons), None) if not self._kinds else None

    def afresh(self) -> Problems:
        """None yet, of the same model."""
        return Problems(self._source, self._opset, self._is_supported, self._custom, self.differing)

    def extend(self, other: Problems) -> None:
        """Adds those of `other`."""
        for kind, nodes in other._kinds.items():
            self._kinds.setdefault(kind, []).extend(nodes)
        self._reasons.update(other._reasons)

    def check_kind(self, node: onnx.NodeProto) -> bool:
        """Whether a node of this kind is supported; records it otherwise."""
        if self._is_supported(node):
            return True
        self._kinds.setdefault((node.domain, node.op_type), []).append(node)
        return False

    def add(self, reason: str) -> None:
        """One more reason, in words that name the node or value."""
        self._reasons[reason] = None

    def raise_if_any(self) -> None:
        """Raises UnsupportedError where something was found: most frequent kinds first, then the reasons."""
        kinds = sorted(self._kinds.items(), key=lambda item: (-len(item[1]), item[0]))
        lines = [self._describe(domain, op, nodes) for (domain, op), nodes in kinds] + list(self._reasons)
        if not lines:
            return
        listed = "".join(f"\n  {line}" for line in lines)
        raise UnsupportedError(
            f"{self._source} (opset {self._opset}) needs what is not supported, {len(lines)} in all:{listed}\n"
            f"Replace or remove these in the model, or export it in another way{self._own()}."
        )

    def _describe(self, domain: str, op: str, nodes: list[onnx.NodeProto]) -> str:
        unknown = f"{op} (no operator of opset {self._opset})"
        op = unknown if domain == NOT_IN_OPSET else operator_name(domain, op)
        count = f"{len(nodes)} node{'s' if len(nodes) > 1 else ''}"
        values: dict[str, dict[str, None]] = {}
        for node in nodes:
            for a in node.attribute:
                values.setdefault(a.name, {})[_shown(a)] = None
        attributes = [f"{name}={_some(list(seen), ' or ')}" for name, seen in sorted(values.items())]
        names = [repr(n.name or n.output[0]) for n in nodes if n.name or n.output]
        other = _other_export(domain, nodes[0].op_type)
        advice = [] if other is None else [other]
        return "; ".join([f"{op}: {count} {_some(names, ', ')}".rstrip(), *attributes, *advice])

    def _own(self) -> str:
        """How the user may define operators of domains that are not ONNX's; empty where there are none."""
        if all(domain in _OF_ONNX for domain, _ in self._kinds):
            return ""
        defined = ", ".join(f"{o.name} ({o.place})" for o in self._custom)
        more = f", which defines {defined} so far" if defined else ""
        return f'; define operators of other domains in a file for --ops (in Python, operators=["FILE.py"]){more}'


_OF_ONNX = ("", NOT_IN_OPSET)

_OF_OPTIMISERS = ("Fused", "Skip", "Bias", "Nchwc")
"""How operators begin that onnxruntime's optimiser puts in place of others."""

_OF_DECODERS = (
    "DecoderMaskedSelfAttention",
    "LinearAttention",
    "MoE",
    "PackedMultiHeadAttention",
    "QMoE",
    "SparseAttention",
)
"""Operators that onnxruntime's optimiser and its builder of decoders write, and that are not supported."""

_SEARCHES = ("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch")
"""Operators of whole generations, which have encoder and decoder as subgraphs."""


def _other_export(domain: str, op: str) -> str | None:
    """Which export has no such operator, where that is known."""
    if op.startswith("QOrdered"):
        return "quantize in the form of QuantizeLinear and DequantizeLinear: quant_format=QuantFormat.QDQ"
    if domain == "com.microsoft.nchwc" or (domain == "com.microsoft" and op.startswith(_OF_OPTIMISERS)):
        return "onnxruntime's optimiser wrote it: take the model from before it, or save it with ORT_DISABLE_ALL"
    if domain == "com.microsoft" and op in _SEARCHES:
        return "it calls a decoder again and again: compile the decoder's own model, whose tokens the page chooses"
    if domain == "com.microsoft" and op in _OF_DECODERS:
        return "onnxruntime's optimiser or its model builder wrote it: export the network with torch.onnx.export alone"
    return None


def _some(parts: list[str], separator: str) -> str:
    return separator.join(parts[:_SHOWN] + (["..."] if len(parts) > _SHOWN else []))


def _shown(a: onnx.AttributeProto) -> str:
    kind = onnx.AttributeProto
    match a.type:
        case kind.INT:
            return str(a.i)
        case kind.FLOAT:
            return f"{a.f:g}"
        case kind.STRING:
            return repr(a.s.decode(errors="replace"))
        case kind.INTS:
            return f"[{_some([str(v) for v in a.ints], ', ')}]"
        case kind.FLOATS:
            return f"[{_some([f'{v:g}' for v in a.floats], ', ')}]"
        case kind.STRINGS:
            return f"[{_some([repr(v.decode(errors='replace')) for v in a.strings], ', ')}]"
        case kind.TENSOR:
            return f"a tensor {list(a.t.dims)}"
        case kind.GRAPH:
            return f"a graph of {len(a.g.node)} nodes"
    return f"a {kind.AttributeType.Name(a.type).lower()}"
