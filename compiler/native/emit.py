"""LLVM IR text to machine code of a processor: this machine's, or one that it is named."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache

from ..codegen.llvm import llvm, version
from ..errors import InternalError
from ..system.cache import Cache, key_of


@dataclass(frozen=True, slots=True)
class Processor:
    """By LLVM's names. `features` are those that code for it may use, beside what the triple and the name imply."""

    triple: str
    name: str
    features: str = ""

    @property
    def architecture(self) -> str:
        """As `platform.machine()` has it."""
        return self.triple.partition("-")[0]


@cache
def host() -> Processor:
    """This machine's."""
    features = llvm.get_host_cpu_features().flatten()
    return Processor(llvm.get_default_triple(), llvm.get_host_cpu_name(), features)


def target_machine(processor: Processor, *, jit: bool) -> llvm.TargetMachine:
    """A new one; without `jit` for position-independent code."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine: llvm.TargetMachine = llvm.Target.from_triple(processor.triple).create_target_machine(
        cpu=processor.name,
        features=processor.features,
        opt=3,
        reloc="default" if jit else "pic",
        codemodel="jitdefault" if jit else "default",
        jit=jit,
    )
    return machine


@cache
def header(processor: Processor, *, jit: bool) -> str:
    """The head of every module of LLVM IR for the processor."""
    machine = target_machine(processor, jit=jit)
    return f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'


def emit_object(llvm_ir: str, processor: Processor, cache: Cache, *, jit: bool) -> bytes:
    """The object file of a module of LLVM IR, unless `cache` has it from an earlier build. InternalError where LLVM
    refuses the text."""
    key = key_of(version, processor, jit, llvm_ir)
    data = cache.get("object", key)
    if data is None:
        data = _emit(llvm_ir, target_machine(processor, jit=jit))
        cache.put("object", key, data)
    return data


def _emit(llvm_ir: str, machine: llvm.TargetMachine) -> bytes:
    with ExitStack() as owned:
        context = owned.enter_context(llvm.create_context())
        try:
            module = owned.enter_context(llvm.parse_assembly(llvm_ir, context))
            module.verify()
        except RuntimeError as error:
            raise InternalError(f"native: LLVM refuses the generated code: {str(error).strip()}") from None
        _simplify(module, machine)
        data: bytes = machine.emit_object(module)
    return data


def _simplify(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = options.loop_vectorization = False
    options.loop_interleaving = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    simplifier = builder.getFunctionPassManager()
    for f in module.functions:
        if not f.is_declaration:
            simplifier.run(f, builder)
