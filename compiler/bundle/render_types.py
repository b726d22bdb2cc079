"""model.d.ts: the runtime's types with one model's own names, dtypes and shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import indent

from ..dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType
from ..errors import InternalError
from ..ir.sizes import shown, text_of
from ..program.program import TensorSpec
from ..text.escape import JsLiteral, documentation, js_literal
from .artifact import Artifact, BundledAnswer, DeviceArtifact

ARRAYS: dict[DType, str] = {
    F16: "Uint16Array",
    F32: "Float32Array",
    F64: "Float64Array",
    I8: "Int8Array",
    I16: "Int16Array",
    I32: "Int32Array",
    I64: "BigInt64Array",
    U8: "Uint8Array",
    U16: "Uint16Array",
    U32: "Uint32Array",
    U64: "BigUint64Array",
    BOOL: "Uint8Array",
}
_ACCEPTED = ARRAYS | {F16: "Float16", U8: "Uint8Array | Uint8ClampedArray"}
Field = tuple[str, str, str]
"""A member: its description, name and type."""
_MODEL = re.compile(r"^// <model>$.*?^// </model>\n", re.MULTILINE | re.DOTALL)


_FUNCTION_ENDS = "// </function>\n"


def render_types(artifact: Artifact, template: str) -> str:
    """The template with its marked part replaced."""
    return _whole(artifact, template).replace(_FUNCTION_ENDS, "")


def render_function_types(functions: Mapping[str, tuple[Artifact, str]], template: str) -> str:
    """The types of several models by name, those of each in a namespace by a template of its own, and of what loads
    all."""
    general = template[: template.index("// <model>")]
    tail = template.partition(_FUNCTION_ENDS)[2]
    namespaces = []
    for name, (artifact, template_of_own) in functions.items():
        start = template_of_own.index("// <model>")
        own = _whole(artifact, template_of_own)[start:].partition(_FUNCTION_ENDS)[0]
        lines = indent(f"{own}export const cache: ModelCache;\n", "  ")
        about = documentation(f"The model {name}, and what loads it alone.")
        namespaces.append(f"{about}\nexport namespace {name} {{\n{lines}}}\n")
    models = "".join(f"  readonly {name}: {name}.Model;\n" for name in functions)
    infos = "".join(f" readonly {name}: {name}.Info;" for name in functions)
    options = " & ".join(f"{name}.LoadOptions" for name in functions)
    bundle = _BUNDLE.format(models=models, infos=infos, options=options, first=next(iter(functions)))
    return "\n".join([general.rstrip("\n") + "\n", *namespaces, bundle, tail.lstrip("\n")])


_BUNDLE = """\
export type LoadOptions = {options};
export type Progress = {first}.Progress;

/** The models of this bundle. */
export interface Models {{
{models}  /** How each model runs, and why so. */
  info(): {{{infos} }};
  /** Frees the memory of all, and ends their workers; pending runs reject. */
  dispose(): Promise<void>;
}}

/**
 * Loads the models one after the other, all with these options: progress counts the weights of all. Where one cannot be
 * loaded, those before it are disposed of.
 */
