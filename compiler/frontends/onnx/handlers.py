"""The operators that the importer itself handles, and which operators are supported."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from ...custom.table import NO_OPERATORS, CustomOperators
from ...ops import OPERATORS
from .control_flow import CONTROL_FLOW
from .import_nodes import Handler
from .problems import is_onnx
from .sequences import SEQUENCES

HANDLERS: Mapping[str, Handler] = {**CONTROL_FLOW, **SEQUENCES}


def is_supported(node: onnx.NodeProto, custom: CustomOperators = NO_OPERATORS) -> bool:
    """Whether the importer supports a node of this kind, with operators of the user's."""
    key = node.domain, node.op_type
    return key in OPERATORS or key in custom or is_onnx(node, "Constant", *HANDLERS)
