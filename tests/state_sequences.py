"""Random sequences of runs and of all else that changes states, by a seed, and what a model in NumPy makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

Array = np.ndarray

MOST, NEW, FRAMES, BATCH, WIDTH = 7, 3, 4, 2, 2
"""Rows before a run, and those of a run; frames; sequences; elements of a row."""

WIDE = 257
"""Elements of a row of states that are large enough for float16; an odd number, so that some have no whole words."""


def _model(text: str, states: int) -> onnx.ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]>\n{text}')
    made.graph.initializer.append(numpy_helper.from_array(np.ones((5, 3), np.float32), "wide"))
    assert len(made.graph.output) > states
    return made


_APPENDED = """
              p2 = Concat <axis = 1> (p, x)
              turned = Transpose <perm = [2, 0, 1]> (x)
              q2 = Concat <axis = 2> (q, turned)
              a = ReduceSum <keepdims = 0> (p2, second)
              sums = ReduceSum <keepdims = 0> (q2, last)
              b = Transpose <perm = [1, 0]> (sums)"""
"""Rows at the end of both states, and the sums of each."""

_CHECKED = """
      z = If(fits) <
        then_branch = t () => (float[2, 3] v) { v = Neg(fixed) },
        else_branch = e () => (float[2, 3] w) { w = Add(fixed, wide) }
      >"""
"""A run that is refused where `fits` is false."""


@dataclass(frozen=True)
class Kind:
    """A model, and which states it has. `rewinds` where rows can be dropped, which come in multiples of `multiple`. On
    GPUs `halves` are stored as float16."""

    name: str
    model: onnx.ModelProto
    states: tuple[str, ...]
    rewinds: bool = True
    window: int | None = None
    multiple: int = 1
    halves: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Elements of a row."""
        return WIDE if self.halves else WIDTH

    @property
    def precision(self) -> str:
        return "f16" if self.halves else "f32"

    @property
    def dims(self) -> dict[str, tuple[int, int, int]]:
        m = self.multiple
        rows = {"S": (0, NEW // m * m, m), "P": (0, self.most, m), "Q": (0, self.most, m)}
        sizes = {"B": (1, BATCH, 1), "F": (0, FRAMES, 1), "E": (0, 3, 1)} | rows
        named = {d.dim_param for i in self.model.graph.input for d in i.type.tensor_type.shape.dim}
        return {name: size for name, size in sizes.items() if name in named}

    @property
    def most(self) -> int:
        return MOST // self.multiple * self.multiple

    @property
    def pairs(self) -> list[str]:
        return [f"{s}={s}2" for s in self.states]


_ALIKE = Kind(
    "alike",
    _model(
        """
            g (float[B, S, 2] x, bool fits, float[2, 3] fixed, float[E, 2] e, float[B, P, 2] p, float[2, B, Q] q)
                => (float[B, 2] y, float[2, 3] z, float[E, 2] e2, float[B, PS, 2] p2, float[2, B, QS] q2)
                <int64[1] first = {0}, int64[1] second = {1}, int64[1] last = {2}> {
              e2 = Identity(e)"""
        + _APPENDED
        + """
              c = ReduceSum(e, first)
              ab = Sub(a, b)
              y = Add(ab, c)"""
        + _CHECKED
        + "}",
        3,
    ),
    ("e", "p", "q"),
)

KINDS = (
    _ALIKE,
    replace(_ALIKE, name="even", multiple=2),
    Kind(
        "apart",
        _model(
            """
            g (float[B, S, 2] x, float[F, 2] f, bool fits, float[2, 3] fixed, float[B, P, 2] p, float[Q, 2] q,
               float[B, 2] h) => (float[B, 2] y, float[2, 3] z, float[B, PS, 2] p2, float[QF, 2] q2, float[B, 2] h2)
                <int64[1] first = {0}, int64[1] second = {1}, float half = {0.5}> {
              p2 = Concat <axis = 1> (p, x)
              q2 = Concat <axis = 0> (f, q)
              new = ReduceSum <keepdims = 0> (x, second)
              decayed = Mul(h, half)
              h2 = Add(decayed, new)
              a = ReduceSum <keepdims = 0> (p2, second)
              b = ReduceSum(q2, first)
              ab = Add(a, b)
              y = Add(ab, h2)"""
            + _CHECKED
            + "}",
            3,
        ),
        ("p", "q", "h"),
        rewinds=False,
    ),
    Kind(
        "window",
        _model(
            """
            g (float[B, S, 2] x, bool fits, float[2, 3] fixed, float[B, P, 2] p, float[2, B, P] q)
                => (float[B, 2] y, float[2, 3] z, float[B, PS, 2] p2, float[2, B, PS] q2)
                <int64[1] second = {1}, int64[1] last = {2}> {"""
            + _APPENDED
            + """
              y = Sub(a, b)"""
            + _CHECKED
            + "}",
            2,
        ),
        ("p", "q"),
        window=MOST,
    ),
)


def _halved(kind: Kind) -> Kind:
    """`kind` in float16: of its states those that are appended to, of wide rows."""
    model = deepcopy(kind.model)
    for v in (*model.graph.input, *model.graph.output):
        for d in v.type.tensor_type.shape.dim:
            if d.dim_value == WIDTH and v.name not in ("fixed", "z"):
                d.dim_value = WIDE
    halves = ("p", "q") if kind.rewinds else ("p",)
    return replace(kind, name=f"{kind.name} in halves", model=model, halves=halves)


HALVED_KINDS = tuple(map(_halved, KINDS))


@dataclass
class Rows:
    """The states of a session: `batch` is that of its runs, None before the first one."""

    kind: Kind
    states: dict[str, Array] = field(default_factory=dict)
    batch: int | None = None
    dropped: int = 0
    lost: bool = False

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.batch, self.dropped, self.lost = None, 0, False
        n = self.kind.width
        shapes = {"e": (0, n), "p": (1, 0, n), "h": (1, n), "q": (n, 1, 0) if self.kind.rewinds else (0, n)}
        self.states = {s: np.zeros(shapes[s], np.float32) for s in self.kind.states}

    @property
    def position(self) -> int:
        return self.states["p"].shape[1] + self.dropped

    def saved(self) -> dict[str, Array]:
        dropped = {"P.dropped": np.array(self.dropped, np.int32)} if self.kind.window else {}
        return {name: a.copy() for name, a in self.states.items()} | dropped

    def load(self, saved: Mapping[str, Array]) -> None:
        self.states = {name: saved[name].copy() for name in self.kind.states}
        self.batch, self.dropped, self.lost = saved["p"].shape[0], int(saved.get("P.dropped", 0)), False

    def rewind(self, rows: int) -> bool:
        if self.lost or not self.kind.rewinds or not 0 <= rows <= self.states["p"].shape[1]:
            return False
        if rows % self.kind.multiple:
            return False
        for name in {"p", "q"} & {*self.states}:
            axis = 2 if name == "q" else 1
            self.states[name] = np.delete(self.states[name], np.s_[self.states[name].shape[axis] - rows :], axis)
        return True

    def run(self, inputs: Mapping[str, Array]) -> Array | None:
        """The output `y`; None for a run that fails."""
        x, s = inputs["x"], self.states
        batch, new = x.shape[:2]
        if new % self.kind.multiple or new > NEW // self.kind.multiple * self.kind.multiple:
            return None
        if self.lost or x.shape[2] != self.kind.width or self.batch not in (None, batch):
            return None
        frames = 0 if self.kind.rewinds else len(s["q"])
        if self.kind.window is None and (s["p"].shape[1] > self.kind.most or frames > MOST):
            return None
        if self.batch is None:
            s = {n: np.repeat(a, batch, 1 if n == "q" else 0) if n in self._batched else a for n, a in s.items()}
        if self.kind.window is not None and s["p"].shape[1] + new > self.kind.window:
            stay = min(self.kind.window // 2, self.kind.window - new)
            gone = s["p"].shape[1] - stay
            s = {"p": s["p"][:, gone:], "q": s["q"][:, :, gone:]}
            self.states, self.dropped = {n: a[: len(self.states[n])] for n, a in s.items()}, self.dropped + gone
            if self.batch is None:
                self.states["q"] = s["q"][:, :1]
        if not inputs["fits"]:
            self.lost = "h" in s
            return None
        p = np.concatenate([s["p"], x], 1)
        if "h" in s:
            q, h = np.concatenate([inputs["f"], s["q"]]), s["h"] / 2 + x.sum(1)
            self.states, y = {"p": p, "q": q, "h": h}, p.sum(1) + q.sum(0) + h
        else:
            q = np.concatenate([s["q"], x.transpose(2, 0, 1)], 2)
            y = p.sum(1) - q.sum(2).T + (s["e"].sum(0) if "e" in s else 0)
            self.states = {**s, "p": p, "q": q}
        self.batch = batch
        return np.asarray(y, np.float32)

    @property
    def _batched(self) -> set[str]:
        return {"p", "q"} if self.kind.rewinds else {"p", "h"}


@dataclass(frozen=True)
class Step:
    """`what` is done to the session of a number, with `given`; `y` is the output of a run, `fails` where it is refused.
    The session is at `position` then, and has `states`, None where these are lost."""

    what: str
    session: int
    given: Any
    fails: bool
    y: Array | None
    position: int
    states: dict[str, Array] | None


def sequence(kind: Kind, seed: int, count: int) -> Iterator[Step]:
    """So many steps. Sessions are numbered as they are made, 0 is the model itself."""
    generator = np.random.default_rng(seed)
    sessions, slots = [Rows(kind)], list[dict[str, Array]]()
    whats = ["run"] * 12 + ["rewind", "rewind", "load", "load", "save", "fork", "session", "reset", "more"]
    for _ in range(count):
        what, number = str(generator.choice(whats)), int(generator.integers(len(sessions)))
        one, given, fails, y = sessions[number], None, False, None
        if what in ("fork", "session") and len(sessions) > 4:
            what = "run"
        match what:
            case "run":
                given = _inputs(kind, generator, one)
                y = one.run(given)
                fails = y is None
            case "rewind":
                given = int(generator.integers(-1, max(one.states["p"].shape[1], 1) + 2))
                fails = not one.rewind(given)
            case "save":
                fails = one.lost
                slots += [] if fails else [one.saved()]
            case "load":
                given = slots[int(generator.integers(len(slots)))] if slots else one.saved()
                one.load(given)
            case "more":  # than there is room for
                given = {**one.saved(), "p": np.zeros((1, MOST + NEW + 1, kind.width), np.float32)}
                fails = True
            case "fork":
                fails = one.lost
                sessions += [] if fails else [deepcopy(one)]
            case "session":
                sessions.append(Rows(kind))
            case "reset":
                one.reset()
        yield Step(what, number, given, fails, y, one.position, None if one.lost else one.saved())


def _inputs(kind: Kind, generator: np.random.Generator, one: Rows) -> dict[str, Array]:
    """Inputs of a run: seldom of another batch or width than the session's, or one that is refused."""
    batch = one.batch or int(generator.integers(1, BATCH + 1))
    if not generator.integers(12):
        batch = 1 + batch % BATCH
    width = kind.width + (not generator.integers(16))
    new = int(generator.integers(NEW + 1))
    inputs = {
        "x": generator.integers(-4, 5, (batch, new, width)).astype(np.float32),
        "fits": np.array(bool(generator.integers(10))),
        "fixed": np.zeros((2, 3), np.float32),
    }
    if not kind.rewinds:
        inputs["f"] = generator.integers(-4, 5, (int(generator.integers(FRAMES + 1)), kind.width)).astype(np.float32)
    return inputs
