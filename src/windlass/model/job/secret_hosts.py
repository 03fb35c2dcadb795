"""Which targets a named secret may go to: `shop.example`, `shop.example:8080`, `*.shop.example`.

Each is written as targets are (model.job.target): with its port unless that is 443. `*.` stands for
one or more labels before the rest, never for the rest itself, and not before an address.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from windlass.limits import SECRET_HOSTS_MAX
from windlass.model.job.target import read_target

_ANY: Final = "*."
_ADDRESS: Final = re.compile(r"\[.*|[0-9.]+(?::[0-9]+)?")


def read_hosts(value: object) -> tuple[str, ...]:
    """The hosts, each once, in the order given. Raises ValueError that says what is allowed."""
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= SECRET_HOSTS_MAX:
        raise ValueError(
            f"must be a list of 1 to {SECRET_HOSTS_MAX} hosts, or null: the next use binds it"
        )
    return tuple(dict.fromkeys(_read_host(one) for one in value))


def targets_outside(targets: Iterable[str], hosts: Collection[str]) -> list[str]:
    """Those of `targets` that a secret of these hosts may not go to."""
    ends = tuple(host[1:] for host in hosts if host.startswith(_ANY))
    return [one for one in targets if one not in hosts and not one.endswith(ends)]


def _read_host(value: object) -> str:
    wanted = "must be a host, with its port unless that is 443: shop.example:8080, *.shop.example"
    if not isinstance(value, str):
        raise ValueError(wanted)
    try:
        host = read_target(value.removeprefix(_ANY))
    except ValueError:
        raise ValueError(wanted) from None
    if not value.startswith(_ANY):
        return host
    if _ADDRESS.fullmatch(host):
        raise ValueError(f"{wanted}; an address has nothing before it that {_ANY} could stand for")
    return _ANY + host
