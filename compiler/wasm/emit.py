"""LLVM IR text to a relocatable wasm32 object, through llvmlite."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache

from ..codegen.llvm import llvm, version
from ..errors import InternalError
from ..system.cache import Cache, key_of
from .triple import TRIPLE

BASE_FEATURES = ("+simd128", "+bulk-memory", "+nontrapping-fptoint", "+sign-ext", "+mutable-globals")

_OPTIONS_LOCK = threading.Lock()


def emit_object(llvm_ir: str, *, relaxed: bool, threads: bool = False, cache: Cache | None = None) -> bytes:
    """Verifies, optimises and compiles one module of LLVM IR, unless `cache` holds the object.

    `relaxed` allows relaxed SIMD (a contracted multiply and add becomes one instruction; what `relax_extremes` did not
    replace may lose a NaN), `threads` atomics. Equal IR gives equal bytes. InternalError where LLVM refuses the IR.
    """
    features = _features(relaxed, threads)
    if cache is None:
        return _emit(llvm_ir, features)
    key = key_of(version, TRIPLE, features, llvm_ir)
    data = cache.get("object", key)
    if data is None:
        data = _emit(llvm_ir, features)
        cache.put("object", key, data)
    return data


def emit_assembly(llvm_ir: str, *, relaxed: bool) -> str:
    """The code of `emit_object` as text to read."""
    return _emit(llvm_ir, _features(relaxed, threads=False), as_text=True).decode()


def _features(relaxed: bool, threads: bool) -> list[str]:
    return [*BASE_FEATURES, *(["+relaxed-simd"] if relaxed else []), *(["+atomics"] if threads else [])]


def _emit(llvm_ir: str, features: Sequence[str], *, as_text: bool = False) -> bytes:
    _initialise_llvm()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu="generic", features=",".join(features), opt=3, reloc="static"
    )
    with ExitStack() as owned:
        # A context of its own, so that the types and constants of a large module are freed with it, and after it.
        context = owned.enter_context(llvm.create_context())
        try:
            module = owned.enter_context(llvm.parse_assembly(llvm_ir, context))
            module.verify()
        except RuntimeError as error:
            raise InternalError(f"wasm: LLVM refuses the generated code: {str(error).strip()}") from None
        _optimise(module, machine)
        with _scheduled_as_written():
            data: bytes = machine.emit_assembly(module).encode() if as_text else machine.emit_object(module)
    return data


@cache
def _initialise_llvm() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Cleans up inside each function; inlines only what says `alwaysinline`, and keeps loops as they were scheduled.

    Of the pipelines that llvmlite offers, LLVM's function simplification takes 65 to 80% of the time of the default O3
    with the same inner loops. At level 1 it is faster still, but leaves more integer operations in them, and so do
    hand-made lists of passes, for want of loop-invariant code motion. O3 would also inline kernels with one caller.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.loop_interleaving = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    inliner = llvm.create_new_module_pass_manager()
    inliner.add_always_inliner_pass()
    inliner.run(module, builder)
    simplifier = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplifier.run(function, builder)


@contextmanager
def _scheduled_as_written() -> Iterator[None]:
    """Inside, LLVM's code generators keep the order of the IR and its address arithmetic.

    Loop strength reduction would turn constant load offsets into additions, and the instruction scheduler lengthen live
    ranges beyond the registers that a browser's compiler has. Both options are global to the process, so they are put
    back for whoever else compiles in it; no two emissions may overlap.
    """
    with _OPTIONS_LOCK:
        llvm.set_option("", "-disable-lsr")
        llvm.set_option("", "-pre-RA-sched=source")
        try:
            yield
        finally:
            llvm.set_option("", "-disable-lsr=false")
            llvm.set_option("", "-pre-RA-sched=default")
