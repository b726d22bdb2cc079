"""A model compiled for a GPU, independent of its API: kernels as source text, their memory, launches in order.

load:  create storages (zeroed), upload constants, launch `prepare`, release the storages that only it used
run:   upload inputs, run `steps`, read back outputs

    Step = Launch | HostCall | ReadScalar | Loop | Branch                                                    (steps.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..dtypes import F16, DType
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, value_of
from .dimensions import Dimension
from .live_ranges import LiveRange
from .program import Program, TensorSpec
from .refusals import Refusal
from .steps import Branch, Loop, leaves
from .steps import Step as AnyStep

Access = Literal["read", "write"]
Extents = tuple[int, int, int]

Feature = Literal["shader-f16", "subgroups"]
"""A feature of WebGPU that not all devices have."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The layout of a physical shape in a 2-D array texture of four components a texel.

    `tile` = 0, flat: linear element e is component e % 4 of texel t = e // 4, at x = t % 2048, y = t // 2048 % 2048,
    layer t // 2**22. `tile` = L > 0, an image: with c the last axis, w the one before it (extent W) and h all others
    folded, component c % 4 of the texel at x = c // 4 * ceil(W / L) + w // L, y = h, layer w % L. A `tall` image has
    its channels below each other, not side by side: x = w // L, y = h * ceil(C / 4) + c // 4. The rows of an image may
    be in several `bands` of R = `height` side by side: y = h % R, x is h // R * ceil(C / 4) * ceil(W / L) more.
    In a tall image groups of channels are rows: x is ceil(W / L) more for each band.
    """

    width: int
    height: int
    layers: int
    tile: int = 0
    tall: bool = False
    bands: int = 1

    @property
    def elements(self) -> int:
        """Components of all texels, four each."""
        return self.width * self.height * self.layers * 4


@dataclass(frozen=True, slots=True)
class Subdimension:
    """Part of dimension `dim` of a physical shape: `extent` positions, `step` elements apart."""

    dim: int
    step: int
    extent: int


@dataclass(frozen=True, slots=True)
class Storage:
    """Device memory. `bytes` of a buffer, or of all texels of the texture `placement` describes; `dtype` is one of
    float32, float16, int32, uint32, or for constants of few bits. `prepare_only`: not needed after `prepare`. `state`:
    of each session its own, which outlives a run."""

    bytes: int
    dtype: DType
    placement: Placement | None = None
    prepare_only: bool = False
    state: bool = False


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """A tensor on the device: `shape` is physical, its elements are linear or in the storage's placement. `dtype` is
    the model's; on the device the elements have the storage's type. `live` is the live range of what is computed in a
    run, with the values that share its memory; None for constants."""

    name: str
    storage: int
    dtype: DType
    shape: tuple[int, ...]
    live: LiveRange | None = None


@dataclass(frozen=True, slots=True)
class Param:
    """A binding of a kernel, in the order of its parameters; `dtype` is that of the shader."""

    dtype: DType
    access: Access


@dataclass(frozen=True, slots=True)
class Declarations:
    """The declarations before a fragment shader's `source`, in the types of its language: uniforms p0, p1, ..., one of
    `samplers` each, and outputs o0, o1, ... of the type `output`, one for each layer of the grid. A device that draws
    to fewer layers at once declares the outputs of the others as variables."""

    samplers: tuple[str, ...]
    output: str


@dataclass(frozen=True, slots=True)
class Strips:
    """Texels that a draw covers: `length` of them from the `first` on, and those of each `period` behind them, `count`
    strips in all. They are counted through the texture's rows, of `width` each."""

    first: Size
    length: Size
    period: int
    count: int
    width: int

    @property
    def sizes(self) -> tuple[Size, ...]:
        return self.first, self.length, self.period, self.count, self.width

    def rectangles(self, scalars: Mapping[Scalar, int]) -> Iterator[tuple[int, int, int, int]]:
        """Left, top, width and height of what covers each strip."""
        first, length = value_of(self.first, scalars), value_of(self.length, scalars)
        for i in range(self.count):
            start = first + i * self.period
            top, end = start // self.width, -(-(start + length) // self.width)
            yield (start % self.width, top, length, 1) if end == top + 1 else (0, top, self.width, end - top)


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """`source` is one shader with entry point `main`, without `declarations` where there are any. `grid` is workgroups
    of `workgroup` invocations, or width, height and layers of the texels that a draw covers (WebGL); it depends on
    `scalars`, integers that a launch passes; of a draw that covers less there are `strips`. `flops` and
    `bytes` of one launch are for reports and profiles. `with_subgroups` is the same kernel for devices that have these,
    where it saves a barrier. `features` are those that `source` requires of a device."""

    name: str
    source: str
    params: tuple[Param, ...]
    grid: tuple[Size, Size, Size]
    flops: int = 0
    bytes: int = 0
    with_subgroups: str | None = None
    declarations: Declarations | None = None
    features: tuple[Feature, ...] = ()
    workgroup: Extents = (1, 1, 1)
    scalars: tuple[Scalar, ...] = ()
    strips: Strips | None = None

    def grid_of(self, scalars: Sequence[int]) -> Extents:
        """The grid of a launch with these scalars; without workgroups where one of its dimensions is 0."""
        env = dict(zip(self.scalars, scalars, strict=True))
        x, y, z = (value_of(n, env) for n in self.grid)
        return x, y, z


