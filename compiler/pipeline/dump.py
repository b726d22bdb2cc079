"""The result of a stage of the compiler as text: `--dump after:STAGE`."""

from __future__ import annotations

from collections.abc import Callable

from ..graph.ir import Graph
from ..graph.printer import print_graph
from ..ir.nodes import Kernel
from ..ir.printer import print_kernel
from ..tensor.printer import print_groups, print_tensors
from ..tensor.program import TensorProgram
from .tensor_passes import Grouped


class Dump:
    """An observer that passes the text of each result of `stage` to `emit`, after a line "(unchanged)" where the stage
    changed nothing. It keeps all results, to compare their identity."""

    def __init__(self, stage: str, emit: Callable[[str], None]) -> None:
        self.stage = stage
        self._emit = emit
        self._seen: dict[int, object] = {}

    def __call__(self, stage: str, result: object) -> None:
        if stage == self.stage:
            self._emit(("(unchanged)\n" if id(result) in self._seen else "") + _text(result))
        self._seen[id(result)] = result


def _text(result: object) -> str:
    match result:
        case Graph():
            return print_graph(result)
        case TensorProgram():
            return print_tensors(result)
        case Grouped():
            return print_groups(result.groups, tuple(result.prepared.values()), result.layouts, result.aliases)
        case Kernel():
            return print_kernel(result)
    return str(result)
