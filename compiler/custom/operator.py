"""An operator that the user defines, and the decorator that makes one of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BoundsError, InputError, InternalError, UnsupportedError, WebnnCompileError
from ..ops import OPERATORS, OperatorFn
from ..ops.call import OWN_DOMAIN, Call, NotKnownError, operator_name
from ..tensor import Tensor
from .check_results import results_of

Reference = Callable[..., Any]
"""Computes an operator by NumPy: from an array for each input, None where it is absent, and attributes by keyword, to
the array of the output, or a tuple of those of the outputs."""

_DOMAINS_OF_ONNX = ("", "ai.onnx")


@dataclass(frozen=True, eq=False, slots=True)
class CustomOperator:
    """An operator of `domain`, from version `since` of it on, which `define` defines. `ignored` are attributes of its
    nodes that `define` need not read. It stands in `file` at `line`."""

    domain: str
    op_type: str
    since: int
    define: OperatorFn
    reference: Reference | None
    ignored: tuple[str, ...]
    file: str
    line: int

    @property
    def name(self) -> str:
        """As messages and reports have it."""
        return operator_name(self.domain, self.op_type)

    @property
    def place(self) -> str:
        """File and line of the definition."""
        return f"{Path(self.file).name}:{self.line}"

    def __call__(self, call: Call) -> tuple[Tensor, ...]:
        """The tensors of the outputs, at least as many as the node names.

        Raises InputError, with file and line, for a fault of the definition: an exception, a result that is no tensor
        or one too few, and an attribute of the node that was not read. Raises UnsupportedError where the definition
        does, by `call.unsupported`.
        """
        read = ReadAttributes(call.attributes)
        try:
            returned = self.define(replace(call, attributes=read))
        except MemoryError:
            raise
        except NotKnownError as error:
            raised_at = self._raised_at(error)
            raise NotKnownError(f"{error} ({raised_at})", error.value, f"{error.of_sizes} ({raised_at})") from None
        except UnsupportedError as error:
            raise UnsupportedError(f"{error} ({self._raised_at(error)})") from None
        except Exception as error:
            if isinstance(error, WebnnCompileError) and not isinstance(error, InternalError):
                raise
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            if isinstance(error, BoundsError):
                what = f"{what}; clamp the index, or read by x.read(index, guard=condition)"
            raise self._fault(call, f"the definition failed with {what}", line_of(error, self.file)) from error
        results = results_of(returned, call)
        if isinstance(results, str):
            raise self._fault(call, results)
        unread = sorted(set(call.attributes) - read.names - {*self.ignored})
        if unread:
            raise self._fault(
                call,
                f"the node has the attribute {unread[0]!r}, which the definition did not read: read it by "
                f"call.attribute({unread[0]!r}, DEFAULT), or name it in @operator(..., ignored=({unread[0]!r},))",
            )
        return results

    def _raised_at(self, error: UnsupportedError) -> str:
        return f"{Path(self.file).name}:{line_of(error, self.file) or self.line}, in the definition of {self.name}"

    def _fault(self, call: Call, what: str, line: int | None = None) -> InputError:
        return InputError(f"{self.file}:{line or self.line}: {self.name} (node {call.name!r}): {what}")


class ReadAttributes(Mapping[str, object]):
    """Attributes, and the `names` of those that were read or looked for."""

    def __init__(self, attributes: Mapping[str, object]) -> None:
        self._attributes = attributes
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> object:
        self.names.add(name)
        return self._attributes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)


def line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of `file` at which an exception was raised; None where it was raised outside of it."""
    line, frame = None, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == file:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def operator(
    domain: str,
    op_type: str,
    *,
    since: int = 1,
    reference: Reference | None = None,
    ignored: tuple[str, ...] = (),
) -> Callable[[OperatorFn], CustomOperator]:
    """Makes an operator of a function from a `Call` to the tensor of its output, or a tuple of those of its outputs.

    It defines `op_type` of `domain` from version `since` of the domain on, up to the next one that is defined.
    `reference` computes the same by NumPy, from arrays for the inputs (None where one is absent) and attributes by
    keyword: --verify compares with it. `ignored` are attributes that the definition need not read. Raises InputError
    for an operator of ONNX's own domain, and for one that the compiler has: graph passes rely on what these compute.
    """
    frame = sys._getframe(1)
    file, line = frame.f_code.co_filename, frame.f_lineno
    fault = _fault_of_name(domain, op_type, since, ignored)
    if fault is not None:
        raise InputError(f"{file}:{line}: @operator({domain!r}, {op_type!r}): {fault}")

    def defined_by(define: OperatorFn) -> CustomOperator:
        if not callable(define):
            raise InputError(f"{file}:{line}: @operator({domain!r}, {op_type!r}) stands before no function")
        return CustomOperator(domain, op_type, since, define, reference, tuple(ignored), file, line)

    return defined_by


def _fault_of_name(domain: object, op_type: object, since: object, ignored: object) -> str | None:
    if not isinstance(domain, str) or not isinstance(op_type, str) or not op_type:
        return "give the domain and the name of the operator as strings"
    if "." in op_type:  # it would be mistaken for one of another domain
        return "the name of an operator has no dot"
    if domain in _DOMAINS_OF_ONNX:
        return (
            "operators of ONNX's own domain cannot be defined: graph passes and ONNX's checks rely on what they "
            "compute; give the operator a domain of yours, in the model, too"
        )
    if domain == OWN_DOMAIN or (domain, op_type) in OPERATORS:
        return "the compiler has this operator, and graph passes rely on what it computes; choose another name"
    if not isinstance(since, int) or isinstance(since, bool) or since < 1:
        return f"since={since!r} is no version of a domain: give 1 or more"
    if isinstance(ignored, str):
        return f"ignored={ignored!r}: give a tuple of names"
    return None
