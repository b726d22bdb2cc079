"""TLS for the broker: a given certificate, or a self-signed one."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path

from .origins import is_address

VALID = datetime.timedelta(days=30)


def given_certificate(certificate: Path, key: Path) -> ssl.SSLContext:
    """Raises OSError and ssl.SSLError for files that are none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # A ticket is read after the handshake, by the thread that waits for messages, while another may write: OpenSSL's
    # connections are not made for that, and Python locks them from 3.13 on (gh-124984). One in 900 connections broke.
    context.num_tickets = 0
    return context


def self_signed_certificate(hosts: tuple[str, ...]) -> tuple[ssl.SSLContext, str]:
    """A certificate for these names and addresses, and its SHA-256 fingerprint, as browsers show it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(h)) if is_address(h) else x509.DNSName(h.encode("idna").decode())
        for h in dict.fromkeys(hosts)
    ]
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webnn-rpc")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    certificate = builder.sign(key, hashes.SHA256())
    fingerprint = certificate.fingerprint(hashes.SHA256()).hex(":").upper()
    pem = serialization.Encoding.PEM
    with tempfile.TemporaryDirectory() as folder:  # `ssl` reads files alone
        chain, private = Path(folder) / "certificate.pem", Path(folder) / "key.pem"
        chain.write_bytes(certificate.public_bytes(pem))
        private.touch(mode=0o600)
        private.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        return given_certificate(chain, private), fingerprint
