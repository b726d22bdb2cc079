"""The choice of a linker: the built-in one, or LLVM's or Emscripten's where the user has them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError
from ..program.plan_memory import align
from . import binary
from .binary import Reader
from .finalise import HEAP_BASE, STACK_POINTER, finalise
from .finalise import Linked as Linked

LINKERS = ("builtin", "wasm-ld", "emcc")


def link(
    object_bytes: bytes,
    exports: Sequence[str],
    *,
    linker: str = "builtin",
    stack_bytes: int = 65536,
    shared: bool = False,
    max_pages: int = 16384,
) -> Linked:
    """Makes a module of one object; every linker keeps the contract of `finalise` on memory, imports and exports.

    InputError where the requested linker is unknown, not installed, or fails; InternalError as `finalise`.
    """
    program = find_linker(linker)
    shared_pages = max_pages if shared else None
    match linker:
        case "wasm-ld":
            options = _wasm_ld(exports, stack_bytes, shared_pages)
        case "emcc":
            options = _emcc(exports, stack_bytes, shared_pages, max_pages)
        case _:
            return finalise(object_bytes, exports, stack_bytes=stack_bytes, shared=shared, max_pages=max_pages)
    return _adapt(_run(linker, [*program, *options], object_bytes), exports, linker, shared_pages)


def find_linker(linker: str) -> list[str]:
    """The command that starts it, nothing for the built-in one. InputError where it is unknown or not installed."""
    match linker:
        case "builtin":
            return []
        case "wasm-ld":
            if path := shutil.which("wasm-ld"):
                return [path]
            if importlib.util.find_spec("ziglang"):
                return [sys.executable, "-m", "ziglang", "wasm-ld"]
            raise InputError(
                "--wasm-linker wasm-ld: there is no wasm-ld on the PATH; install LLVM's linker (`pip install ziglang`, "
                "or the package lld), or leave the option out to use the built-in linker"
            )
        case "emcc":
            if path := shutil.which("emcc"):
                return [path]
            raise InputError(
                "--wasm-linker emcc: there is no emcc on the PATH; install Emscripten (https://emscripten.org), or "
                "leave the option out to use the built-in linker"
            )
        case _:
            raise InputError(f"--wasm-linker {linker}: choose one of {', '.join(LINKERS)}")


def _wasm_ld(exports: Sequence[str], stack_bytes: int, shared_pages: int | None) -> list[str]:
    options = ["--no-entry", "--strip-all", "--import-memory", "--allow-undefined", "--stack-first"]
    options += ["-z", f"stack-size={stack_bytes}", *(f"--export={e}" for e in (*exports, HEAP_BASE))]
    if shared_pages is not None:
        options += ["--shared-memory", f"--max-memory={shared_pages * binary.PAGE_BYTES}", f"--export={STACK_POINTER}"]
    return options


def _emcc(exports: Sequence[str], stack_bytes: int, shared_pages: int | None, max_pages: int) -> list[str]:
    settings = [
        "IMPORTED_MEMORY=1",
        f"TOTAL_STACK={stack_bytes}",
        f"INITIAL_MEMORY={min(max_pages, 16384) * binary.PAGE_BYTES}",
        "ERROR_ON_UNDEFINED_SYMBOLS=0",
        "WARN_ON_UNDEFINED_SYMBOLS=0",
        "EXPORTED_FUNCTIONS=" + ",".join("_" + e for e in exports),
    ]
    names = [HEAP_BASE]
    if shared_pages is not None:
        settings.append("SHARED_MEMORY=1")
        names.append(STACK_POINTER)
    return ["-nostdlib", "--no-entry", *(f"-s{s}" for s in settings), *(f"-Wl,--export={n}" for n in names)]


def _run(linker: str, command: list[str], object_bytes: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="webnn-compile-") as folder:
        source, result = Path(folder, "object.o"), Path(folder, "module.wasm")
        source.write_bytes(object_bytes)
        # Emscripten makes a program without an entry only beside a JavaScript file.
        output = result.with_suffix(".js") if linker == "emcc" else result
        try:
            done = subprocess.run(
                [*command, str(source), "-o", str(output)], capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise InputError(f"--wasm-linker {linker}: {command[0]} does not start: {error}") from None
        if done.returncode != 0 or not result.exists():
            raise InputError(
                f"--wasm-linker {linker}: it fails with exit status {done.returncode}: {done.stderr.strip()}; a newer "
                "version may help, or leave the option out to use the built-in linker"
            )
        return result.read_bytes()


def _adapt(module: bytes, exports: Sequence[str], linker: str, shared_pages: int | None) -> Linked:
    """Leaves out custom sections, exports that were not requested, and memory beyond the stack and the static data."""
    what = f"module made by {linker}"
    parts = {s.number: s.body for s in binary.sections(module, what) if s.number != binary.CUSTOM}
    exported = _exports(Reader(parts.get(binary.EXPORT, b"\0"), what))
    names = [*exports, *([STACK_POINTER] if shared_pages is not None else [])]
    if missing := [name for name in (*names, HEAP_BASE) if name not in exported]:
        raise InputError(
            f"--wasm-linker {linker}: its module lacks the exports {', '.join(missing)}; try another version"
        )
    index, _ = exported[HEAP_BASE]
    address = _globals(Reader(parts.get(binary.GLOBAL, b"\0"), what))[index]
    heap_base = align(address)
    parts[binary.EXPORT] = binary.vector(exported[name][1] for name in dict.fromkeys(names))
    parts[binary.IMPORT] = _imports(Reader(parts.get(binary.IMPORT, b"\0"), what), heap_base, shared_pages)
    return Linked(binary.MAGIC + b"".join(binary.section(n, body) for n, body in parts.items()), heap_base)


def _exports(reader: Reader) -> dict[str, tuple[int, bytes]]:
    """Name -> its index, and the export as encoded."""
    exports: dict[str, tuple[int, bytes]] = {}
    for _ in range(reader.uleb()):
        start = reader.position
        name = reader.name()
        reader.byte()
        index = reader.uleb()
        exports[name] = (index, reader.data[start : reader.position])
    return exports


def _globals(reader: Reader) -> list[int]:
    """The initial value of each global; these linkers make i32 ones only and import none."""
    values: list[int] = []
    for _ in range(reader.uleb()):
        reader.take(2)
        values.append(reader.i32_const() & 0xFFFFFFFF)
    return values


def _imports(reader: Reader, heap_base: int, shared_pages: int | None) -> bytes:
    """The imports, with a memory as the contract has it."""
    items: list[bytes] = []
    for _ in range(reader.uleb()):
        start = reader.position
        module, field, kind = reader.name(), reader.name(), reader.byte()
        if kind == binary.EXTERN_MEMORY:
            reader.limits()
            items.append(binary.memory_import(module, field, heap_base, shared_pages))
        elif kind == binary.EXTERN_FUNCTION:
            reader.uleb()
            items.append(reader.data[start : reader.position])
        else:
            raise reader.fail(f"an import {field!r} that is neither function nor memory")
    return binary.vector(items)
