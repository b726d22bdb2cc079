"""One launch of each distinct kernel of a device program, with its result by this machine's processor: at load a device
shows by them that it computes kernels rightly, which not every driver does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, floor, log2, log10

import numpy as np

from ..dtypes import F16, DType
from ..errors import InputError, InternalError
from ..gpu.plan_for_device import DevicePlan
from ..ir.facts import Facts
from ..ir.nodes import Binary, Const, Expr, For, Kernel, Scalar, Store, Var
from ..ir.rewrite import replace_buffers, substitute, walk
from ..ir.scalar_ops import DOTS
from ..ir.sizes import scalars_of, value_of
from ..ir.verify import verify_kernel
from ..passes.compute_in_halves import compute_in_floats
from ..passes.count_work import count_work
from ..passes.store_narrow import load_wide
from ..pipeline.lazy_kernels import describe
from ..program.device_program import LARGE, POSITIVE, UNIT, Canary, DeviceProgram, Padding
from ..system.cache import Cache, key_of
from .canary_values import FEW, NORMS, canary_sums, canary_values, checksum_of, integer_range
from .native_kernels import NativeKernels
from .place_elements import Place, place_operand, place_result
from .tolerances import EXACT, LOOSEST, SUMS, amplifies, base_tolerance, sums_products

Array = np.ndarray

MOST_WORK = 40_000_000_000
"""Operations of a launch above which a kernel has no canary: the build makes them up to three times, a second each."""
MOST_ELEMENTS = 1 << 24
"""Elements of a launch's operands and its result, likewise: a page fills them, in device memory of their own."""
SIZE = 23
"""Sizes that a run decides are about so large, and each another."""
WORDS = 0x07070707
"""A mask of integers that are words of bytes, whose sums of products fit in any type."""
MOVED = 2.0**-20
"""Operands are moved about so far, relatively, to see how much a kernel amplifies a device's rounding."""
CONDITION = 4
"""Errors may be so many times the change of a result whose operands are moved."""
SMALLEST = 2.0**-14
"""Float16 below this may be zero on a device."""

MASK = 1e3
"""Elements of a result that are so many times as large as small ones stand for infinity: a mask of attention is -10000,
or the least float, or less, and a float16 of these is -65504."""

HUGE = 1e30
"""Elements from this on stand for infinity, too: drivers read the text of the largest float as such."""

CANARY = "canary"
"""The kind of cache entry that holds a kernel's canary, or why it has none."""

NO_MEMORY = "this machine has too little memory to compute its result"
"""Why a kernel has no canary that another machine may give one."""


def make_canaries(
    plan: DevicePlan, program: DeviceProgram, cache: Cache
) -> tuple[tuple[Canary, ...], Mapping[int, str]]:
    """The canaries of a program that was compiled by `plan`, in the order of its launches, and why the other kernels
    have none, by their numbers: those that are too large, or whose results are not finite, amplify rounding errors, or
    have no known order in memory."""
    found: dict[int, Canary | str] = {}
    missing: dict[int, _Trial] = {}
    for kernel, launch in _first_launches(program).items():
        trial = _trial(plan, program, launch)
        if isinstance(trial, str):
            found[kernel] = trial
        elif (data := cache.get(CANARY, trial.key)) is None:
            missing[kernel] = trial
        else:
            found[kernel] = trial.from_bytes(data)
    if missing:
        try:
            native = NativeKernels([trial.kernel for trial in missing.values()], cache)
        except InputError:
            found |= dict.fromkeys(missing, NO_MEMORY)
            missing = {}
        for number, (kernel, trial) in enumerate(missing.items()):
            found[kernel] = trial.run(native, number)
            cache.put(CANARY, trial.key, trial.to_bytes(found[kernel]))
    canaries = sorted((c for c in found.values() if isinstance(c, Canary)), key=lambda c: c.launch)
    return tuple(canaries), {kernel: c for kernel, c in sorted(found.items()) if isinstance(c, str)}


