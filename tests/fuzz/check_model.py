"""The oracle for models: compiling ends in success or in one plain error, and results are onnxruntime's."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import webnn_compile
from drivers import missing
from fuzz.case import Array, Outcome, Subject
from fuzz.check_bundle import check_bundle
from fuzz.compare import disagreement, nudged
from fuzz.doubt_quanta import DOUBTS_OF_QUANTA, doubt_quanta, quantises
from fuzz.edit_tensors import is_whole, parameters
from fuzz.measure_peak import measure_peak
from fuzz.prepare_folder import SECRET, prepare_folder
from fuzz.run_guarded import OutOfBounds, run_guarded
from google.protobuf.message import DecodeError
from onnx import numpy_helper
from webnn_compile.costs import CPU_COSTS
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.errors import WebnnCompileError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.convert_float16 import convert_float16
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.tensor.choose_tile import choose_tile

Phase = Callable[[str], None]
REFERENCE = "onnxruntime"
"""The phase whose crashes are not ours."""
MOST_MEMORY = 1 << 30
"""Bytes that compiling a small file may take."""
LARGEST_RUN = 1 << 28
"""Bytes of arena and weights; a larger model is compiled, and not run."""

LEFT_OPEN = {"Cast", "CastLike", "Dropout", "Pow", "ReduceMax", "ReduceMin", "ReduceProd"}
"""Operators of which ONNX leaves something open that onnxruntime does otherwise: numbers that do not fit the integers
which they become, the mask before opset 12, a NaN, which onnxruntime keeps where it is the first element, and integers'
powers and products that overflow."""
UNLIKE_ONNX = (
    ("auto_pad", b"SAME_UPPER"),
    ("auto_pad", b"SAME_LOWER"),
    ("coordinate_transformation_mode", b"tf_crop_and_resize"),
    ("keep_aspect_ratio_policy", b"not_larger"),
    ("keep_aspect_ratio_policy", b"not_smaller"),
    ("nearest_mode", b"floor"),
    ("nearest_mode", b"ceil"),
)
"""Attributes with which results differ. Padding that is computed from the sizes comes out negative where strides are
longer than kernels: there is none then, as in TensorFlow. onnxruntime ignores roi on axes that keep their extent, and
negative axes with a policy, and rounds a scale that follows from sizes before it rounds positions down or up."""
WITHOUT_DEFAULTS = (b"Affine", b"ScaledTanh")
"""Activations of recurrent layers that are no operators, whose parameters have no default: onnxruntime takes zeros."""
EXTREME = 1e15
"""Where parameters or inputs are as large as this, infinite or NaN, results depend on what ONNX does not say: whether a
NaN in a window counts, in which order what may become infinite is added and multiplied."""
TINIEST = 1e-30
"""Results depend on attributes closer to zero than this where there is a division by them."""


class Refused(Exception):
    """The compiler's one plain error."""


class RefusedRun(Exception):
    """An error of one run, by what its inputs hold."""


class Fault(Exception):
    """A fault: a short name, equal for equal faults, and all that is known."""

    def __init__(self, name: str, details: str = "") -> None:
        super().__init__(name)
        self.details = details or name


def check_model(subject: Subject, phase: Phase) -> Outcome:
    """Compiles the model, runs it, and compares. `phase` is called with what comes next."""
    with tempfile.TemporaryDirectory() as folder:
        path = prepare_folder(Path(folder), subject.model)
        try:
            result, notes = _check(subject, path, phase)
        except Refused as error:
            if not subject.strict:
                return Outcome("refused", details=str(error))
            return Outcome("fault", "a valid model is refused", str(error))
        except Fault as fault:
            return Outcome("fault", str(fault), fault.details)
        return Outcome(result, details=notes)


def _check(subject: Subject, path: Path, phase: Phase) -> tuple[str, str]:
    if subject.target == "bundle":
        phase("the command line")
        with measure_peak() as peak:
            fault = check_bundle(path)
        if fault:
            raise Fault(*fault)
        _check_peak(peak[0], subject)
        return "command line", ""
    target = subject.target
    if target in ("webgl", "webgpu") and missing(target):
        target = "native"
    phase("compile")
    shapes = _free(subject)
    with measure_peak() as peak, _explained("compile"):
        run = _native(path, shapes) if target == "native" else _compiled(path, target, shapes)
    _check_peak(peak[0], subject)
    if run is None or (not subject.feeds and _takes_inputs(subject)):
        return "compiled, too large to run", ""
    phase("run")
    try:
        with _explained("run"):
            got = run(subject.feeds)
    except RefusedRun as refused:
        phase(REFERENCE)
        try:
            want = _reference(path, subject.feeds)
        except Exception:
            return "the run is refused by both", str(refused)
        if {v.name: len(v.shape) for v in import_model(path, ModelInputs(shapes)).outputs} != _ranks(want):
            return "the run is refused, for its results have other ranks", str(refused)
        raise Fault(f"a run is refused that onnxruntime makes ({target})", str(refused)) from None
    phase(REFERENCE)
    try:
        want = _reference(path, subject.feeds)
    except Exception as error:  # onnxruntime's exceptions share no base class
        if subject.strict:
            raise
        phase("evaluate")
        _check_definitions(path, shapes, subject, got)
        return "accepted, onnxruntime refuses", str(error)
    why = _disagreement(path, subject, got, want)
    if why and (_leaves_open(subject.model) or _has_extremes(subject)):
        _check_definitions(path, shapes, subject, got)
        return "as defined, unlike onnxruntime", why
    if why and disagreement(_reference(path, subject.feeds), want, lambda _: want):
        return "onnxruntime contradicts itself", why  # it reads what it never wrote
    if why:
        raise Fault(f"another result than onnxruntime's ({target})", why)
    return f"agrees ({target})", ""


