"""Moves measures to where they are needed: each that reads the device makes a run wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, scalars_of
from ..program.device_program import HostCall, Launch, ReadScalar, ScalarLocation, Step
from ..program.steps import Branch, Loop


def place_measures(
    steps: Sequence[Step], used: Iterable[Scalar], host: Set[Scalar], carried: Mapping[Scalar, Set[Scalar]]
) -> tuple[Step, ...]:
    """The steps without measures of what nothing uses, or what is measured again before that; those of what a loop
    carries, and its body does not use, are behind it. `used` are scalars that the caller uses after all steps, `host`
    those that each call of the host uses; `carried` has by the counter of a loop those whose places keep the last
    values to its end.

        loop: f(); measure s        loop: f()
                               ->   measure s
        g(s)                        g(s)
    """
    return _Placing(frozenset(host), carried).sequence(steps, frozenset(used))[0]


class _Placing:
    def __init__(self, host: frozenset[Scalar], carried: Mapping[Scalar, Set[Scalar]]) -> None:
        self._host, self._carried = host, carried

    def sequence(self, steps: Sequence[Step], live: frozenset[Scalar]) -> tuple[tuple[Step, ...], frozenset[Scalar]]:
        """The steps, before which the second ones are live, `live` being so after them."""
        placed: list[Step] = []
        for step in reversed(steps):
            replaced, live = self._step(step, live)
            placed += reversed(replaced)
        return tuple(reversed(placed)), live

    def _step(self, step: Step, live: frozenset[Scalar]) -> tuple[Sequence[Step], frozenset[Scalar]]:
        match step:
            case ReadScalar(scalar):
                return ([step], live - {scalar}) if scalar in live else ([], live)
            case Loop():
                return self._loop(step, live)
            case Branch(condition, then, otherwise):
                then, before = self.sequence(then, live)
                otherwise, others = self.sequence(otherwise, live)
                return [replace(step, then=then, otherwise=otherwise)], before | others | _tested(condition)
        return [step], live | self._read([step])

    def _loop(
        self, step: Loop[Launch | HostCall | ReadScalar, ScalarLocation], live: frozenset[Scalar]
    ) -> tuple[list[Step], frozenset[Scalar]]:
        read = self._read(step.body)
        free = self._carried.get(step.counter, frozenset()) - read
        behind = {s.scalar: s for s in step.body if isinstance(s, ReadScalar) and s.scalar in free}
        needed = [s for scalar, s in behind.items() if scalar in live]
        rest = [s for s in step.body if not (isinstance(s, ReadScalar) and s.scalar in behind)]
        after = live - behind.keys()
        # What an iteration measures the next one may take.
        body, before = self.sequence(rest, after | read)
        return [replace(step, body=body), *needed], (after | before | _of(step.trips)) - {step.counter}

    def _read(self, steps: Iterable[Step]) -> frozenset[Scalar]:
        read: frozenset[Scalar] = frozenset()
        for step in steps:
            match step:
                case Launch(scalars=scalars):
                    read |= frozenset(scalars)
                case HostCall():
                    read |= self._host
                case Loop(trips=trips, body=body):
                    read |= self._read(body) | _of(trips)
                case Branch(condition, then, otherwise):
                    read |= self._read((*then, *otherwise)) | _tested(condition)
        return read


def _tested(condition: ScalarLocation | Expr) -> frozenset[Scalar]:
    return frozenset(scalars_of(condition)) if isinstance(condition, Expr) else frozenset()


def _of(size: Size) -> frozenset[Scalar]:
    return frozenset(scalars_of(size)) if isinstance(size, Expr) else frozenset()
