"""Which targets a secret may go to: how they are written, and what they match."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.limits import SECRET_HOSTS_MAX
from windlass.model.job.secret_hosts import read_hosts, targets_outside


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["Shop.Example.", "https://shop.example", "shop.example:443"], ["shop.example"]),
        (["bücher.example:8080"], ["xn--bcher-kva.example:8080"]),
        (["[::FFFF:127.0.0.1]:80", "[2001:DB8:0::1]"], ["127.0.0.1:80", "[2001:db8::1]"]),
        (["*.Shop.Example:8443", "*.internal"], ["*.shop.example:8443", "*.internal"]),
    ],
)
def test_a_host_has_one_name_however_it_is_written(given: list[str], read: list[str]) -> None:
    assert read_hosts(given) == tuple(read)


@pytest.mark.parametrize(
    "given",
    [
        "shop.example",
        [],
        {"shop.example": 1},
        [1],
        [""],
        ["*"],
        ["*."],
        ["*shop.example"],
        ["*.*.example"],
        ["shop.*"],
        ["*.127.0.0.1"],
        ["*.[::1]:80"],
        ["shop.example/path"],
        ["user@shop.example"],
        ["0x7f.1"],
        [f"{n}.example" for n in range(SECRET_HOSTS_MAX + 1)],
    ],
    ids=str,
)
def test_what_is_no_list_of_hosts_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="must be a"):
        read_hosts(given)


@pytest.mark.parametrize(
    ("target", "is_allowed"),
    [
        ("shop.example", True),
        ("shop.example:80", False),
        ("eu.shop.example", False),
        ("eu.bank.example:8443", True),
        ("a.eu.bank.example:8443", True),
        ("bank.example:8443", False),
        ("eu.bank.example", False),
        ("evilbank.example:8443", False),
        ("eu.bank.example:18443", False),
        ("shop.example.evil", False),
    ],
)
def test_a_secret_goes_to_its_hosts_and_no_others(target: str, is_allowed: bool) -> None:
    hosts = read_hosts(["shop.example", "*.bank.example:8443"])
    assert targets_outside([target, "shop.example"], hosts) == ([] if is_allowed else [target])
