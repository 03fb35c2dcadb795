"""Certificates for tests: an authority of one's own, and what it has signed."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two files."""

    cert: Path
    key: Path


class Authority:
    """Signs for 127.0.0.1, [::1] and localhost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = _name("Windlass tests")
        now = datetime.now(UTC)
        self._cert = (
            _builder(name, name, self._key, now - timedelta(days=1), now + timedelta(days=99))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.path = folder / "authority.pem"
        self.path.write_bytes(self._cert.public_bytes(serialization.Encoding.PEM))

    def sign(
        self,
        name: str = "api",
        *,
        days: float = 90,
        since_days: float = -1,
        password: str | None = None,
    ) -> Pair:
        """Files `name`.pem and `name`.key; those that are there are written anew."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        hosts = [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.IPAddress(ipaddress.ip_address("::1")),
        ]
        since, until = now + timedelta(days=since_days), now + timedelta(days=days)
        cert = (
            _builder(_name(name), self._cert.subject, key, since, until)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pair = Pair(cert=self.folder / f"{name}.pem", key=self.folder / f"{name}.key")
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(password.encode())
                if password is not None
                else serialization.NoEncryption(),
            )
        )
        pair.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
        return pair


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    since: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
    )
