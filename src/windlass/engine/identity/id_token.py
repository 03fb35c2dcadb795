"""ID tokens: JSON Web Signatures by a key of the identity provider, and by nothing else.

Signatures are verified by joserfc. Which of them may be one is decided here: RS256, ES256 and EdDSA
with a public key that the provider publishes for signing, found by `kid`. There is no `none`, and
no HMAC: a public key is no secret, whoever says that it should be taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from windlass.errors import MalformedBody
from windlass.limits import PROVIDER_ANSWER_BYTES_MAX, RSA_BITS_MAX, RSA_BITS_MIN
from windlass.model.json import strict as strict_json

_HEADER_BYTES_MAX: Final = 16 * 1024  # some send their certificates along

# alg -> what its key says of itself. EdDSA is called by its curve, too (RFC 9864).
_KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "RS256": {"kty": "RSA"},
    "ES256": {"kty": "EC", "crv": "P-256"},
    "EdDSA": {"kty": "OKP", "crv": "Ed25519"},
    "Ed25519": {"kty": "OKP", "crv": "Ed25519"},
}
_SAME: Final = ("EdDSA", "Ed25519")
# Of a key only this is taken: what is public, and what it is.
_PUBLIC: Final = ("kty", "crv", "n", "e", "x", "y")


class TokenRefused(ValueError):
    """It is no token that could be believed, whatever keys there are."""


class KeyUnknown(ValueError):
    """It is not signed by any of these keys; there may be newer ones."""


class _Algorithms(jws.JWSRegistry):
    max_header_length = _HEADER_BYTES_MAX
    max_payload_length = PROVIDER_ANSWER_BYTES_MAX

    def get_alg(self, name: str) -> Any:
        """Without the warning that EdDSA is called Ed25519 nowadays."""
        return self.algorithms[name]


_REGISTRY: Final = _Algorithms(algorithms=list(_KEYS), strict_check_header=False)


def read_id_token(token: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Its claims, which one of the keys has signed. Raises TokenRefused, KeyUnknown."""
    signature = _extract(token)
    algorithm = signature.protected.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _KEYS:
        raise TokenRefused(f"it is signed otherwise than by {', '.join(_KEYS)} (alg)")
    if "crit" in signature.protected or "b64" in signature.protected:
        raise TokenRefused("its header demands what is not known here (crit)")
    found = list(_candidates(signature.protected, algorithm, keys))
    if not found:
        raise KeyUnknown("it is signed by a key that the provider does not publish (kid)")
    if not any(_is_signed_by(signature, key) for key in found):
        raise KeyUnknown("its signature is not right")
    try:
        claims: Any = strict_json.parse(signature.payload)
    except MalformedBody:
        claims = None
    if not isinstance(claims, dict):
        raise TokenRefused("what is signed is no JSON object")
    return claims


def _extract(token: str) -> jws.CompactSignature:
    try:
        signature = jws.extract_compact(token.encode(), registry=_REGISTRY)
    except Exception as trouble:  # what a library makes of any text at all
        raise TokenRefused("it is no signed token (JWS)") from trouble
    if not isinstance(signature.protected, dict):
        raise TokenRefused("its header is no object")
    return signature


def _candidates(
    header: Mapping[str, Any], algorithm: str, keys: Sequence[Mapping[str, Any]]
) -> Iterator[Key]:
    """The keys that it may have been signed with; without `kid` there must be one that fits."""
    wanted = _KEYS[algorithm]
    names = _SAME if algorithm in _SAME else (algorithm,)  # what a key says may be no text
    fitting = [
        key
        for key in keys
        if all(key.get(name) == text for name, text in wanted.items())
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) in names
    ]
    kid = header.get("kid")
    if kid is not None:
        fitting = [key for key in fitting if key.get("kid") == kid]
    elif len(fitting) > 1:
        raise TokenRefused("it does not say which of several keys has signed it (kid)")
    for found in fitting:
        key = _import(found)
        if key is not None:
            yield key


def _import(said: Mapping[str, Any]) -> Key | None:
    """None: it is no key, or none that one could trust."""
    kind: Any = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}[said["kty"]]
    try:
        key: Key = kind.import_key({name: said[name] for name in _PUBLIC if name in said})
        public = key.get_op_key("verify")
    except Exception:  # its numbers are no point on the curve, or no numbers
        return None
    if isinstance(public, RSAPublicKey) and not RSA_BITS_MIN <= public.key_size <= RSA_BITS_MAX:
        return None
    return key


def _is_signed_by(signature: jws.CompactSignature, key: Key) -> bool:
    try:
        return jws.validate_compact(signature, key, registry=_REGISTRY)
    except (JoseError, ValueError):
        return False