@dataclass(frozen=True, slots=True)
class Alternative:
    """A kernel that may take the place of one that a device computes wrongly: it has the same parameters, over the same
    storages, and `kind` says what it does without: arithmetic of float16, or all that a schedule adds."""

    kind: Literal["without-f16", "other-schedule"]
    kernel: DeviceKernel


@dataclass(frozen=True, slots=True)
class Launch:
    """`arguments` are indices of values, one per parameter. `nodes` and `ops` are the ONNX nodes it covers. `scalars`
    are passed for those of the kernel. `forms` say how its results are computed (`ir/forms`)."""

    kernel: int
    name: str
    arguments: tuple[int, ...]
    nodes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    forms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostCall:
    """Steps `first` to `last` (excluded) of the host's program run in wasm: values in `reads` are read back from the
    device before, those in `writes` uploaded after; `offsets` in bytes into the host's arena, reads first. `reason`:
    why not on the device."""

    first: int
    last: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    offsets: tuple[int, ...]
    name: str
    nodes: tuple[str, ...]
    ops: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ScalarLocation:
    """Where a single element is: that of a value on the device, `offset` bytes into the host's arena, or that of an
    input of the model, by its number. The others are -1."""

    value: int = -1
    offset: int = -1
    input: int = -1


@dataclass(frozen=True, slots=True)
class ReadScalar:
    """The int32 at a place becomes the value of a scalar, from now on."""

    scalar: Scalar
    place: ScalarLocation


@dataclass(frozen=True, slots=True)
class CopyDimension:
    """A dimension of a strided copy: `extent` elements, `stride` apart in the source, and `weight` apart along a
    logical axis (-1 where the copy is always within its limit)."""

    extent: int
    stride: int
    axis: int
    weight: int


@dataclass(frozen=True, slots=True)
class Constant:
    """`bytes` of the bundle's weights from `offset` on, elements of `dtype`, are uploaded to `value` at load.

    Unchanged, or by the strided copy of `dimensions`, outermost first, over the whole storage of the value: elements at
    or beyond the limit of a logical axis are zero.
    """

    value: int
    offset: int
    bytes: int
    dtype: DType
    dimensions: tuple[CopyDimension, ...] | None = None
    limits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Padding:
    """The storage of an argument, the result being 0 and the operand before it 1, in `dimensions`, outermost first,
    over all of its elements: those at or beyond the limit of a logical axis are padding. Strides are 0."""

    argument: int
    dimensions: tuple[CopyDimension, ...]
    limits: tuple[int, ...]