@dataclass(frozen=True, slots=True)
class _Trial:
    """A launch that may become a canary: `kernel` is naive, in types of 32 bits, of which the device stores the result
    as `stored`. `base` is the tolerance without what the kernel amplifies, `floats` what its operands may be, the best
    first."""

    kernel: Kernel
    launch: int
    scalars: tuple[int, ...]
    operands: tuple[Place, ...]
    result: Place
    stored: DType
    base: float
    floats: tuple[float, ...]
    integers: int | None
    padding: tuple[Padding, ...]
    key: str = field(repr=False)

    def to_bytes(self, canary: Canary | str) -> bytes:
        return json.dumps(canary if isinstance(canary, str) else {**asdict(canary), "padding": None}).encode()

    def from_bytes(self, data: bytes) -> Canary | str:
        """The inverse, for a trial of the same kernel."""
        fields = json.loads(data)
        own = {"launch": self.launch, "scalars": self.scalars, "padding": self.padding}
        return fields if isinstance(fields, str) else Canary(**(fields | own))

    def run(self, native: NativeKernels, number: int) -> Canary | str:
        """The canary, whose kernel is `native`'s of this number; where no operands give one, why the last of them do
        not."""
        found: Canary | str = ""
        for floats in self.floats:
            found = self._canary(native, number, floats)
            if isinstance(found, Canary):
                break
        return found

    def _canary(self, native: NativeKernels, number: int, floats: float) -> Canary | str:
        operands = [self._operand(i, floats) for i in range(len(self.operands))]
        exact = self._result(native, number, operands)
        most = _most(exact)
        total, norm = canary_sums(exact, most)
        if norm == 0:
            return "its result is zero on the operands of a canary"
        if not norm < np.inf:
            return "its result is not finite on the operands of a canary"
        tolerance = self.base
        others = [_as_halves(exact)] if self.stored == F16 else []
        if amplifies(self.kernel):
            moved = ([_moved(a, i * sign) for i, a in enumerate(operands, 2)] for sign in (1, -1))
            others += [self._result(native, number, near) for near in moved]
        for other in others:
            s, n = canary_sums(other, most)
            sensitivity = (abs(s - total) + NORMS * abs(n - norm)) / norm
            if not sensitivity < np.inf:
                return "its result is not finite, as it is stored or on operands near those of a canary"
            if CONDITION * sensitivity > LOOSEST:
                limit = LOOSEST / CONDITION
                return f"it amplifies rounding: its result moves by {sensitivity:.2g} of its norm, at most {limit:.3g}"
            tolerance = max(tolerance, CONDITION * sensitivity)
        tolerance = _least_wrong(norm) if tolerance == EXACT else float(f"{tolerance:.2g}")
        checksum = checksum_of(total, norm)
        return Canary(self.launch, checksum, norm, tolerance, self.scalars, floats, self.integers, most, self.padding)

    def _operand(self, number: int, floats: float) -> Array:
        place, param = self.operands[number], self.kernel.params[number]
        argument = len(self.operands) - number
        elements = canary_values(place.dtype, place.count, argument, floats, integers=self.integers)
        return place.array(elements.astype(param.dtype.numpy)).reshape(param.shape)

    def _result(self, native: NativeKernels, number: int, operands: Sequence[Array]) -> Array:
        out = self.kernel.params[-1]
        before = np.zeros(out.shape, out.dtype.numpy)
        return self.result.elements(native.run(number, operands, before, self.scalars))


def _moved(a: Array, steps: int) -> Array:
    """Floats that are a little larger, or smaller."""
    return a * np.float32(1 + steps * MOVED) if a.dtype.kind == "f" else a


def _as_halves(a: Array) -> Array:
    """Floats as a device stores them that has no subnormal numbers."""
    with np.errstate(over="ignore"):
        return np.where(np.abs(a) < SMALLEST, np.float32(0), a.astype(np.float16).astype(np.float32))


def _most(result: Array) -> float | None:
    """A power of two that no element exceeds but those that stand for infinity; None where there are none of these."""
    if result.dtype.kind != "f":
        return None
    sizes = np.abs(result)
    finite = sizes[(sizes < HUGE) & (sizes > 0)]
    if not len(finite):
        return 1.0 if (sizes >= HUGE).any() else None
    others = finite[finite <= MASK * np.quantile(finite, 0.1)]
    return None if others.max() == sizes.max() else float(2.0 ** ceil(log2(others.max())))


def _least_wrong(norm: float) -> float:
    """A tolerance of integers: a power of ten that allows a tenth at most, but for rounding in float64."""
    return max(EXACT, min(SUMS, float(10.0 ** floor(-1 - log10(norm)))))


def _first_launches(program: DeviceProgram) -> dict[int, int]:
    """The number of the first launch of each kernel, by the kernel's number."""
    first: dict[int, int] = {}
    for number, launch in enumerate(program.launches):
        first.setdefault(launch.kernel, number)
    return first


