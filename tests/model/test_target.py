"""How a target is written."""

from __future__ import annotations

import pytest

from windlass.model.target import read_target, target_of

ADDRESSES = [
    ("https://shop.example/hooks?a=1#b", "shop.example"),
    ("https://SHOP.example", "shop.example"),
    ("https://shop.example:443/", "shop.example"),
    ("https://shop.example:0443/", "shop.example"),
    ("https://shop.example:8443/x", "shop.example:8443"),
    ("http://shop.example/", "shop.example:80"),
    ("http://shop.example?x", "shop.example:80"),
    ("http://127.0.0.1:8080/a/b", "127.0.0.1:8080"),
    ("http://[::1]:8080/", "[::1]:8080"),
    ("https://[2001:DB8::1]/", "[2001:db8::1]"),
    ("ftp://shop.example/", None),
    ("shop.example", None),
    ("https://", None),
    ("", None),
]


@pytest.mark.parametrize(("url", "target"), ADDRESSES)
def test_a_target_is_a_host_and_its_port_unless_that_is_443(url: str, target: str | None) -> None:
    assert target_of(url) == target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("shop.example", "shop.example"),
        ("Shop.Example:443", "shop.example"),
        ("shop.example:80", "shop.example:80"),
        ("[::1]:80", "[::1]:80"),
        ("http://shop.example", "shop.example:80"),
    ],
)
def test_a_person_may_write_it_in_several_ways(text: str, target: str) -> None:
    assert read_target(text) == target


@pytest.mark.parametrize("text", ["", "a/b", "u@shop.example", "shop.example:port", "x:99999", "?"])
def test_what_is_no_target_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"shop\.example:8080"):
        read_target(text)
