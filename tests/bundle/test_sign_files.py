"""Bundles whose list of files is signed, and the check of a folder against it."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from cli.command import run
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import (
    BundledFunction,
    Packaging,
    check_signature,
    public_key,
    render_bundle,
    write_bundle,
    write_functions,
)
from webnn_compile.bundle.sign_files import read_key
from webnn_compile.errors import InputError

PEM, PKCS8, PLAIN = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()


def new_key(folder: Path) -> Path:
    """The file of a private key, made now."""
    path = folder / "key.pem"
    path.write_bytes(ed25519.Ed25519PrivateKey.generate().private_bytes(PEM, PKCS8, PLAIN))
    return path


def test_a_bundle_is_as_it_was_signed(tmp_path: Path) -> None:
    key, out = new_key(tmp_path), tmp_path / "bundle"
    files = write_bundle(tiny_artifact(), out, packaging=Packaging(sign=key, compress=("gz",)))
    assert check_signature(out, public_key(key)) == len(files) - 1
    listed = json.loads((out / "signature.txt").read_bytes().partition(b"\n")[2])
    found = {path.name: path.read_bytes() for path in out.iterdir() if path.name != "signature.txt"}
    assert {f["name"]: (f["bytes"], f["sha256"]) for f in listed["files"]} == {
        name: (len(data), sha256(data).hexdigest()) for name, data in found.items()
    }
    assert any(name.endswith(".gz") for name in found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda out: (out / "model.js").write_text("changed"), r"model\.js: changed since"),
        (lambda out: (out / "package.json").unlink(), r"package\.json: missing since"),
        (lambda out: (out / "more.js").write_text(""), r"more\.js: not signed since"),
        (lambda out: (out / "more").symlink_to(out.parent), "more: not signed since"),
        (lambda out: (out / "lost").symlink_to("nothing"), "lost: not signed since"),
        (lambda out: os.mkfifo(out / "pipe"), "pipe: not signed since"),
        (lambda out: (out / "signature.txt").unlink(), r"has no signature\.txt"),
        (lambda out: (out / "signature.txt").write_text("x\n{}"), "was not signed by this key, or was changed"),
    ],
)
def test_a_folder_that_differs(tmp_path: Path, change: object, message: str) -> None:
    key, out = new_key(tmp_path), tmp_path / "bundle"
    write_bundle(tiny_artifact(), out, packaging=Packaging(sign=key))
    assert callable(change)
    change(out)
    with pytest.raises(InputError, match=message):
        check_signature(out, public_key(key))
    done = run(out, "--check-signature", public_key(key))
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_another_key(tmp_path: Path) -> None:
    key, out = new_key(tmp_path), tmp_path / "bundle"
    write_bundle(tiny_artifact(), out, packaging=Packaging(sign=key))
    with pytest.raises(InputError, match="was not signed by this key"):
        check_signature(out, b64encode(os.urandom(32)).decode())
    with pytest.raises(InputError, match="expected the 32 bytes of a public key"):
        check_signature(out, "key")


def test_a_key_in_a_file(tmp_path: Path) -> None:
    """A file of the public key, or of the private one, which has both halves."""
    key, out = new_key(tmp_path), tmp_path / "bundle"
    files = write_bundle(tiny_artifact(), out, packaging=Packaging(sign=key))
    public, other = tmp_path / "public.pem", tmp_path / "other.pem"
    public.write_bytes(read_key(key).public_key().public_bytes(PEM, PublicFormat.SubjectPublicKeyInfo))
    other.write_bytes(
        ed25519.Ed25519PrivateKey.generate().public_key().public_bytes(PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    for path in (public, key):
        assert check_signature(out, str(path)) == len(files) - 1
        done = run(out, "--check-signature", path)
        assert (done.exit_code, "all as they were signed" in done.output) == (0, True)
    with pytest.raises(InputError, match="was not signed by this key"):
        check_signature(out, str(other))


def test_files_that_hold_no_key_to_check_with(tmp_path: Path) -> None:
    elliptic = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "ec.pem").write_bytes(elliptic.public_key().public_bytes(PEM, PublicFormat.SubjectPublicKeyInfo))
    (tmp_path / "bad.pem").write_bytes(b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
    messages = {
        "nothing": "is no key in PEM",
        "text": "is no key in PEM",
        "bad.pem": "is no key in PEM",
        "ec.pem": "is a key of .*, and bundles are signed by Ed25519",
        "elliptic": "is a key of .*, and bundles are signed by Ed25519",
        "encrypted": "the key is encrypted; checking takes its public half: openssl pkey",
        "missing": "expected the 32 bytes of a public key in base64, .* or a file",
    }
    refused_keys(tmp_path)
    for name, message in messages.items():
        with pytest.raises(InputError, match=message):
            check_signature(tmp_path, str(tmp_path / name))
    with pytest.raises(InputError, match="Is a directory"):
        check_signature(tmp_path, str(tmp_path))


def test_one_bit_of_the_list_or_the_signature(tmp_path: Path) -> None:
    key, out = new_key(tmp_path), tmp_path / "bundle"
    write_bundle(tiny_artifact(), out, packaging=Packaging(sign=key))
    whole = (out / "signature.txt").read_bytes()
    for at in (0, 40, 85, 100, len(whole) - 1):
        (out / "signature.txt").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError, match="was not signed by this key"):
            check_signature(out, public_key(key))


@pytest.mark.parametrize("text", [b"{}", b"[]", b"null", b"no JSON", b"\xff", b'{"for": "mail", "files": []}'])
def test_what_else_the_key_has_signed(tmp_path: Path, text: bytes) -> None:
    key = new_key(tmp_path)
    (tmp_path / "signature.txt").write_bytes(b64encode(read_key(key).sign(text)) + b"\n" + text)
    with pytest.raises(InputError, match="is signed, but is no list of a bundle's files"):
        check_signature(tmp_path, public_key(key))


def refused_keys(folder: Path) -> dict[str, tuple[Path, str]]:
    private = ed25519.Ed25519PrivateKey.generate()
    written = {
        "nothing": (b"", "is no private key in PEM: make one by: openssl"),
        "text": (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "is no private key in PEM"),
        "public": (private.public_key().public_bytes(PEM, PublicFormat.SubjectPublicKeyInfo), "it is a public key"),
        "elliptic": (
            ec.generate_private_key(ec.SECP256R1()).private_bytes(PEM, PKCS8, PLAIN),
            "is a key of .*, and bundles are signed by Ed25519",
        ),
        "encrypted": (
            private.private_bytes(PEM, PKCS8, BestAvailableEncryption(b"secret")),
            "the key is encrypted; decrypt it for the build",
        ),
    }
    for name, (data, _) in written.items():
        (folder / name).write_bytes(data)
    return {name: (folder / name, message) for name, (_, message) in written.items()} | {
        "missing": (folder / "missing", "No such file"),
        "folder": (folder, "Is a directory"),
    }


def test_files_that_hold_no_such_key(tmp_path: Path) -> None:
    """Refused before anything is compiled."""
    for path, message in refused_keys(tmp_path).values():
        with pytest.raises(InputError, match=message):
            Packaging(sign=path).check()
    done = run("no.onnx", "--out", tmp_path / "out", "--sign", tmp_path / "encrypted")
    assert (done.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "the key is encrypted" in done.output


def test_forms_of_a_bundle(tmp_path: Path) -> None:
    key = new_key(tmp_path)
    with pytest.raises(InputError, match="--sign and --single-file exclude each other"):
        Packaging(single_file=True, sign=key).check()
    npm = {f.name: f.data for f in render_bundle(tiny_artifact(), packaging=Packaging("npm", sign=key))}
    assert "signature.txt" in json.loads(npm["package.json"])["files"]
    elsewhere = Packaging("npm", base_url="https://cdn.example.com/tiny/", sign=key)
    files = {f.name: f.data for f in render_bundle(tiny_artifact(), packaging=elsewhere)}
    assert "signature.txt" not in json.loads(files["package.json"])["files"]
    assert b"https://cdn.example.com/tiny/signature.txt" in files["model.js"]


def test_other_bundles_have_nothing_of_it(tmp_path: Path) -> None:
    files = {f.name.partition("-")[0]: f.data for f in render_bundle(tiny_artifact())}
    assert not [name for name, data in files.items() if name.endswith(".js") and b"publicKey" in data]
    assert not any(b"publicKey" in data for name, data in files.items() if name in ("load", "runtime", "model.js"))
    signed = {
        f.name.partition("-")[0]: f.data
        for f in render_bundle(tiny_artifact(), packaging=Packaging(sign=new_key(tmp_path)))
    }
    assert b"publicKey" in signed["load"] + signed["runtime"]


def test_the_key_is_printed(tmp_path: Path) -> None:
    from documented_models import classifier
    from onnx import save

    key = new_key(tmp_path)
    save(classifier("input", "output"), tmp_path / "model.onnx")
    done = run(tmp_path / "model.onnx", "--out", tmp_path / "out", "--targets", "wasm", "--sign", key)
    assert done.exit_code == 0, done.output
    assert f"public key {public_key(key)}, for load({{ publicKey }})" in done.output
    checked = run(tmp_path / "out", "--check-signature", public_key(key))
    assert (checked.exit_code, "all as they were signed" in checked.output) == (0, True)
    refused = run(tmp_path / "model.onnx", "--out", tmp_path / "lib", "--targets", "c", "--sign", key)
    assert (refused.exit_code, "--sign is for bundles" in refused.output) == (2, True)


def test_several_models(tmp_path: Path) -> None:
    key, out = new_key(tmp_path), tmp_path / "bundle"
    models = [BundledFunction(replace(tiny_artifact(), name=name)) for name in ("first", "second")]
    files = write_functions(models, out, packaging=Packaging(sign=key)).files
    assert check_signature(out, public_key(key)) == len(files) - 1
    assert (out / "model.js").read_text().count("signature.txt") == 2
