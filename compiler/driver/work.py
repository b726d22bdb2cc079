"""The context of every part of a build: options, cache, progress and dumps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..answers.give_answers import Given
from ..errors import InputError
from ..generation.decoder import Generation
from ..pictures.take_pictures import PictureInput
from ..records.record_file import RecordFile, read_records
from ..records.recorded_choices import RecordedChoices, TargetChoices, choose_from_records, is_of
from ..sounds.take_sounds import SoundInput
from ..system.cache import Cache
from ..system.run_passes import Observer, ignore
from ..tokenizers.take_text import TextInput
from .options import Options

Phase = Callable[[str], None]
"""Called with the name of each phase as it begins."""


@dataclass(frozen=True, slots=True)
class Work:
    """`name` is the model's, printable. `dump` observes stages common to all targets; `seconds` are times by phase.
    `explicit` are the choices of targets that a search makes. `pictures` and `sounds` are inputs of the model that
    these fill, `text` says which tokens fill, if any, `answers` what its runs return, and `generation` how they give
    tokens, once it is imported.
    `filters` are by target the most bytes that Winograd's algorithm may prepare, where the page's memory limits
    them. `folder` is where the model's file is, if it is one."""

    name: str
    options: Options
    cache: Cache
    phase: Phase
    dump: Observer = ignore
    seconds: dict[str, float] = field(default_factory=dict)
    explicit: Mapping[str, TargetChoices] = field(default_factory=dict)
    pictures: list[PictureInput] = field(default_factory=list)
    sounds: list[SoundInput] = field(default_factory=list)
    text: list[TextInput] = field(default_factory=list)
    answers: list[Given] = field(default_factory=list)
    generation: list[Generation] = field(default_factory=list)
    filters: dict[str, int] = field(default_factory=dict)
    folder: Path | None = None
    _announced: list[str] = field(default_factory=list)
    _files: list[RecordFile] = field(default_factory=list)

    @contextmanager
    def timed(self, name: str, detail: str = "") -> Iterator[None]:
        label = f"{name} ({detail})" if detail else name
        if self._announced != [label]:  # or the same phase goes on
            self._announced[:] = [label]
            self.phase(label)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def choices(self, target: str) -> TargetChoices:
        """The explicit ones, or those of the options' records. Raises InputError."""
        return self.explicit[target] if target in self.explicit else self.recorded(target)

    def recorded(self, target: str) -> RecordedChoices:
        """The choices of the options' records. Raises InputError."""
        return choose_from_records(self.records.records, target, self.options.for_device)

    @property
    def records(self) -> RecordFile:
        """The records of the options' files. Raises InputError where one has none, or none is of the device that
        counts."""
        if not self._files:
            read, device = read_records(self.options.records), self.options.for_device
            if read.empty:
                raise InputError(
                    f"records {read.empty[0]}: the file is empty; measure with webnn-tune first, or leave it out"
                )
            if read.records and not any(is_of(r, device) for r in read.records):
                names = ", ".join(sorted({r.device for r in read.records}))
                raise InputError(f"--for-device {device}: the records are of {names}; name one of these, or part of it")
            self._files.append(read)
        return self._files[0]

    def observer(self, *targets: str) -> Observer:
        """The observer of these targets: it dumps if `--dump` names one of them."""
        dumped = self.options.dumped
        return self.dump if dumped is not None and dumped[0] in targets else ignore
