"""A bundle's list of files with their hashes, signed by Ed25519, and the check of a folder against it.

The file: the signature in base64, a line break, and the text that is signed, JSON of name, bytes and sha256 of every
other file. What is signed is that text as it stands, so no two programs have to agree about how JSON is written.
"""

from __future__ import annotations

import importlib.util
import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .files import SIGNATURE, BundleFile

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PURPOSE = "webnn-compile bundle"
"""First field of what is signed: the key's other signatures are none of a bundle."""
LONGEST = 64 * 1024
"""Bytes of a key's file."""
_MAKE = "make one by: openssl genpkey -algorithm ed25519 -out key.pem"


def check_package(option: str = "--sign") -> None:
    """Raises InputError where the package that signs is missing."""
    if importlib.util.find_spec("cryptography") is None:
        raise InputError(f"{option} needs the package cryptography: pip install 'webnn-compile[sign]'")


def read_key(path: Path) -> Ed25519PrivateKey:
    """The private key of a PEM file. Raises InputError for a file that holds no such key, or an encrypted one."""
    check_package()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text = _read_file(path, f"--sign {path}")
    try:
        key = load_pem_private_key(text, password=None)
    except TypeError as error:  # of cryptography, where a password is needed
        raise InputError(
            f"--sign {path}: the key is encrypted; decrypt it for the build, and keep the file where only you read it: "
            f"openssl pkey -in {path} -out plain.pem"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        public = " it is a public key, and signing takes the private one;" if b"PUBLIC KEY" in text else ""
        raise InputError(f"--sign {path} is no private key in PEM:{public} {_MAKE}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"--sign {path} is a key of {_kind(key)}, and bundles are signed by Ed25519: {_MAKE}")
    return key


def _read_public_key(text: str) -> Ed25519PublicKey:
    """The public key that `text` is in base64, or that the PEM file of this path holds, alone or with its private half.
    Raises InputError."""
    check_package("--check-signature")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    option = f"--check-signature {text}"
    try:
        return Ed25519PublicKey.from_public_bytes(b64decode(text, validate=True))
    except (ValueError, Base64Error) as error:
        if not Path(text).exists():
            raise InputError(
                f"{option}: expected the 32 bytes of a public key in base64, which --sign prints, or a file of the key "
                "in PEM"
            ) from error
    pem = _read_file(Path(text), option)
    try:
        key = (
            load_pem_public_key(pem) if b"PUBLIC KEY" in pem else load_pem_private_key(pem, password=None).public_key()
        )
    except TypeError as error:  # of cryptography, where a password is needed
        public = f"openssl pkey -in {text} -pubout -out public.pem"
        raise InputError(f"{option}: the key is encrypted; checking takes its public half: {public}") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError(f"{option} is no key in PEM: give the one of --sign, or its public half") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{option} is a key of {_kind(key)}, and bundles are signed by Ed25519")
    return key


def _read_file(path: Path, option: str) -> bytes:
    """The first bytes of a key's file. Raises InputError that names the `option` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(LONGEST)
    except OSError as error:
        raise InputError(f"{option}: {error.strerror or error}") from error


def _kind(key: object) -> str:
    return type(key).__name__.removeprefix("_").removesuffix("PrivateKey").removesuffix("PublicKey")


def public_key(path: Path) -> str:
    """The public half of the key in a file, 32 bytes in base64. Raises InputError as `read_key`."""
    return b64encode(read_key(path).public_key().public_bytes_raw()).decode()


def sign_files(files: Sequence[BundleFile], path: Path) -> list[BundleFile]:
    """The files, with SIGNATURE in place of one of that name that holds nothing yet. Raises InputError."""
    others = [file for file in files if file.name != SIGNATURE]
    listed = [{"name": f.name, "bytes": len(f.data), "sha256": f.sha256} for f in others]
    text = json.dumps({"for": PURPOSE, "files": listed}, separators=(",", ":")).encode()
    signed = BundleFile(SIGNATURE, b64encode(read_key(path).sign(text)) + b"\n" + text, "program")
    return [*others, signed]


def check_signature(folder: Path, key: str) -> int:
    """The number of files of a bundle that were signed by the private half of `key`: a public key as `public_key` gives
    it, or the path of a PEM file.

    Raises InputError where the signature is not of this key, or a file differs, is missing, or was added.
    """
    public = _read_public_key(key)
    from cryptography.exceptions import InvalidSignature

    try:
        signature, _, text = (folder / SIGNATURE).read_bytes().partition(b"\n")
    except OSError as error:
        raise InputError(
            f"{folder} has no {SIGNATURE} ({error.strerror or error}): give the folder of a bundle that was compiled "
            "with --sign"
        ) from error
    try:
        public.verify(b64decode(signature, validate=True), text)
    except (InvalidSignature, ValueError, Base64Error) as error:
        raise InputError(
            f"{folder / SIGNATURE} was not signed by this key, or was changed since: compile the bundle again"
        ) from error
    if (described := _described(text)).get("for") != PURPOSE:
        raise InputError(f"{folder / SIGNATURE} is signed, but is no list of a bundle's files")
    listed = {entry["name"]: entry["sha256"] for entry in described["files"]}
    # Links to folders, pipes and whatever else a server may give are no files that were signed.
    there = (p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
    found = {p.relative_to(folder).as_posix() for p in there} - {SIGNATURE}
    read = (n for n in listed.keys() & found if (folder / n).is_file())
    changed = sorted(n for n in read if sha256((folder / n).read_bytes()).hexdigest() != listed[n])
    for what, names in (
        ("changed", changed),
        ("missing", sorted(n for n in listed if not (folder / n).is_file())),
        ("not signed", sorted(found - listed.keys())),
    ):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            raise InputError(
                f"{folder}: {', '.join(names[:5])}{more}: {what} since the bundle was signed; compile it again"
            )
    return len(listed)


def _described(text: bytes) -> dict[str, Any]:
    """The object of a text of JSON; without fields where it is none."""
    try:
        described = json.loads(text)
    except ValueError:
        return {}
    return described if isinstance(described, dict) else {}
