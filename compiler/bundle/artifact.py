"""The input of the bundle: the model for one or several backends, over the same weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..ir.nodes import Scalar
from ..program.device_program import DeviceProgram
from ..program.dimensions import Dimension
from ..program.program import TensorSpec
from ..program.refusals import Refusal

VARIANTS = ("relaxed", "plain")
"""Variants of the module: with relaxed SIMD, and with SIMD128 alone; the runtime takes the first that validates."""

BYTE_VARIANTS = ("signed", "unsigned", "narrow")
"""Variants with relaxed dots of four bytes. Engines take those of the activations as signed, or as unsigned; some add
two of their products in 16 bits, in which only products of weights of seven bits, which are narrow, fit. The runtime
prefers the first that is exact."""


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One kernel, with its ONNX nodes and their operators."""

    name: str
    nodes: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WasmArtifact:
    """The model for the CPU. `modules` has a wasm binary for each of VARIANTS (or one of them).

    A module imports `env.memory`, keeps its stack and static data below `heap_base` (bytes) and exports
    `run(weights: i32, arena: i32)`, both byte addresses. `arena_bytes` holds inputs, outputs and intermediates. Where
    it exports `prepare(weights, arena, number)`, that is called once for each of `needs`, in order and before the first
    run, and fills `prepared_bytes` after the weights; `needs` are how many bytes of the weights must be in memory then.
    `weights_bytes` are those of the weights in memory that it reads, None for all. `states` outlive a run, in
    `state_bytes` of memory, whose address `run` takes behind that of the arena.

    A module with loops for several threads imports `env.parallel_for(body, arguments, extent)` and exports
    `chunk(body, arguments, begin, end)` and `__stack_pointer`. `shared_at` is the offset of the byte that is 3 instead
    of 1 where its memory is shared. `scalars` are the offsets of int32 in the arena: of the sizes that a run is given,
    and of those that it computes. `products` are those of `program/count_products`.

    `in_bytes` are modules of programs of their own, by BYTE_VARIANTS, over the same weights; `inputs` and `outputs` say
    where these have theirs in the arena. With `canaries` the runtime tries what modules rely on before it takes one:
    relaxed instructions, and threads by the loop `canary(vectors)` that a module for several of them exports.
    """

    modules: Mapping[str, bytes]
    heap_base: int
    arena_bytes: int
    kernels: tuple[KernelInfo, ...]
    prepared_bytes: int = 0
    shared_at: Mapping[str, int] = field(default_factory=dict)
    scalars: Mapping[Scalar, int] = field(default_factory=dict)
    products: Mapping[str, int] = field(default_factory=dict)
    in_bytes: Mapping[str, WasmArtifact] = field(default_factory=dict)
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    needs: tuple[int, ...] = ()
    weights_bytes: int | None = None
    states: tuple[TensorSpec, ...] = ()
    state_bytes: int = 0
    canaries: bool = False

    @property
    def backend(self) -> str:
        return "wasm"


@dataclass(frozen=True, slots=True)
class HostArtifact:
    """A device program's host in wasm. `module` is as a WasmArtifact's, but exports `segment_0`, `segment_1`, ..., one
    for each HostCall, in place of `run`; `prepare` counts the calls of its function of this name. Its weights are
    `weights_bytes` of the bundle's from `weights_offset` on."""

    module: bytes
    heap_base: int
    arena_bytes: int
    weights_offset: int = 0
    weights_bytes: int = 0
    prepared_bytes: int = 0
    prepare: int = 0


@dataclass(frozen=True, slots=True)
class DeviceArtifact:
    """The model for a GPU. `host` runs the segments of HostCalls, and is None for a program without them;
    `references` are a module with which a page compares launches, None without `--check-kernels` and empty where no
    kernel has one: it has a segment for each kernel that has, and a custom section that says which
    (`render_references`)."""

    program: DeviceProgram
    host: HostArtifact | None = None
    references: bytes | None = field(default=None, repr=False)

    @property
    def backend(self) -> str:
        return self.program.backend


@dataclass(frozen=True, eq=False, slots=True)
class BundledAnswer:
    """An answer that runs return under `name`, or with `many` a list of such; `kind` is one of `runtime-js/answers`.
    `outputs`, by their parts in it, are what it is made of, `fields` the kind's own, as JSON; `tokenizer` is the file
    of the one that makes it."""

    name: str
    kind: str
    outputs: Mapping[str, str]
    labels: tuple[str, ...] | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    many: bool = False
    tokenizer: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, slots=True)
