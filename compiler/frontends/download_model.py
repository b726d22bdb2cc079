"""Downloads the files of a model.

They are cached in a folder for each address. A cached file is revalidated by its entity tag, a partial download is
resumed by a range request (RFC 9110, sections 13 and 14), and a digest in the response (RFC 9530, or the header of
Hugging Face's large files) is verified.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urljoin, urlsplit

from ..errors import InputError
from ..system.cache import usual_folder
from ..text.size import size
from .fetch_model import HUB, Phase

FOLDER_VARIABLE = "WEBNN_COMPILE_MODELS_DIR"
"""The environment variable that names another folder for models than the system's cache."""

_ATTEMPTS = 4
_PIECE = 2**20
_TIMEOUT = 60
"""Seconds without an answer."""

_CLOCK = 2
"""Seconds by which the times of files may be off."""


def download_model(address: str, phase: Phase) -> Path:
    """The file, which is kept, and with it those to which it refers. Raises InputError where it cannot be had."""
    return _from_hub(address, phase) if address.startswith(HUB) else _from_server(address, phase)


def _from_server(address: str, phase: Phase) -> Path:
    named = PurePosixPath(unquote(urlsplit(address).path)).name
    if not named:
        raise InputError(f"{address} names no file: give the address of the model itself")
    whole = urljoin(address, ".")  # files beside each other are kept so
    folder = _folder() / f"{urlsplit(address).hostname}-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"
    path = folder / named
    _fetch(address, path, phase)
    for data in _external(path, folder):
        _fetch(urljoin(address, quote(data.relative_to(folder).as_posix())), data, phase)
    return path


def _external(path: Path, folder: Path) -> Iterator[Path]:
    """The other files of a model, as far as they lie below its folder. They are fetched as they come, since some refer
    to more."""
    from .importers import files_beside

    seen: set[Path] = set()
    while found := {Path(os.path.normpath(data)): None for data in files_beside(path)}.keys() - seen:
        yield from sorted(data for data in found if data.is_relative_to(folder))
        seen |= found


def _from_hub(address: str, phase: Phase) -> Path:
    """hf://owner/name/path, or hf://owner/name@revision/path."""
    match = re.fullmatch(r"hf://([^/@]+/[^/@]+)(?:@([^/]+))?/(.+)", address)
    if match is None:
        raise InputError(f"{address}: write hf://owner/name/path/of/model.onnx, or hf://owner/name@revision/...")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise InputError(
            f"{address} needs the package huggingface-hub: pip install 'webnn-compile[hub]', or give "
            f"https://huggingface.co/{match[1]}/resolve/{match[2] or 'main'}/{match[3]}"
        ) from None

    def fetch(name: str) -> Path:
        phase(f"download {name}")
        begun = time.time()
        try:
            path = Path(hf_hub_download(match[1], name, revision=match[2]))
        except Exception as error:  # the package has errors of several libraries
            raise InputError(f"{address} cannot be fetched: {error}") from None
        _check_blob(path, address, begun)
        return path

    path = fetch(match[3])
    for data in _external(path, path.parent):
        fetch((PurePosixPath(match[3]).parent / data.relative_to(path.parent).as_posix()).as_posix())
    return path


def _check_blob(path: Path, address: str, begun: float) -> None:
    """Raises InputError where a file that has arrived since `begun`, in seconds, is another one than the hub names: in
    the cache it is a link to a file whose name is its sha256 where it is large, and else Git's hash. The package itself
    compares sizes alone."""
    blob = path.resolve()
    match = re.fullmatch("(?:[0-9a-f]{24})?[0-9a-f]{40}", blob.name)
    if match is None or blob.stat().st_mtime < begun - _CLOCK:
        return
    kind, actual = ("sha256", _sha256(blob)) if len(blob.name) == 64 else ("hash of Git", _hash_of_git(blob))
    if actual != blob.name:
        blob.unlink()
        raise InputError(f"{address}: the file that arrived is another one: its {kind} is {actual}, not {blob.name}")


