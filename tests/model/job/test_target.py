"""How a target is written."""

from __future__ import annotations

import pytest

from windlass.model.job.target import read_target, target_of
from windlass.strategies.http.input import check_input
from windlass.strategies.http.net.address import read_address

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


SPELLINGS = [
    *((url, "shop.example") for url in ("https://shop.example./", "https://ＳＨＯＰ.example/x")),
    ("https://shop。example/", "shop.example"),
    ("https://bücher.example/", "xn--bcher-kva.example"),
    ("https://BÜCHER.example./", "xn--bcher-kva.example"),
    ("https://XN--BCHER-KVA.example", "xn--bcher-kva.example"),
    ("https://①②⑦.⓪.⓪.①/", "127.0.0.1"),
    ("https://[::ffff:127.0.0.1]/", "127.0.0.1"),
    ("https://[::FFFF:7f00:1]/", "127.0.0.1"),
    ("https://[2001:db8:0:0:0:0:0:1]/", "[2001:db8::1]"),
    ("https://[2001:0db8::0001]:8443/", "[2001:db8::1]:8443"),
    ("https://[::1.2.3.4]/", "[::102:304]"),
    ("http://shop.example:/", "shop.example:80"),
]


@pytest.mark.parametrize(("url", "target"), SPELLINGS)
def test_a_host_has_one_name_however_it_is_written(url: str, target: str) -> None:
    assert target_of(url) == target
    authority = read_address(url).authority
    assert authority == target.removesuffix(":80" if url.startswith("http:") else ":443")


STRANGE = [
    *(f"http://{host}/" for host in ("0x7f.1", "2130706433", "0177.0.0.1", "127.1", "1.2.3.256")),
    "http://127.0.0.1./",
    *(f"http://{host}/" for host in ("shop.0x10", "a..b", "..", "a b", "a%62c", "x" * 64 + ".de")),
    *(f"http://[{host}]/" for host in ("fe80::1%25eth0", "1::2::3")),
    *("http://shop.example:0/", "http://ab\u0345.\u200d.example/", "http://shop\\.example/"),
]


@pytest.mark.parametrize("url", STRANGE)
def test_what_some_read_otherwise_is_no_host(url: str) -> None:
    assert target_of(url) is None
    assert check_input({"url": url}), "it is refused at the door"
