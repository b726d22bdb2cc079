"""Files of records: lines that survive interruptions, full disks and concatenation."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from webnn_compile.choices import VERSION
from webnn_compile.errors import InputError
from webnn_compile.records.record_file import RecordWriter, read_records
from webnn_compile.records.tuning_record import TuningRecord, parse_line


def record(number: int = 0, **fields: object) -> TuningRecord:
    values = {
        "kind": "trial",
        "key": f"kernel-{number}",
        "target": "wasm",
        "device": "Chrome 1",
        "choices": {"rows": 2},
    }
    return TuningRecord(**{**values, **fields})  # type: ignore[arg-type]


def write(path: Path, *records: TuningRecord) -> None:
    writer = RecordWriter(path)
    for r in records:
        writer.append(r)
    writer.close()


@pytest.mark.parametrize(
    "made",
    [
        record(ms=1.5, base=3.0, model="m", kernel="conv", launches=4),
        record(
            kind="chosen",
            ms=1.0,
            base=2.0,
            whole=0.75,
            choices={"tile": (4, (2, 1)), "staged": False, "winograd": None},
        ),
        record(failure="wrong", message='errs by "1"\nor more', choices={}),
        record(space=VERSION + 1),
    ],
)
def test_what_is_written_is_read(tmp_path: Path, made: TuningRecord) -> None:
    write(tmp_path / "r.jsonl", made)
    read = read_records([tmp_path / "r.jsonl"])
    assert read.records == (made,)
    assert not read.damaged


def test_files_merge_by_concatenation(tmp_path: Path) -> None:
    """A record that is in both counts once."""
    write(tmp_path / "a", record(1), record(2))
    write(tmp_path / "b", record(2), record(3))
    (tmp_path / "c").write_bytes((tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes())
    separate = read_records([tmp_path / "a", tmp_path / "b"]).records
    assert separate == read_records([tmp_path / "c"]).records == (record(1), record(2), record(3))


def test_a_line_that_was_interrupted_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, record(1), record(2))
    path.write_bytes(path.read_bytes()[:-10])
    assert read_records([path]).records == (record(1),)
    write(path, record(3))
    read = read_records([path])
    assert read.records == (record(1), record(3))
    assert read.damaged == 1


@pytest.mark.parametrize("written", [0, 7])
def test_a_full_disk_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    path = tmp_path / "r.jsonl"
    writer = RecordWriter(path)
    writer.append(record(1))
    write_all = os.write

    def full(file: int, data: bytes) -> int:
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_all(file, data[:written])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(
        InputError, match=r"records .*r\.jsonl: .*[Nn]o space left.*; all records before this one are kept"
    ):
        writer.append(record(2))
    monkeypatch.undo()
    assert read_records([path]).records == (record(1),)
    writer.append(record(3))
    writer.close()
    read = read_records([path])
    assert read.records == (record(1), record(3))
    assert not read.damaged


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "1",
        '{"record":2}',
        '{"record":1}',
        record().to_line().replace('"trial"', '"guess"'),
        record(ms=1.0).to_line().replace("1.0", '"1"'),
        record(ms=1.0).to_line().replace("1.0", "Infinity"),
        record(ms=1.0).to_line().replace("1.0", "true"),
        record(launches=4).to_line().replace("4", "-4"),
        record().to_line().replace('{"rows":2}', '{"rows":' + "[" * 5000 + "]" * 5000 + "}"),
        record().to_line().replace('{"rows":2}', "[]"),
        record(ms=1.0).to_line().replace("1.0", "1" + "0" * 400),
        record(launches=4).to_line().replace("4", "4" + "0" * 400),
        record(message="x").to_line().replace('"x"', '"\\ud800"'),
        record().to_line().replace('{"rows":2}', '{"\\udfff":2}'),
        record(failure="wrong").to_line().replace("wrong", "odd"),
        record().to_line().replace('"key"', '"keys"'),
    ],
)
def test_other_lines_are_no_records(line: str) -> None:
    assert parse_line(line) is None


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"records .*none\.jsonl: No such file"):
        read_records([tmp_path / "none.jsonl"])
    (tmp_path / "text").write_text("hello\nworld\n")
    with pytest.raises(InputError, match="none of its lines is a record; give a file of webnn-tune"):
        read_records([tmp_path / "text"])
    with pytest.raises(InputError, match="this is no file; give a file of webnn-tune"):
        read_records([tmp_path])
    with pytest.raises(InputError, match="Is a directory; give another file"):
        RecordWriter(tmp_path)
    (tmp_path / "empty").write_text("")
    read = read_records([tmp_path / "empty"])
    assert read.records == ()
    assert read.empty == (tmp_path / "empty",)