class BundledText:
    """Text that runs take under `name`: it fills `inputs`, by role (runtime-js/texts), by the file of a `tokenizer`.
    `batch` and `length` are sizes of these inputs, or the names of dimensions, `batch` None where there is none;
    `fields` are templates, truncation and padding, as JSON."""

    name: str
    inputs: Mapping[str, str]
    batch: int | str | None
    length: int | str
    fields: Mapping[str, object]
    tokenizer: bytes = field(repr=False)


@dataclass(frozen=True, eq=False, slots=True)
class BundledGeneration:
    """A decoder that gives tokens: `ids` is its input of them, of at most `longest` in a run, `vocabulary` how many
    there are, `top` of how many it gives the probabilities; those of `end` end a text. `inputs` are those that say how
    a token is chosen, by name with their roles (runtime-js/load/generate.js). `chat` makes text of messages, as JSON,
    empty where the model has no template of them (runtime-js/generate/chat.js). `logits`: where WebAssembly has them,
    by which runs of a GPU are compared; None where a bundle has no such two."""

    ids: str
    longest: int
    vocabulary: int
    top: int
    end: tuple[int, ...]
    inputs: Mapping[str, str]
    chat: Mapping[str, object] = field(default_factory=dict)
    logits: TensorSpec | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled model: `backends` in order of preference, each at most once. The offsets of `inputs` and `outputs`
    are those in the arena of the backend "wasm", and have no meaning without it. `halves` are offset and size in bytes
    of the parts that are float16 in `weights` and float32 in the memory of wasm; `weight_types` has the bytes of
    `weights` by the type of elements. `dimensions` are the sizes that each run decides, `refusals` the branches that
    none may take. `pictures` are the inputs that pictures fill, with the most rows and columns of one, `sounds` those
    that sounds fill, with their rates, `text` says which text fills, `answers` what runs return in place of outputs.
    `golden` is a file by which the bundle's page checks results, empty without one. `states` are what each run finds as
    the one before has left it, `generation` says how runs give tokens. `constants` are where those begin in `weights`,
    in order, as far as they are known. Results of backends may be apart by `tolerance`, relative to the largest of an
    output; None where runs of one backend cannot be compared with those of another."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    weights: bytes
    backends: tuple[DeviceArtifact | WasmArtifact, ...]
    halves: tuple[tuple[int, int], ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    weight_types: Mapping[str, int] = field(default_factory=dict)
    pictures: Mapping[str, int] = field(default_factory=dict)
    sounds: Mapping[str, int] = field(default_factory=dict)
    answers: tuple[BundledAnswer, ...] = ()
    golden: bytes = b""
    text: BundledText | None = None
    states: tuple[TensorSpec, ...] = ()
    generation: BundledGeneration | None = None
    constants: tuple[int, ...] = ()
    tolerance: float | None = None

    @property
    def own_inputs(self) -> tuple[TensorSpec, ...]:
        """The inputs but for those that say how a token is chosen, which runs fill themselves."""
        filled = {} if self.generation is None else self.generation.inputs
        return tuple(spec for spec in self.inputs if spec.name not in filled)

    @property
    def results(self) -> Iterator[TensorSpec | BundledAnswer]:
        """Results of runs: answers, each where the first output that it is made of was, and the other outputs."""
        owners = {name: answer for answer in self.answers for name in answer.outputs.values()}
        yield from dict.fromkeys(owners.get(spec.name, spec) for spec in self.outputs)

    @property
    def tokenizers(self) -> tuple[bytes, ...]:
        """The files of tokenizers, each once."""
        of_answers = [answer.tokenizer for answer in self.answers if answer.tokenizer is not None]
        return tuple(dict.fromkeys([*([] if self.text is None else [self.text.tokenizer]), *of_answers]))

    @property
    def text_inputs(self) -> dict[str, str]:
        """The roles of the inputs that text fills, by their names."""
        return {} if self.text is None else {name: role for role, name in self.text.inputs.items()}

    @property
    def lossless(self) -> int:
        """Bytes of the weights that are float32 in the model, and float16 here since each of them is one."""
        return sum(size for _, size in self.halves)

    @property
    def weight_memory(self) -> int:
        """Bytes of the weights in the memory of wasm."""
        return len(self.weights) + self.lossless
