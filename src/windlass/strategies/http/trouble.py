"""Connection, DNS and TLS errors: a request without an answer becomes a cause and a sentence."""

from __future__ import annotations

import errno
import ssl
from typing import Final

from windlass.http1.connection import ConnectionBroken
from windlass.limits import ERROR_TEXT_MAX
from windlass.model.job.outcome import Failed
from windlass.model.json.storable import harmless_text
from windlass.strategies.http.net.egress import EgressRefused
from windlass.strategies.http.net.resolver import LocalShortage, LookupFailed

_BY_NUMBER: Final = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.EPIPE: "connection reset",
    errno.ECONNABORTED: "connection reset",
    errno.EHOSTUNREACH: "unreachable",
    errno.ETIMEDOUT: "connection timed out",
    # What this node lacks says nothing of its target (model.job.target knows these causes).
    errno.ENETUNREACH: "no route",
    errno.ENETDOWN: "no route",
    errno.EPERM: "no route",
    errno.EMFILE: "out of sockets",
    errno.ENFILE: "out of sockets",
    errno.ENOBUFS: "out of sockets",
    errno.ENOMEM: "out of sockets",
    errno.EADDRNOTAVAIL: "out of sockets",
}


def explain(trouble: OSError | ValueError) -> Failed:
    """The failure of a request; only what the egress guard or the address itself forbids is
    final."""
    if isinstance(trouble, EgressRefused):
        return Failed("egress_refused", _said(trouble), is_final=True)
    if isinstance(trouble, ValueError) and not isinstance(trouble, OSError):
        return Failed("invalid_input", f"/input/url: {_said(trouble)}", is_final=True)
    return Failed(_cause(trouble), _said(trouble))


def _cause(trouble: OSError | ValueError) -> str:
    match trouble:
        case ConnectionBroken():
            return trouble.cause
        case LookupFailed():
            return "out of sockets" if isinstance(trouble.why, LocalShortage) else "dns"
        case ssl.SSLError() | ssl.CertificateError():
            return "tls"
        case OSError() if trouble.errno in _BY_NUMBER:
            return _BY_NUMBER[trouble.errno]
        case ConnectionError():
            return "connection reset"
        case _:
            return "unreachable"


def _said(trouble: BaseException) -> str:
    return harmless_text(str(trouble) or type(trouble).__name__)[:ERROR_TEXT_MAX]
