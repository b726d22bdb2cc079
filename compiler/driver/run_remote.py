"""A model on a device of a broker, with the interface of one in this process."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Manifest, make_manifest
from ..errors import InputError
from ..program.shown_model import Shown, ShownModel, arrays_of
from ..values.arrays import read_inputs
from ..values.bind_sizes import bind_sizes
from ..values.ports import check_out, copy_out
from .build import make_artifact_of
from .targets import TARGETS, bundled_targets

if TYPE_CHECKING:
    from webnn_compile.rpc.client import RemoteModel as LoadedModel

    from .optimise_model import Optimised
    from .work import Work

Array = np.ndarray

PREFIX = "remote:"
BROKER_VARIABLE = "WEBNN_RPC_BROKER"
BROKER = "http://127.0.0.1:8765"
"""Where `webnn-rpc serve` listens by default."""
WAIT = 30.0
"""Seconds to wait for a device that others use."""


def parse_remote(target: str) -> tuple[str, str]:
    """The device and the backend of `remote:NAME/BACKEND`. Raises InputError."""
    device, _, backend = target.removeprefix(PREFIX).rpartition("/")
    if not device or backend not in bundled_targets():
        raise InputError(
            f"target {target!r}: give remote:NAME/BACKEND, a device of `webnn-rpc devices` (or any) and one of "
            f"{', '.join(bundled_targets())}"
        )
    return device, backend


class RemoteModel(ShownModel):
    """`run` takes and returns arrays by name. The device is free again after `close`, or when this is garbage."""

    def __init__(self, backend: str, manifest: Manifest, loaded: LoadedModel, opened: contextlib.ExitStack) -> None:
        self.backend = backend
        self._manifest, self._loaded = manifest, loaded
        self._close = weakref.finalize(self, opened.close)

    def run(self, inputs: Mapping[str, object], *, out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Outputs by name; `out` and errors are those of NativeModel, and what the device says is an InputError."""
        if out is not None:
            check_out(self._manifest.outputs, out)
        specs = self._manifest.inputs
        arrays = read_inputs(specs, inputs)
        bind_sizes(self._manifest.dimensions, specs, arrays)
        with _explained():
            outputs = dict(self._loaded.run({s.name: a for s, a in zip(specs, arrays, strict=True)}))
        return copy_out(self._manifest.outputs, outputs, out)

    def shown(self) -> Shown:
        return Shown(self.backend, arrays_of(self._manifest.inputs), arrays_of(self._manifest.outputs))

    def close(self) -> None:
        """Frees the model, and the device for others."""
        self._close()


def compile_remote(target: str, model: Optimised, work: Work) -> RemoteModel:
    """On a device of the broker at WEBNN_RPC_BROKER. Raises InputError where it has none that can."""
    name, backend = parse_remote(target)
    try:
        from webnn_compile.rpc.client import connect
    except ImportError:
        raise InputError(f"target {target!r} needs websockets: pip install 'webnn-compile[tune]'") from None
    row = TARGETS[backend]
    artifact, _ = make_artifact_of(row, row.lower(model, work), work)
    if artifact.states:
        names = ", ".join(spec.name for spec in artifact.states)
        raise InputError(
            f"target {target!r} keeps no states ({names}) between runs: compile with states=() (--state none)"
        )
    manifest = make_manifest(artifact)
    with _explained(), contextlib.ExitStack() as opening:
        session = opening.enter_context(connect(os.environ.get(BROKER_VARIABLE, BROKER)))
        device = opening.enter_context(session.lease(name, backend, timeout=WAIT))
        options = {"backend": backend, **({"threads": work.options.threads} if row.webassembly else {})}
        loaded = opening.enter_context(device.load(manifest, options))
        full = f"{PREFIX}{device.info.name}/{loaded.info['backend']}"
        return RemoteModel(full, manifest, loaded, opening.pop_all())


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turns an RpcError, whose message says what a device cannot do, into an InputError."""
    from webnn_compile.rpc.client import RpcError

    try:
        yield
    except RpcError as error:
        raise InputError(str(error)) from None
