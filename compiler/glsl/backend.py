"""The WebGL 2 backend: values in textures, kernels as fragment shaders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import prod

from ..choices import DEFAULT, Choices
from ..codegen.device_backend import CompiledKernel, Placements
from ..costs import WEBGL_COSTS, GpuCosts
from ..dtypes import F32, I8, I16, I32, U8, U16, U32, DType
from ..errors import CannotExpress
from ..ir.forms import Transform, forms_of
from ..ir.nodes import Buffer, Kernel, Store
from ..ir.rewrite import walk
from ..ir.sizes import scalars_of
from ..passes.count_work import count_work
from ..passes.store_narrow import load_wide, store_narrow
from ..program.device_program import DeviceKernel, Param, Placement, Subdimension
from ..schedule.by_choices import schedule_by
from ..schedule.rules.fragment_constants import order_constants
from ..schedule.schedule_fragment import schedule_fragment
from ..system.run_passes import Observer, ignore, names_of
from ..target import TEXEL, LayoutPolicy, Stages
from .compose import compose
from .live_area import live_area
from .live_strips import live_strips
from .lower import FRAGMENT_PASSES, lower_fragment
from .render import declare, own_texel, render
from .textures import TILE, pad_to_texture, place_flat, place_image, texel_order, use_textures

UNITS = 16
"""Most textures that a shader reads (MAX_TEXTURE_IMAGE_UNITS)."""

LAYERS = 256
"""Most layers of a texture (MAX_ARRAY_TEXTURE_LAYERS)."""


TEXELS = {I8: I32, I16: I32, U8: U32, U16: U32}
"""Types of elements as shaders have them, by the narrower ones that textures hold."""

SERIAL = 2048
"""Most elements that one fragment reduces, where fragments are few: longer loops leave a GPU idle, and may trip its
watchdog."""

REDUCERS = 1024
"""Minimum occupancy, in fragments of which each computes a reduction."""


def _is_image(extents: tuple[int, ...], varies: bool) -> bool:
    return place_image(extents, drawn=True, partly=varies) is not None


POLICY = LayoutPolicy(
    halos=False,
    fill_halos=False,
    linear=False,
    is_image=_is_image,
    reads=UNITS,
    stages=Stages(SERIAL, REDUCERS),
    windows=(0, 2, 1, 3),
    in_place=False,
    few_launches=True,
    device=WEBGL_COSTS,
)

STAGES = (
    "narrow_types",
    "load_wide",
    "order_constants",
    "schedule_fragment",
    "use_textures",
    "store_narrow",
    *names_of(FRAGMENT_PASSES),
    "glsl",
)
"""The stages of each kernel that the observer of a backend receives, in order."""


@dataclass(frozen=True, slots=True)
class WebGl:
    """Values in textures of four 32-bit elements a texel. There are no halos: a fragment writes whole tiles of pixels,
    which halos would misalign."""

    name: str = "webgl"
    layouts: LayoutPolicy = POLICY
    costs: GpuCosts = WEBGL_COSTS
    observe: Observer = field(default=ignore, repr=False, compare=False)

    @property
    def stores_whole(self) -> bool:
        return False

    def fits(self, shape: tuple[int, ...]) -> bool:
        return _is_image(shape, varies=False)

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Placements:
        """Images where they fit, otherwise flat textures."""
        places: dict[int, Placement | None] = {}
        for kernel, values in zip(kernels, arguments, strict=True):
            for b, value in zip(kernel.params, values, strict=True):
                if value >= 0 and value not in places:
                    flat = value in fixed or (b is kernel.params[-1] and kernel.row)
                    partly = bool(kernel.scalars)
                    image = (
                        None
                        if flat
                        else place_image(b.shape, drawn=True, partly=partly, multiple=_tile_multiple(kernel, b))
                    )
                    places[value] = image or place_flat(b.size)
        return places

    def place_linear(self, elements: int) -> Placement | None:
        return place_flat(elements)

    def memory_order(self, shape: tuple[int, ...], place: Placement | None) -> tuple[Subdimension, ...] | None:
        assert place is not None
        return texel_order(shape, place)

    def compile_kernel(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices = DEFAULT
    ) -> CompiledKernel:
        """The shader of a kernel. Constants are in the order of the reduction's reads, in images where they fit."""
        return self._compile(naive, placements, choices, self.observe)

    def compile_simply(self, naive: Kernel, compiled: CompiledKernel) -> CompiledKernel:
        return self._compile(naive, compiled.placements, None, ignore)

    def _compile(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices | None, observe: Observer
    ) -> CompiledKernel:
        """By the simplest schedule without `choices`."""
        observe("narrow_types", naive)
        wide, narrow = load_wide(naive)
        observe("load_wide", wide)
        kernel = order_constants(wide)
        observe("order_constants", kernel)
        places = {
            b: p or place_image(b.shape) or place_flat(b.size) for b, p in zip(kernel.params, placements, strict=True)
        }
        _check(naive, kernel, places)
        out = kernel.params[-1]
        scheduled = fragment_kernel(kernel, places, choices, observe)
        scheduled = store_narrow(scheduled, {scheduled.params[i]: TEXELS[dtype] for i, dtype in narrow.items()})
        observe("store_narrow", scheduled)
        lowered = lower_fragment(scheduled, observe)
        rendered = DeviceKernel(
            naive.name,
            render(lowered, partly=kernel.row),
            tuple(Param(b.dtype, "write" if b is lowered.params[-1] else "read") for b in lowered.params),
            (*live_area(scheduled, own_texel(lowered), places[out].width, places[out].height), places[out].layers),
            count_work(naive, scheduled),
            sum(b.size * b.dtype.bytes for b in naive.params),
            declarations=declare(lowered),
            scalars=lowered.scalars,
            strips=live_strips(scheduled, own_texel(lowered), places[out], -(-out.size // 4)),
        )
        version, rest = compose(rendered).split("\n", 1)  # which stands before all else
        observe("glsl", f"{version}\n// {naive.name}\n{rest}")
        params = tuple(replace(b, dtype=narrow.get(i, b.dtype)) for i, b in enumerate(kernel.params))
        return CompiledKernel(rendered, params, tuple(places[b] for b in kernel.params))


def fragment_kernel(
    naive: Kernel, places: Mapping[Buffer, Placement], choices: Choices | None = DEFAULT, observe: Observer = ignore
) -> Kernel:
    """A naive kernel as a grid of fragments, over the textures of its parameters; by the simplest schedule without
    `choices`."""
    padded = {b: pad_to_texture(b, p) for b, p in places.items()}
    bands = places[naive.params[-1]].bands
    tiles = {b: (padded[b], p.tile) for b, p in places.items()}
    if choices is None:
        scheduled = schedule_fragment(naive, tiles, bands, None)
    else:
        scheduled = schedule_by(lambda c: schedule_fragment(naive, tiles, bands, c), choices, naive.name)
    observe("schedule_fragment", scheduled)
    textured = use_textures(scheduled, {padded[b]: p for b, p in places.items()})
    observe("use_textures", textured)
    return textured


def _tile_multiple(kernel: Kernel, b: Buffer) -> int:
    """Pixels of the result `b` that are computed together: a row of a tile."""
    form = forms_of(kernel).get(b)
    return len(form.columns) if isinstance(form, Transform) else 1


def _rows(kernel: Kernel) -> tuple[str, int]:
    """The part of its result that a kernel writes, and its neighbours in memory of which it writes all, or none."""
    store = next(n for n in walk(kernel.body) if isinstance(n, Store) and n.buffer is kernel.params[-1])
    axis = max(d for d, index in enumerate(store.indices) if scalars_of(index))
    return "a row of a stack" if axis == 0 else "a row of a state", prod(store.buffer.shape[axis + 1 :])


def _check(naive: Kernel, kernel: Kernel, places: Mapping[Buffer, Placement]) -> None:
    """CannotExpress for types and sizes that textures and shaders do not support."""
    wrong: set[DType] = {b.dtype for b in naive.params} - {F32, I32, U32, *TEXELS}
    if wrong:
        raise CannotExpress(
            f"it has elements of {', '.join(sorted(d.name for d in wrong))}, which textures do not support"
        )
    if len(kernel.params) - 1 > UNITS:
        raise CannotExpress(f"it reads {len(kernel.params) - 1} tensors, and a shader at most {UNITS} textures")
    if kernel.row and places[kernel.params[-1]].tile:
        raise CannotExpress("it writes a part of what is held as an image")
    if kernel.row:
        what, elements = _rows(naive)
        if elements % TEXEL:
            raise CannotExpress(f"it writes {what}, which is no whole number of texels")
        if places[kernel.params[-1]].layers > 1:
            raise CannotExpress(f"it writes {what} that takes several layers of a texture")
    if places[kernel.params[-1]].layers > TILE:
        raise CannotExpress("its result is larger than the textures that one draw can write")
    if any(p.layers > LAYERS for p in places.values()):
        raise CannotExpress("a tensor is larger than a texture can be")