def _trial(plan: DevicePlan, program: DeviceProgram, number: int) -> _Trial | str:
    """The trial of a launch, by its number, or why its kernel has no canary."""
    launch = program.launches[number]
    backend, (naive, compiled) = plan.compiler.backend, plan.compiler.source_of(program.kernels[launch.kernel])
    if (elements := sum(b.size for b in naive.params)) > MOST_ELEMENTS:
        return f"too large: {elements:,} elements, at most {MOST_ELEMENTS:,}"
    if (work := count_work(naive, naive)) > MOST_WORK:
        return f"too large: {work:,} operations, at most {MOST_WORK:,}"
    sizes = _sizes(naive.scalars)
    scalars = tuple(sizes.values())
    values = [program.values[a] for a in launch.arguments]
    safe = _with_safe_integers(load_wide(compute_in_floats(naive))[0], [v.dtype for v in values])
    corner = _corner(naive, sizes)
    if safe is None:
        return "integers that it reads may lead it out of bounds"
    if any(n < s.low for s, n in sizes.items()) or corner is None or not all(compiled.kernel.grid_of(scalars)):
        tried = "".join(f"; {s.name} = {n}" for s, n in sizes.items())
        return f"it computes nothing at the sizes of a canary{tried}"
    kernel, integers = safe
    operands = [place_operand(backend, naive, compiled, i, v) for i, v in enumerate(values[:-1])]
    result = place_result(backend, naive, compiled, corner, values[-1])
    found = tuple(p for p in operands if p is not None)
    if result is None:
        return "its result has no strided order in memory"
    if len(found) < len(operands):
        return f"its operand {operands.index(None) + 1} has no strided order in memory"
    arranged = {c.value for c in program.constants if c.dimensions is not None}
    padding = tuple(
        p.padding(i)
        for i, (p, value) in enumerate(zip((result, *reversed(found)), reversed(launch.arguments), strict=True))
        if p.is_padded and value not in arranged
    )
    base, stored = base_tolerance(naive), program.storages[values[-1].storage].dtype
    is_large = stored != F16 and sums_products(naive)
    floats = (LARGE, UNIT, POSITIVE) if is_large else (UNIT, POSITIVE)
    key = key_of(describe(naive), found, result, stored, base, integers, scalars)
    return _Trial(kernel, number, scalars, found, result, stored, base, floats, integers, padding, key)


def _sizes(scalars: Sequence[Scalar]) -> dict[Scalar, int]:
    """Numbers that a canary passes: a scalar whose length is a size, as the number of a loop's step, is below it."""
    sizes = {s: min(max(SIZE - 2 * i, s.low, 1), s.extent - 1) for i, s in enumerate(scalars)}
    for _ in scalars:  # as many times as lengths could depend on each other
        for s in scalars:
            if s.length is not None and all(other in sizes for other in scalars_of(s.length)):
                sizes[s] = min(sizes[s], value_of(s.length, sizes) - 1)
    return sizes


def _with_safe_integers(kernel: Kernel, dtypes: Sequence[DType]) -> tuple[Kernel, int | None] | None:
    """The kernel, and the mask of the integers that it reads, of the model's `dtypes`, where its accesses are proved to
    stay in bounds."""
    if not any(b.dtype.is_int for b in kernel.params[:-1]):
        return kernel, None
    of_words = any(isinstance(n, Binary) and n.op in DOTS for n in walk(kernel.body))
    for mask in (WORDS if of_words else None, FEW, 1, 0):
        now = {
            b: replace(b, values=integer_range(dtype, mask))
            for b, dtype in zip(kernel.params[:-1], dtypes, strict=False)
            if b.dtype.is_int
        }
        params = tuple(now.get(b, b) for b in kernel.params)
        known = replace(kernel, params=params, body=replace_buffers(kernel.body, now))
        try:
            verify_kernel(known, "make_canaries")
        except InternalError:
            continue
        return known, mask
    return None


def _corner(kernel: Kernel, sizes: Mapping[Scalar, int]) -> tuple[int, ...] | None:
    """How far a kernel's loops write its result, by dimension; None where they do not run."""
    env: dict[Var, Expr] = {s: Const(n) for s, n in sizes.items()}
    for n in walk(kernel.body):
        if isinstance(n, For):
            trips = n.var.extent if n.var.length is None else value_of(n.var.length, sizes)
            env[n.var] = Var(n.var.name, max(trips, 0))
    out, facts = kernel.params[-1], Facts({})
    written = [n.indices for n in walk(kernel.body) if isinstance(n, Store) and n.buffer is out]
    ends = tuple(
        max((min(facts.index(substitute(indices[d], env))[1] + 1, extent) for indices in written), default=0)
        for d, extent in enumerate(out.shape)
    )
    return ends if all(n > 0 for n in ends) else None