def _folder() -> Path:
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else usual_folder() / "models"


def _fetch(address: str, path: Path, phase: Phase) -> None:
    """Makes `path` what the server has. Without a connection a kept file is taken as it is."""
    part, facts = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in reversed(range(_ATTEMPTS)):
            try:
                if _received(address, path, part, facts, phase):
                    return
            except urllib.error.HTTPError:
                raise
            except (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError) as error:
                if path.exists():
                    phase(f"{address} cannot be reached ({_reason(error)}): the kept file is taken")
                    return
                if not left:
                    raise InputError(
                        f"{address} cannot be fetched: {_reason(error)}; check the address and the connection, and try "
                        "again: what has arrived is kept"
                    ) from None
    except urllib.error.HTTPError as error:
        raise InputError(f"{address}: the server answered {error.code} {error.reason}; check the address") from None
    except (ValueError, UnicodeError) as error:
        raise InputError(f"{address} is no address: {error}") from None
    except OSError as error:
        raise InputError(
            f"{path.name} cannot be kept in {path.parent}: {error.strerror or error}; name another folder by "
            f"{FOLDER_VARIABLE}"
        ) from None
    raise InputError(f"{address} broke off {_ATTEMPTS} times; try again: what has arrived is kept")


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", error))


def _received(address: str, path: Path, part: Path, facts: Path, phase: Phase) -> bool:
    """Requests the file, or the range that is missing of it. True once it is complete."""
    known = _known(facts)
    headers = {"Accept-Encoding": "identity"}
    begun = part.stat().st_size if part.exists() else 0
    if begun and known.get("part"):
        headers |= {"Range": f"bytes={begun}-", "If-Range": known["part"]}
    elif path.exists() and known.get("tag"):
        headers["If-None-Match"] = known["tag"]
    try:
        response: HTTPResponse = urllib.request.urlopen(
            urllib.request.Request(address, headers=headers), timeout=_TIMEOUT
        )
    except urllib.error.HTTPError as error:
        if error.code == 304:
            return True
        if error.code == 416:  # the part is as long as the file, or of another one
            part.unlink(missing_ok=True)
            return False
        raise
    with response:
        if response.headers.get_content_type() == "text/html":
            raise InputError(
                f"{address}: the server sent a web page in place of a model; take the address of the file itself, on "
                "huggingface.co with /resolve/ and on github.com with /raw/ in place of /blob/"
            )
        goes_on = response.status == 206
        tag = response.headers.get("ETag", "")
        facts.write_text(json.dumps({**known, "part": tag}))
        length = int(response.headers.get("Content-Length") or 0)
        phase(f"download {path.name}" + (f" ({size(length)})" if length else ""))
        arrived = 0
        with part.open("ab" if goes_on else "wb") as file:
            while piece := response.read(_PIECE):
                file.write(piece)
                arrived += len(piece)
        if length and arrived < length:
            return False
        expected = _hash_of(response.headers)
    if expected is not None and (actual := _sha256(part)) != expected:
        part.unlink()
        raise InputError(f"{address}: the file that arrived is another one: its sha256 is {actual}, not {expected}")
    part.replace(path)
    facts.write_text(json.dumps({"tag": tag}))
    return True


def _known(facts: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        found = json.loads(facts.read_text())
        if isinstance(found, dict):
            return {str(name): str(value) for name, value in found.items()}
    return {}


def _hash_of(headers: Message) -> str | None:
    """The sha256 of the whole file, in hexadecimal, where the server says it."""
    said = ", ".join(filter(None, (headers.get("Repr-Digest"), headers.get("Digest"))))
    match = re.search(r"sha-256=:?([A-Za-z0-9+/]{43}=)", said, re.IGNORECASE)
    if match is not None:
        return base64.b64decode(match[1]).hex()
    linked = re.fullmatch(r'"?([0-9a-f]{64})"?', headers.get("X-Linked-ETag") or "")
    return None if linked is None else linked[1]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_of_git(path: Path) -> str:
    """The sha1 by which Git names the content of a file, a "blob"."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
