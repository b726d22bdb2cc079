"""Runs a linked module outside a browser, by wasmtime (extra `verify`)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InternalError

if TYPE_CHECKING:
    import wasmtime

Number = int | float
HostFunction = Callable[..., Number | None]


class WasmInstance:
    """An instance of a module with a fresh memory of its own, of `pages` pages of 64 KiB.

    `imports` holds the functions that the module imports from `env`. Unless it is `deterministic`, relaxed instructions
    are those of this processor. Modules for threads are not run: wasmtime's Python
    binding cannot hand a shared memory to a module. InputError where wasmtime is not installed, InternalError where it
    refuses the module.
    """

    def __init__(
        self,
        module: bytes,
        *,
        pages: int,
        relaxed: bool,
        deterministic: bool = True,
        imports: Mapping[str, HostFunction] | None = None,
    ) -> None:
        try:
            import wasmtime
        except ImportError:
            raise InputError(
                "running a WebAssembly module outside a browser needs the package wasmtime: "
                "pip install 'webnn-compile[verify]'"
            ) from None
        config = wasmtime.Config()
        config.wasm_simd = True
        config.wasm_relaxed_simd = relaxed
        # Else Cranelift's maximum drops a NaN in its second operand, which browsers keep.
        config.wasm_relaxed_simd_deterministic = relaxed and deterministic
        engine = wasmtime.Engine(config)
        self._store = wasmtime.Store(engine)
        try:
            compiled = wasmtime.Module(engine, module)
            externs = [self._extern(declared, pages, imports or {}) for declared in compiled.imports]
            self._exports = wasmtime.Instance(self._store, compiled, externs).exports(self._store)
        except wasmtime.WasmtimeError as error:
            raise InternalError(f"wasmtime refuses the WebAssembly module: {error}") from None

    def _extern(
        self, declared: wasmtime.ImportType, pages: int, functions: Mapping[str, HostFunction]
    ) -> wasmtime.Memory | wasmtime.Func:
        import wasmtime

        kind, name = declared.type, declared.name or ""
        if isinstance(kind, wasmtime.MemoryType):
            self._memory = wasmtime.Memory(self._store, wasmtime.MemoryType(wasmtime.Limits(pages, 65536)))
            return self._memory
        if isinstance(kind, wasmtime.FuncType) and name in functions:
            return wasmtime.Func(self._store, kind, functions[name])
        raise InternalError(f"the WebAssembly module imports {declared.module}.{name}, which is not provided")

    @property
    def memory(self) -> NDArray[np.uint8]:
        """The whole memory, writable in place, up to where it ends at this moment."""
        size = self._memory.data_len(self._store)
        address = ctypes.cast(self._memory.data_ptr(self._store), ctypes.c_void_p).value
        assert address is not None
        raw = (ctypes.c_uint8 * size).from_address(address)
        raw.keeps_alive = self._store  # type: ignore[attr-defined]  # the array would not, by itself
        return np.ctypeslib.as_array(raw)

    def grow(self, pages: int) -> int:
        """Adds pages to the memory, of zeros; returns the address of the first. Arrays of `memory` that were taken
        before are not valid any more. InternalError where there is no room."""
        import wasmtime

        try:
            return int(self._memory.grow(self._store, pages)) * 65536
        except wasmtime.WasmtimeError as error:
            raise InternalError(f"the WebAssembly memory cannot grow by {pages} pages: {error}") from None

    def call(self, name: str, *args: Number) -> Number | None:
        """Calls an exported function; InternalError where it traps, an exception of an imported function passes."""
        import wasmtime

        function = self._exports.get(name)
        if not isinstance(function, wasmtime.Func):
            raise InternalError(f"the WebAssembly module does not export the function {name!r}")
        try:
            result: Number | None = function(self._store, *args)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise InternalError(f"WebAssembly function {name!r} stopped: {error}") from None
        return result
