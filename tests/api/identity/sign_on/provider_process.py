"""An OpenID provider of one's own: a program on loopback that logs everybody in at once.

    python -m tests.api.identity.sign_on.provider_process  says its address, until killed

It is a real one as far as a client can see: discovery, keys, codes that are good once, PKCE and
client authentication that are checked, ID tokens by RS256, ES256 or EdDSA. And it misbehaves on
order: POST /order with what the next logins are to be like (see `Orders`); GET /seen tells what it
was asked.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import secrets
import time
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from urllib.parse import unquote_plus, urlencode

from aiohttp import web
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

CLIENT_ID: Final = "windlass"
CLIENT_SECRET: Final = "of:the client"  # which has to be escaped
PUBLIC_URL: Final = "https://windlass.example.com"
REDIRECT_URI: Final = f"{PUBLIC_URL}/v1/session/oidc/callback"
# The keys that there are; those of `Orders.published` are told.
KEYS: Final = ("rsa-1", "ec-1", "ed-1", "ec-2", "rsa-weak")


@dataclass(slots=True)
class Orders:
    """What the next logins are to be like; all of it as usual, unless ordered."""

    claims: dict[str, Any] = field(default_factory=dict)  # instead of the usual; null: none
    shift_seconds: float = 0.0  # of the provider's clock
    header: dict[str, Any] = field(default_factory=dict)
    alg: str = "ES256"
    key: str = "ec-1"  # that signs
    published: list[str] = field(default_factory=lambda: ["rsa-1", "ec-1", "ed-1"])
    id_token: str | None = None  # instead of a signed one
    signature: str | None = None
    description: dict[str, Any] = field(default_factory=dict)  # instead of the usual; null: none
    way_back: dict[str, Any] = field(default_factory=dict)  # the same of what the browser brings
    trouble: dict[str, str] = field(default_factory=dict)  # description, keys, token -> what
    keys_answer: Any = None
    token_answer: Any = None
    token_status: int = 200
    is_public: bool = False  # the client has no secret


@dataclass(slots=True)
class Code:
    redirect_uri: str
    challenge: str
    nonce: str


class OpenIdProvider:
    def __init__(self) -> None:
        self.issuer = ""
        self.orders = Orders()
        self.codes: dict[str, Code] = {}
        self.seen: list[dict[str, Any]] = []
        self.keys: dict[str, Any] = {
            "rsa-1": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "rsa-weak": rsa.generate_private_key(public_exponent=65537, key_size=1024),
            "ec-1": ec.generate_private_key(ec.SECP256R1()),
            "ec-2": ec.generate_private_key(ec.SECP256R1()),
            "ed-1": ed25519.Ed25519PrivateKey.generate(),
        }

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self.description)
        app.router.add_get("/keys", self.published)
        app.router.add_get("/authorize", self.authorize)
        app.router.add_post("/token", self.token)
        app.router.add_get("/seen", self.tell)
        app.router.add_post("/order", self.order)
        return app

    async def order(self, request: web.Request) -> web.Response:
        self.orders = Orders(**await request.json())
        self.seen.clear()
        return web.json_response({})

    async def tell(self, _request: web.Request) -> web.Response:
        return web.json_response(self.seen)

    async def description(self, request: web.Request) -> web.StreamResponse:
        said = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA"],
            "code_challenge_methods_supported": ["S256"],
        }
        return await self._answer(request, "description", _with(said, self.orders.description))

    async def published(self, request: web.Request) -> web.StreamResponse:
        keys = [self._public(name) for name in self.orders.published]
        said = {"keys": [{"kty": "later", "kid": "x"}, *keys]}
        answer = said if self.orders.keys_answer is None else self.orders.keys_answer
        return await self._answer(request, "keys", answer)

    async def authorize(self, request: web.Request) -> web.StreamResponse:
        asked = request.query
        self.seen.append({"path": "/authorize", **asked})
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT_ID
        assert asked["redirect_uri"] == REDIRECT_URI
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(24)
        self.codes[code] = Code(asked["redirect_uri"], asked["code_challenge"], asked["nonce"])
        said = {"code": code, "state": asked["state"], "session_state": "of nobody's interest"}
        back = urlencode(_with(said, self.orders.way_back))
        raise web.HTTPFound(f"{asked['redirect_uri']}?{back}")

    async def token(self, request: web.Request) -> web.StreamResponse:
        form = {name: str(text) for name, text in (await request.post()).items()}
        self.seen.append({"path": "/token", **form})
        if not self._is_client(request, form):
            return web.json_response({"error": "invalid_client"}, status=401)
        code = self.codes.pop(form.get("code", ""), None)
        made_of = _b64(sha256(form.get("code_verifier", "").encode()).digest())
        if (
            form.get("grant_type") != "authorization_code"
            or code is None
            or form.get("redirect_uri") != code.redirect_uri
            or made_of != code.challenge
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        said = {
            "access_token": "at-" + secrets.token_urlsafe(9),
            "token_type": "Bearer",
            "id_token": self.orders.id_token or self._id_token(code.nonce),
        }
        answer = said if self.orders.token_answer is None else self.orders.token_answer
        return await self._answer(request, "token", answer, self.orders.token_status)

    def _is_client(self, request: web.Request, form: dict[str, str]) -> bool:
        if self.orders.is_public:
            return "Authorization" not in request.headers and form.get("client_id") == CLIENT_ID
        if "client_secret" in form:
            return (form.get("client_id"), form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)
        text = request.headers.get("Authorization", "").removeprefix("Basic ")
        name, _, secret = base64.b64decode(text).decode().partition(":")
        return (unquote_plus(name), unquote_plus(secret)) == (CLIENT_ID, CLIENT_SECRET)

    async def _answer(
        self, request: web.Request, what: str, said: Any, status: int = 200
    ) -> web.StreamResponse:
        if what != "token":
            self.seen.append({"path": request.path})
        match self.orders.trouble.get(what):
            case "500":
                return web.Response(status=500, text="at-secret-of-the-provider")
            case "html":
                return web.Response(text="<p>at-secret-of-the-provider", content_type="text/html")
            case "huge":
                return web.Response(text=json.dumps({**said, "x": "x" * 10_000_000}))
            case "twins":
                return web.Response(text=f"{json.dumps(said)[:-1]}, {json.dumps(said)[1:]}")
            case "list":
                return web.json_response([said])
            case "redirect":
                raise web.HTTPTemporaryRedirect(f"{self.issuer}/authorize")
            case "silence":
                await asyncio.Event().wait()  # until whoever asked has gone
            case _:
                pass
        return web.json_response(said, status=status)

    def _id_token(self, nonce: str) -> str:
        orders, now = self.orders, time.time() + self.orders.shift_seconds
        usual = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "ann-1",
            "exp": int(now) + 300,
            "iat": int(now),
            "nonce": nonce,
            "preferred_username": "Ann",
            "groups": ["staff"],
        }
        claims = _with(usual, orders.claims)
        header = _with({"alg": orders.alg, "kid": orders.key, "typ": "JWT"}, orders.header)
        signed = f"{_b64(_json(header))}.{_b64(_json(claims))}"
        signature = orders.signature
        return f"{signed}.{_b64(self._sign(signed.encode())) if signature is None else signature}"

    def _sign(self, text: bytes) -> bytes:
        key = self.keys[self.orders.key]
        if self.orders.alg == "none":
            return b""
        if self.orders.alg == "HS256":  # with the public key, as if it were a secret
            pem = key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            return hmac.digest(pem, text, sha256)
        if isinstance(key, rsa.RSAPrivateKey):
            return key.sign(text, padding.PKCS1v15(), hashes.SHA256())
        if isinstance(key, ed25519.Ed25519PrivateKey):
            return key.sign(text)
        r, s = decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def _public(self, name: str) -> dict[str, Any]:
        key = self.keys[name].public_key()
        said: dict[str, Any] = {"kid": name, "use": "sig"}
        if isinstance(key, rsa.RSAPublicKey):
            numbers = key.public_numbers()
            return {**said, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        if isinstance(key, ed25519.Ed25519PublicKey):
            raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
            return {**said, "kty": "OKP", "crv": "Ed25519", "x": _b64(key.public_bytes(*raw))}
        point = key.public_numbers()
        x, y = (_b64(number.to_bytes(32, "big")) for number in (point.x, point.y))
        return {**said, "kty": "EC", "crv": "P-256", "alg": "ES256", "x": x, "y": y}


def _with(usual: dict[str, Any], ordered: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**usual, **ordered}.items() if value is not None}


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _number(number: int) -> str:
    return _b64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


async def main() -> None:
    provider = OpenIdProvider()
    runner = web.AppRunner(provider.app(), handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    provider.issuer = f"http://{host}:{port}"
    print(provider.issuer, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