UNIT, POSITIVE, LARGE = 1, 0.5, 2048
"""Floats of canaries: from -1 to below 1; from 0.5 to below 1.5; from -2048 to below 2048, whose sums of products are
beyond those of float16."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A launch by which a device shows at load that it computes a kernel rightly.

    Its operands are filled from a seed (`canaries/canary_values.py`), in storages of their own, and so are constants;
    what is `padding` there is zero. Floats are those of `floats`, and `integers` is a mask of all integers.
    `scalars` are passed. Of the result, elements that are no padding, `norm` is the root of the sum of squares, and
    `checksum` the sum with random signs, away from zero by some norms: a device may be off by `tolerance` times the
    norm. Elements beyond `most` count as that: a result may have infinities, or the least float
    as a mask. `launch` is the number among all launches, the first of its kernel.
    """

    launch: int
    checksum: float
    norm: float
    tolerance: float
    scalars: tuple[int, ...] = ()
    floats: float = UNIT
    integers: int | None = None
    most: float | None = None
    padding: tuple[Padding, ...] = ()


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the model, row-major: the `value` that holds it on the device, -1 for none; the offset in
    its specification is that in the host's arena, -1 for none. An input may be in both, or in neither."""

    spec: TensorSpec
    value: int


Step = AnyStep[Launch | HostCall | ReadScalar, ScalarLocation]
Steps = Sequence[Step]


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """`backend` is the name of its target. `host` has a segment for each of the calls among `steps`, in order;
    `dimensions` are the sizes that each run decides, `refusals` the branches that none may take, `states` the inputs
    that the run before has left on the device. `canaries` are of distinct kernels; of some of these there are
    `alternatives`, by the kernel's number, the fastest first.

    The values of scalars are known outside of the device: those of dimensions by the arrays of a run, counters of
    loops, and what is measured.
    """

    backend: str
    name: str
    kernels: tuple[DeviceKernel, ...]
    storages: tuple[Storage, ...]
    values: tuple[DeviceValue, ...]
    constants: tuple[Constant, ...]
    prepare: tuple[Launch, ...]
    steps: tuple[Step, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    host: Program | None = None
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    states: tuple[Port, ...] = ()
    canaries: tuple[Canary, ...] = ()
    alternatives: Mapping[int, tuple[Alternative, ...]] = field(default_factory=dict)

    @property
    def work(self) -> tuple[Launch | HostCall, ...]:
        """Launches and calls of the host as they stand."""
        return tuple(s for s in self.leaves if not isinstance(s, ReadScalar))

    @property
    def leaves(self) -> tuple[Launch | HostCall | ReadScalar, ...]:
        """Launches, calls and measurements, without the loops and branches around them, in their order in the steps."""
        return tuple(leaves(self.steps))

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All, by number: those of `prepare` first."""
        return (*self.prepare, *(s for s in self.leaves if isinstance(s, Launch)))

    @property
    def calls(self) -> tuple[HostCall, ...]:
        return tuple(s for s in self.leaves if isinstance(s, HostCall))

    @property
    def readbacks(self) -> int:
        """How many steps wait for values from the device, each counted once; a run's outputs are not."""
        return sum(_waits(s) for s in self.steps)

    @property
    def bytes(self) -> int:
        """Device memory after load, with the states of one session."""
        return sum(s.bytes for s in self.storages if not s.prepare_only)

    @property
    def state_bytes(self) -> int:
        """Device memory for the states of one session."""
        return sum(s.bytes for s in self.storages if s.state)

    @property
    def halves_states(self) -> bool:
        """Whether states are stored as float16."""
        return any(s.state and s.dtype == F16 for s in self.storages)


def _is_on_device(condition: ScalarLocation | Expr) -> bool:
    return isinstance(condition, ScalarLocation) and condition.value >= 0


def _waits(step: Step) -> int:
    match step:
        case Loop(condition=condition, body=body):
            return (condition is not None and condition.value >= 0) + sum(map(_waits, body))
        case Branch(condition=condition, then=then, otherwise=otherwise):
            return _is_on_device(condition) + sum(map(_waits, (*then, *otherwise)))
        case HostCall(reads=reads):
            return bool(reads)
        case ReadScalar(place=place):
            return place.value >= 0
    return 0