def _disagreement(path: Path, subject: Subject, got: Mapping[str, Array], want: Mapping[str, Array]) -> str:
    model = _parsed(subject.model)
    if subject.strict and model is not None and quantises(model):
        return disagreement(got, want, doubt_quanta(model, subject.feeds), doubts=DOUBTS_OF_QUANTA)
    halves = _has_halves(subject.model)
    return disagreement(got, want, lambda seed: _reference(path, nudged(subject.feeds, seed)), halves=halves)


def _ranks(results: Mapping[str, Array]) -> dict[str, int]:
    return {name: a.ndim for name, a in results.items()}


def _check_peak(peak: int, subject: Subject) -> None:
    if peak > MOST_MEMORY:
        raise Fault("compiling takes gigabytes", f"{peak / 2**30:.1f} GiB for a file of {len(subject.model)} bytes")


class _explained:
    """Turns exceptions into Refused and Fault, as the command line turns them into exit codes 2 and 70."""

    def __init__(self, phase: str) -> None:
        self.phase = phase

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, Fault):
            return
        if isinstance(error, MemoryError):
            raise Refused(f"MemoryError in {self.phase}") from None
        if isinstance(error, WebnnCompileError) and error.exit_code == 2 and self.phase == "compile":
            raise Refused(str(error)) from None
        if isinstance(error, WebnnCompileError) and error.exit_code == 2:
            raise RefusedRun(str(error)) from None
        if isinstance(error, OutOfBounds):
            raise Fault("out of bounds", str(error)) from None
        raise Fault(f"{self.phase}: {origin(error)}", "".join(traceback.format_exception(error))[-6000:]) from None


def origin(error: BaseException) -> str:
    """The innermost exception, and the function of the compiler that it comes from."""
    while error.__cause__ is not None:
        error = error.__cause__
    root = Path(webnn_compile.__file__).parent
    ours = [f for f in traceback.extract_tb(error.__traceback__) if root in Path(f.filename).parents]
    where = f" in {Path(ours[-1].filename).name}:{ours[-1].name}" if ours else ""
    return f"{type(error).__name__}{where}"


Run = Callable[[Mapping[str, Array]], dict[str, Array]]


def _native(path: Path, shapes: dict[str, tuple[int, ...]]) -> Run | None:
    graph = run_graph_passes(import_model(path, ModelInputs(shapes)))
    program = compile_for_cpu(lower_model(graph, choose=choose_tile(CPU_COSTS)), host_target())
    if SECRET[:64] in program.weights:
        raise Fault("a file outside of the model's folder is published")
    size = program.arena + len(program.weights) + program.prepared
    if size > LARGEST_RUN:
        return None
    if size < 0:
        raise Fault("the sizes of a program are negative", f"{program.arena} + {program.prepared}")
    return lambda feeds: run_guarded(program, feeds)


def _compiled(path: Path, target: str, shapes: dict[str, tuple[int, ...]]) -> Run:
    return webnn_compile.compile(path, target=target, shapes=shapes, cache=False).run


def _parsed(data: bytes) -> onnx.ModelProto | None:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return None
    return model


def _free(subject: Subject) -> dict[str, tuple[int, ...]]:
    """Shapes of the inputs that the model leaves open."""
    model = _parsed(subject.model)
    free = {}
    for value in model.graph.input if model is not None else ():
        tensor = value.type.tensor_type
        if value.name in subject.feeds and not all(d.dim_value > 0 for d in tensor.shape.dim):
            free[value.name] = subject.feeds[value.name].shape
    return free


def _takes_inputs(subject: Subject) -> bool:
    model = _parsed(subject.model)
    held = set() if model is None else {t.name for t in model.graph.initializer}
    return model is not None and any(v.name not in held for v in model.graph.input)