export function load(options?: LoadOptions): Promise<Models>;
"""


def _whole(artifact: Artifact, template: str) -> str:
    backends = " | ".join(f"'{part.backend}'" for part in artifact.backends)
    on_device = any(isinstance(part, DeviceArtifact) for part in artifact.backends)
    own = "\n".join(
        (
            f"export type Backend = {backends};\n",
            _inputs(artifact, " | OnDevice" if on_device else ""),
            _declared("Outputs", _outputs(artifact)),
            _infos("InputInfo", map(_info, artifact.own_inputs)),
            _infos("OutputInfo", _output_infos(artifact)),
            *([_declared("States", _states(artifact))] if artifact.states else []),
        )
    )
    text, count = _MODEL.subn(lambda _: own, template)
    if count != 1:
        raise InternalError("runtime-js/model.d.ts lacks the part between '// <model>' and '// </model>'")
    return text


def types_of_script(types: str, name: str, *, alone: bool = False) -> str:
    """The types of model.js as a script that defines the global `name`, for scripts; modules import them. `alone` it
    needs no other file."""
    return f"{types}{'' if alone else _BASE}\nexport as namespace {name};\n"


_BASE = """
/** What the script adds to the options. */
export interface LoadOptions {
  /** The folder of the model's files: by default the script's, in a caller's worker that of the worker's script. */
  base?: string | { readonly href: string };
}
"""


def _inputs(artifact: Artifact, more: str) -> str:
    """A shape may stand beside any of them, and has to where lengths alone leave a choice."""

    def type_of(spec: TensorSpec) -> str:
        if spec.name in artifact.pictures:
            return "Picture"
        return "Sound" if spec.name in artifact.sounds else _either(f"{_ACCEPTED[spec.dtype]}{more}")

    def declared(name: str, specs: Iterable[TensorSpec]) -> str:
        return _declared(name, ((_described(s), s.name, type_of(s)) for s in specs))

    filled, text = artifact.text_inputs, artifact.text
    if text is None:
        return declared("Inputs", artifact.own_inputs)
    others = declared("OtherInputs", (s for s in artifact.own_inputs if s.name not in filled))
    tokens = declared("TokenInputs", (s for s in artifact.own_inputs if s.name in filled))
    texts = _declared("TextInputs", [(f"for {', '.join(filled)}", text.name, "Text")])
    return f"{others}\n{tokens}\n{texts}\nexport type Inputs = OtherInputs & (TextInputs | TokenInputs);\n"


def _outputs(artifact: Artifact) -> Iterator[Field]:
    return (
        (f"{item.kind}, an answer", item.name, f"Answers[{js_literal(item.kind)}]{'[]' if item.many else ''}")
        if isinstance(item, BundledAnswer)
        else (_described(item), item.name, _output(item))
        for item in artifact.results
    )


def _states(artifact: Artifact) -> Iterator[Field]:
    for spec in artifact.states:
        numbers = ", ".join(str(n) if isinstance(n, int) else "number" for n in spec.shape)
        about = f"{spec.dtype}, shape {shown(spec.shape)}"
        yield about, spec.name, f"{ARRAYS[spec.dtype]} & {{ readonly shape: readonly [{numbers}] }}"
    for d in artifact.dimensions:
        if d.dropped_of is not None:
            yield "int32, the rows that were dropped", d.name, "Int32Array & { readonly shape: readonly [] }"


def _output_infos(artifact: Artifact) -> Iterator[str]:
    return (
        f"AnswerInfo<{js_literal(item.name)}, {js_literal(item.kind)}>"
        if isinstance(item, BundledAnswer)
        else _info(item)
        for item in artifact.results
    )


def _either(data: str) -> str:
    return f"{data} | Shaped<{data}>"


def _output(spec: TensorSpec) -> str:
    array = ARRAYS[spec.dtype]
    if not spec.is_dynamic:
        return array
    numbers = ", ".join(str(n) if isinstance(n, int) else "number" for n in spec.shape)
    return f"{array} & {{ readonly shape: readonly [{numbers}] }}"


def _declared(name: str, members: Iterable[Field]) -> str:
    lines = "".join(f"  {documentation(about)}\n  {js_literal(key)}: {kind};\n" for about, key, kind in members)
    return f"export interface {name} {{\n{lines}}}\n"


def _described(spec: TensorSpec) -> str:
    length = "" if spec.is_dynamic else f", length {spec.length}"
    return f"{spec.dtype}, shape {shown(spec.shape)}{length}"


def _infos(name: str, items: Iterable[str]) -> str:
    return f"export type {name} = readonly [\n{''.join(f'  {item},{chr(10)}' for item in items)}];\n"


def _info(spec: TensorSpec) -> str:
    return f'TensorInfo<{js_literal(spec.name)}, "{spec.dtype}", readonly {_shape(spec)}>'


def _shape(spec: TensorSpec) -> JsLiteral:
    return js_literal([n if isinstance(n, int) else text_of(n) for n in spec.shape])
