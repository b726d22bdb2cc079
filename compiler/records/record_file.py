"""Files of records: JSON lines, appended at once, merged by concatenation."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from .tuning_record import TuningRecord, parse_line


@dataclass(frozen=True, slots=True)
class RecordFile:
    """All records of some files, each once; `damaged` lines were no records, `empty` files have no line."""

    records: tuple[TuningRecord, ...]
    damaged: int = 0
    empty: tuple[Path, ...] = ()


def read_records(paths: Iterable[Path]) -> RecordFile:
    """Raises InputError for a file that cannot be read, or has no record among its lines. Of a search that was
    interrupted before its first measurement the file is empty."""
    records: dict[str, TuningRecord] = {}
    damaged, empty = 0, []
    for path in paths:
        if path.exists() and not path.is_file():
            raise InputError(f"records {path}: this is no file; give a file of webnn-tune")
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise InputError(f"records {path}: {error.strerror or error}; give a file of webnn-tune") from None
        parsed = [(line, parse_line(line)) for line in lines if line.strip()]
        if parsed and not any(r for _, r in parsed):
            raise InputError(f"records {path}: none of its lines is a record; give a file of webnn-tune")
        if not parsed:
            empty.append(path)
        records |= {line: r for line, r in parsed if r is not None}
        damaged += sum(r is None for _, r in parsed)
    return RecordFile(tuple(records.values()), damaged, tuple(empty))


class RecordWriter:
    """Appends to a file: each record is there, or it is not, whatever interrupts the writer."""

    def __init__(self, path: Path) -> None:
        """Raises InputError where the file cannot be written."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError(f"records {path}: {error.strerror or error}; give another file") from None
        end = os.lseek(self._file, 0, os.SEEK_END)
        self._torn = end > 0 and os.pread(self._file, 1, end - 1) != b"\n"

    def append(self, record: TuningRecord) -> None:
        """Raises InputError where there is no room for it; the file then ends with the record before."""
        data = ("\n" if self._torn else "") + record.to_line()
        raw = data.encode()
        before = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = os.write(self._file, raw)
            if written < len(raw):
                os.truncate(self._file, before)
                raise OSError(0, "no space left on the device")
        except OSError as error:
            message = f"records {self.path}: {error.strerror or error}; all records before this one are kept"
            raise InputError(message) from None
        self._torn = False

    def close(self) -> None:
        os.close(self._file)
