"""Runs a device program from Python as the JavaScript runtime does in a page, for tests and `--verify`."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from typing import Any, Literal, Protocol, overload

import numpy as np

from ..dtypes import BOOL, I32, DType
from ..errors import InputError, InternalError
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import value_of
from ..program.device_program import DeviceProgram, HostCall, Launch, Port, ReadScalar, ScalarLocation
from ..program.program import TensorSpec, read_tensor, segment_entry, write_tensor
from ..program.refusals import check_refusals
from ..program.shown_model import Shown, arrays_of
from ..program.steps import Branch, Loop, Step, Steps
from ..values.arrays import check_names, check_type, read_input
from ..values.bind_sizes import bind_sizes
from ..values.dlpack import DeviceArray, Exchanged, borrow
from ..values.ports import check_out, copy_out
from .arrange import arrange
from .device import Device, RecordingDevice, SharingDevice
from .device_types import from_device, to_device
from .sessions import Session, StatefulModel, StatesOf
from .swapped_states import DeviceStates, KeptStates, SwappedStates

Array = np.ndarray


OUTPUTS = ("host", "device")


@dataclass(frozen=True, slots=True)
class _Joined:
    """Launches that `run` carries out."""

    run: Callable[[], None]


_Leaf = Launch | HostCall | ReadScalar | _Joined


class Host(Protocol):
    """The host's program with its memory: `arena` is bytes."""

    @property
    def arena(self) -> Array: ...

    def call(self, entry: str) -> None:
        """One of the program's functions."""
        ...