def _has_halves(data: bytes) -> bool:
    model = _parsed(data)
    halves = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
    if model is None:
        return False
    casts = (a.i for n in model.graph.node for a in n.attribute if a.name in ("to", "dtype"))
    kinds = (t.data_type for t in model.graph.initializer)
    declared = (v.type.tensor_type.elem_type for v in (*model.graph.input, *model.graph.output))
    return any(k in halves for k in (*casts, *kinds, *declared))


def _leaves_open(data: bytes) -> bool:
    """Whether a node is of LEFT_OPEN or UNLIKE_ONNX, rounds integers that it interpolates, for which there is no rule,
    or gives the largest elements in any order."""
    model = _parsed(data)
    nodes = () if model is None else model.graph.node
    attributes = [a for n in nodes for a in n.attribute]
    return (
        any(n.op_type in LEFT_OPEN for n in nodes)
        or any((a.name, a.s) in UNLIKE_ONNX for a in attributes)
        or any(a.name == "activations" and {*WITHOUT_DEFAULTS} & {*a.strings} for a in attributes)
        or any(a.name == "antialias" and a.i for a in attributes)
        or any(a.name == "softcap" and a.f < 0 for a in attributes)  # ONNX's function caps, its reference does not
        or any(n.op_type == "Attention" and not n.domain and _hides_otherwise(n, model) for n in nodes)
        or any(n.op_type == "TopK" and a.name == "sorted" and a.i != 1 for n in nodes for a in n.attribute)
    )


def _hides_otherwise(attention: onnx.NodeProto, model: onnx.ModelProto) -> bool:
    """Whether ONNX's function hides a key, by a mask of integers from no query after all, or shows the scores of a
    hidden one, which are the least float instead of minus infinity."""
    if len(attention.output) > 3:
        return True
    kinds = {v.name: v.type.tensor_type.elem_type for v in model.graph.input}
    kinds |= {t.name: t.data_type for t in model.graph.initializer}
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BOOL)
    return any(kinds.get(name, floats[0]) not in floats for name in attention.input[3:4])


def _has_extremes(subject: Subject) -> bool:
    """Whether an input, a parameter or an attribute holds what is EXTREME, or an attribute what is nearly zero, or an
    integer that int32 does not have; or a quotient of zeros may be quantised."""
    if not all(TINIEST < abs(f) < EXTREME for f in _numbers(subject.model)):
        return True
    model = _parsed(subject.model)
    if model is None:
        return False
    integers = (i for n in model.graph.node for a in n.attribute for i in (a.i, *a.ints))
    if not all(-(2**31) <= i < 2**31 for i in integers):
        return True
    given = {**subject.feeds, **{t.name: _elements(t) for t in model.graph.initializer}}
    scales = [given.get(n.input[1]) for n in model.graph.node if n.op_type == "QuantizeLinear" and len(n.input) > 1]
    if any(s is not None and not s.all() for s in scales):
        return True
    kept = (_elements(t) for t in parameters(model))
    arrays = [a for a in (*subject.feeds.values(), *kept) if a is not None and a.dtype.kind == "f"]
    return not all((np.abs(a.astype(np.float64)) < EXTREME).all() for a in arrays)


def _numbers(data: bytes) -> list[float]:
    """The floats among the attributes."""
    model = _parsed(data)
    attributes = [] if model is None else [a for n in model.graph.node for a in n.attribute]
    return [f for a in attributes for f in ((a.f,) if a.type == onnx.AttributeProto.FLOAT else a.floats)]


def _elements(tensor: onnx.TensorProto) -> Array | None:
    return numpy_helper.to_array(tensor) if is_whole(tensor) else None


def _reference(path: Path, feeds: Mapping[str, Array]) -> dict[str, Array]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    results = session.run(None, dict(feeds))
    if not all(isinstance(r, np.ndarray) for r in results):
        raise ValueError("results that are no tensors")
    return dict(zip(names, (np.array(r) for r in results), strict=True))


def _check_definitions(path: Path, shapes: dict[str, tuple[int, ...]], subject: Subject, got: dict[str, Array]) -> None:
    """Where onnxruntime is no reference, results must be what the operators' definitions say, which NumPy keeps in
    bounds, and computed in float32 where the model computes in float16, as on every target."""
    graph = convert_float16(import_model(path, ModelInputs(shapes)))
    with np.errstate(all="ignore"):
        try:
            want = evaluate_graph(graph, subject.feeds)
        except IndexError as error:
            raise Fault("out of bounds by its definition", "".join(traceback.format_exception(error))[-4000:]) from None

        def again(seed: int) -> dict[str, Array]:
            return evaluate_graph(graph, nudged(subject.feeds, seed))

        overflows = any(EXTREME < abs(f) < np.inf for f in _numbers(subject.model))
        why = disagreement(got, want, again, halves=_has_halves(subject.model), overflows=overflows)
    if why:
        raise Fault("another result than by the operators' definitions", why)