class DeviceModel(StatefulModel):
    """A device program on a device, with the interface of NativeModel: runs of several threads wait for each other. Its
    device memory is freed by `close`, or when it is garbage."""

    def __init__(self, program: DeviceProgram, weights: bytes, device: Device, host: Host | None = None) -> None:
        if (host is None) != (program.host is None):
            raise InternalError(
                f"{program.backend}: a host was given to a program without one, or none to a program with one"
            )
        self.backend = program.backend
        self.program = program
        self._host = host
        self._device = device
        self._closed = False
        self._lock = threading.RLock()
        device.allocate(program.storages)
        for c in program.constants:
            data = np.frombuffer(weights, c.dtype.numpy, c.bytes // c.dtype.bytes, c.offset)
            self._write(c.value, data if c.dimensions is None else arrange(data, c.dimensions, c.limits), "a constant")
        self._scalars: dict[Scalar, int] = {}
        self._play(program.prepare, self._carry_out)
        for i, s in enumerate(program.storages):
            if s.prepare_only:
                device.release(i)
        self._steps = self._joined(program.steps)
        self._calls = {id(call): number for number, call in enumerate(program.calls)}
        self._given: list[Any] = []
        # Without a cycle: a model's memory is given back as soon as nothing refers to it.
        model: DeviceModel = weakref.proxy(self)
        self._states = DeviceStates(program.states, lambda v: model._read(v), lambda *given: model._write(*given))
        self._kept = KeptStates(tuple(p.spec for p in program.states), program.dimensions)

    def shown(self) -> Shown:
        inputs, outputs = (arrays_of(p.spec for p in ports) for ports in (self.program.inputs, self.program.outputs))
        return Shown(self.backend, inputs, outputs)

    @overload
    def run(
        self, inputs: Mapping[str, object], output: Literal["host"] = "host", *, out: Mapping[str, Array] | None = None
    ) -> dict[str, Array]: ...

    @overload
    def run(
        self, inputs: Mapping[str, object], output: Literal["device"], *, out: None = None
    ) -> dict[str, DeviceArray]: ...

    def run(
        self, inputs: Mapping[str, object], output: str = "host", *, out: Mapping[str, Array] | None = None
    ) -> dict[str, Array] | dict[str, DeviceArray]:
        """Outputs by name, of arrays of NumPy, or of others that exchange data by DLPack, in this device's memory or
        the processor's. With `output` "device" they stay in the device's memory, where such libraries read them. `out`
        is that of NativeModel. Raises InputError for a missing, unexpected or misshapen input, for an int64 element
        that does not fit the device's int32, and for outputs that are not on the device."""
        if output not in OUTPUTS:
            raise InputError(f"output={output!r}: choose one of {', '.join(OUTPUTS)}")
        if output == "device":
            self._check_shared()
        specs = [p.spec for p in self.program.outputs]
        if out is not None:
            check_out(specs, out)
            if output == "device":
                raise InputError("out=: arrays of the processor's memory; leave output='device' out, or this")
        session = self._own() if self.program.states else None
        if output == "host":
            return self.run_in(session, inputs, out)
        with self._lock:
            self._carry_out_run(session, inputs)
            return {p.spec.name: self._keep(p) for p in self.program.outputs}

    def run_in(
        self, session: Session | None, inputs: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> dict[str, Array]:
        with self._lock:
            self._carry_out_run(session, inputs)
            results = {p.spec.name: self._output(p) for p in self.program.outputs}
        return copy_out([p.spec for p in self.program.outputs], results, out)

    def _carry_out_run(
        self, session: Session | None, inputs: Mapping[str, object], carry_out: Callable[[_Leaf], None] | None = None
    ) -> None:
        """A run as it is, or step by step."""
        self._begin(inputs, session)
        if carry_out is None:
            self._play(self._steps, self._carry_out)
        else:
            self._play(self.program.steps, carry_out)
        check_refusals(self.program.refusals, self._scalars.__getitem__)
        if session is not None:
            session.end(self._scalars)

    @property
    def kept(self) -> StatesOf:
        return self._kept

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self._lock

    def new_memory(self) -> SwappedStates:
        return SwappedStates(self._states)

    def _check_shared(self) -> None:
        """InputError unless all outputs can stay on the device."""
        if not isinstance(self._device, SharingDevice):
            raise InputError(f"target {self.backend}: results cannot stay on the device; leave output='device' out")
        for p in self.program.outputs:
            values = self.program.values
            if p.value < 0:
                raise InputError(f"output {p.spec.name!r} is computed on the host: leave output='device' out")
            if p.spec.is_dynamic:
                raise InputError(f"output {p.spec.name!r} has sizes that vary: leave output='device' out")
            held = self.program.storages[values[p.value].storage].dtype
            if held != p.spec.dtype:
                raise InputError(
                    f"output {p.spec.name!r} is {p.spec.dtype}, but {held} on the device: leave output='device' out"
                )

    def _keep(self, port: Port) -> DeviceArray:
        assert isinstance(self._device, SharingDevice)
        return self._device.keep(self.program.values[port.value].storage, port.spec.dtype, port.spec.extents)

    def profile(self, inputs: Mapping[str, object], repeat: int) -> list[tuple[str, float]]:
        """Name and milliseconds in a run of each launch and each call of the host, in order. A
        launch writes no storage that it reads, so it is timed `repeat` times in its place, and the mean counts; a call
        of the host may overwrite what it was given, and is timed once. Raises InputError as `run` does."""
        timed = self.program.work
        durations = {id(s): 0.0 for s in timed}

        def carry_out(step: _Leaf) -> None:
            self._device.finish()
            start = time.perf_counter()
            times = repeat if isinstance(step, Launch) else 1
            for _ in range(times):
                self._carry_out(step)
            self._device.finish()
            if id(step) in durations:
                durations[id(step)] += (time.perf_counter() - start) * 1e3 / times

        with self._lock:
            self._carry_out_run(self._own() if self.program.states else None, inputs, carry_out)
        return [(s.name, durations[id(s)]) for s in timed]

    def time(self, inputs: Mapping[str, object], seconds: float) -> float:
        """Milliseconds of a run, without its inputs and outputs: the mean of as many as take `seconds`, of which each
        begins with the states as they are now, which stay so. Raises InputError as `run` does."""
        runs, spent = 0, 0.0
        session = self._own().fork() if self.program.states else None
        with self._lock:
            while not runs or spent < seconds:
                # A run may use the memory of its inputs for other values.
                (self._upload if runs else self._begin)(inputs, session)
                self._device.finish()
                start = time.perf_counter()
                self._play(self._steps, self._carry_out)
                self._device.finish()
                spent += time.perf_counter() - start
                runs += 1
        return spent * 1e3 / runs

    def _begin(self, inputs: Mapping[str, object], session: Session | None) -> None:
        """Uploads what a run is given, and brings its states."""
        self._upload(inputs, session)
        if session is not None:
            assert isinstance(session.memory, SwappedStates)
            if session.begin(self._scalars):
                self._upload(inputs, session)
            self._states.bring(session.memory)

    def _upload(self, inputs: Mapping[str, object], session: Session | None = None) -> None:
        if self._closed:
            raise InputError(f"{self.backend}: the model is closed; compile it again")
        ports = self.program.inputs
        check_names([p.spec for p in ports], inputs)
        copied = {p: read_input(p.spec, inputs[p.spec.name]) for p in ports if not self._take(p, inputs[p.spec.name])}
        self._given = [copied[p].flat[0] if p in copied and copied[p].size == 1 else None for p in ports]
        specs = [p.spec for p in copied]
        lengths = None if session is None else session.lengths
        self._scalars = bind_sizes(self.program.dimensions, specs, list(copied.values()), lengths)
        for p, a in copied.items():
            if p.value >= 0:
                self._write(p.value, _spaced(p.spec, a), f"input {p.spec.name!r}")
            if self._host is not None and p.spec.offset >= 0:
                write_tensor(self._host.arena, p.spec, a)

    def _take(self, port: Port, value: object) -> bool:
        """Whether the input was in the device's memory, and has been copied there."""
        device, spec = self._device, port.spec
        if not isinstance(value, Exchanged) or not isinstance(device, SharingDevice):
            return False
        if value.__dlpack_device__()[0] != device.kind:
            return False
        on_host = self._host is not None and spec.offset >= 0
        if port.value < 0 and not on_host:
            return True  # nothing reads it
        if spec.is_dynamic:
            raise InputError(f"input {spec.name!r} has sizes that vary: copy it to the processor first")
        storage = -1 if on_host else self.program.values[port.value].storage
        if on_host or self.program.storages[storage].dtype != spec.dtype:
            raise InputError(f"input {spec.name!r} is read by the host, or held as another type: copy it there first")
        with borrow(value, spec.name, device.stream) as borrowed:
            check_type(spec, borrowed.dtype, borrowed.shape)
            device.copy_in(storage, borrowed)
        return True

    def _play(self, steps: Steps[_Leaf, ScalarLocation], carry_out: Callable[[_Leaf], None]) -> None:
        """The steps as a run has them, with loops and branches carried out here."""
        for step in steps:
            if isinstance(step, Loop):
                for t in range(value_of(step.trips, self._scalars)):
                    if step.condition is not None and not self._element(step.condition, BOOL):
                        break
                    self._scalars[step.counter] = t
                    self._play(step.body, carry_out)
            elif isinstance(step, Branch):
                tested = step.condition
                holds = value_of(tested, self._scalars) if isinstance(tested, Expr) else self._element(tested, BOOL)
                self._play(step.then if holds else step.otherwise, carry_out)
            else:
                carry_out(step)

    def _carry_out(self, step: _Leaf) -> None:
        match step:
            case _Joined(run):
                run()
            case HostCall():
                self._call(step)
            case ReadScalar(scalar, place):
                self._scalars[scalar] = int(self._element(place, I32))
            case Launch():
                scalars = [self._scalars[s] for s in step.scalars]
                if self._has_work(step, scalars):
                    self._device.launch(*self._bound(step), scalars)

    def _element(self, place: ScalarLocation, dtype: DType) -> Any:
        if place.input >= 0:
            array = self._given[place.input]
            if array is None:
                name = self.program.inputs[place.input].spec.name
                raise InputError(f"input {name!r} decides how a run goes on: copy it to the processor first")
            return array
        if place.value >= 0:
            return self._read(place.value)[0]
        assert self._host is not None
        return self._host.arena[place.offset :][: dtype.bytes].view(dtype.numpy)[0]

    def close(self) -> None:
        """Frees the device's memory and programs; a closed model does not run."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._device.close()

    def _call(self, step: HostCall) -> None:
        """A segment on the host: reads back its operands, then uploads its results."""
        assert self._host is not None
        assert self.program.host is not None
        for scalar, offset in self.program.host.scalars.items():
            self._host.arena[offset:][:4].view(np.int32)[0] = self._scalars.get(scalar, 0)
        specs = [self._spec(v, at) for v, at in zip((*step.reads, *step.writes), step.offsets, strict=True)]
        for value, spec in zip(step.reads, specs, strict=False):
            write_tensor(self._host.arena, spec, self._read(value).reshape(spec.extents))
        self._host.call(segment_entry(self._calls[id(step)]))
        for value, spec in zip(step.writes, specs[len(step.reads) :], strict=True):
            self._write(value, read_tensor(self._host.arena, spec), f"the result of {step.name}")

    def _spec(self, value: int, offset: int) -> TensorSpec:
        v = self.program.values[value]
        return TensorSpec(v.name, v.dtype, v.shape, offset)

    def _joined(self, steps: Steps[_Leaf, ScalarLocation]) -> Sequence[Step[_Leaf, ScalarLocation]]:
        """The steps of a run, with launches that are always the same joined where they follow one another."""
        joined: list[Step[_Leaf, ScalarLocation]] = []
        for same, run in groupby(steps, lambda s: isinstance(s, Launch) and not s.scalars):
            if same:
                launches = [s for s in run if isinstance(s, Launch) and self._has_work(s, ())]
                if launches:
                    joined.append(_Joined(_launcher(self._device, [self._bound(s) for s in launches])))
                continue
            for step in run:
                if isinstance(step, Loop):
                    step = replace(step, body=self._joined(step.body))
                elif isinstance(step, Branch):
                    step = replace(step, then=self._joined(step.then), otherwise=self._joined(step.otherwise))
                joined.append(step)
        return joined

    def _has_work(self, step: Launch, scalars: Sequence[int]) -> bool:
        return all(self.program.kernels[step.kernel].grid_of(scalars))

    def _bound(self, step: Launch) -> tuple[int, Sequence[int]]:
        """The kernel, and the storages that it works on."""
        values = self.program.values
        return step.kernel, [values[a].storage for a in step.arguments]

    def _write(self, value: int, data: Array, what: str) -> None:
        v = self.program.values[value]
        self._device.write(v.storage, to_device(data, v.dtype, self.program.storages[v.storage].dtype, what))

    def _read(self, value: int) -> Array:
        """The elements of a value, flat, of the model's type. Values that are read back are linear on every device."""
        v = self.program.values[value]
        return from_device(self._device.read(v.storage)[: prod(v.shape)], v.dtype)

    def _output(self, port: Port) -> Array:
        if port.value >= 0:
            shape = tuple(value_of(n, self._scalars) for n in port.spec.shape)
            return self._read(port.value).reshape(port.spec.extents)[tuple(map(slice, shape))]
        assert self._host is not None
        return read_tensor(self._host.arena, port.spec, self._scalars)


def _spaced(spec: TensorSpec, a: Array) -> Array:
    """`a` in memory for the largest shape."""
    if a.shape == spec.extents:
        return a
    whole = np.zeros(spec.extents, a.dtype)
    whole[tuple(map(slice, a.shape))] = a
    return whole


def _launcher(device: Device, launches: Sequence[tuple[int, Sequence[int]]]) -> Callable[[], None]:
    if isinstance(device, RecordingDevice):
        return device.record(launches)

    def launch_all() -> None:
        for kernel, storages in launches:
            device.launch(kernel, storages)

    return launch_all
