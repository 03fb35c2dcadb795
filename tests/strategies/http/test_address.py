"""The address of a delivery: what of a URL goes on the wire, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from windlass.model.json.printable import is_printable
from windlass.strategies.http.net.address import read_address


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("", "/"),
        ("/", "/"),
        ("?", "/"),
        ("#top", "/"),
        ("?a=1", "/?a=1"),
        ("/hooks?a=1&b=2;c#top", "/hooks?a=1&b=2;c"),
        ("/a b/ü?q=a b&r=ü", "/a%20b/%C3%BC?q=a+b&r=%C3%BC"),
        ('/{id}|"<>^`\\[]', "/%7Bid%7D%7C%22%3C%3E%5E%60%5C%5B%5D"),
        # Escapes: those that say nothing else are undone, the others are written in one way.
        ("/%41%7e?%41", "/A~?A"),
        ("/a%2fb%2B+", "/a%2Fb%2B+"),
        ("/?a%3db%26c%2B%3b+%20", "/?a%3Db%26c%2B%3B+%20"),
        ("/100%?50%zz%4", "/100%25?50%25zz%254"),
        ("/%0d%0A%00", "/%0D%0A%00"),
        # Segments: nothing lies above the root, and an escaped dot is a dot.
        ("/a/./b/../c", "/a/c"),
        ("/../../etc", "/etc"),
        ("/a/%2e%2E/b", "/b"),
        ("/a/..", "/"),
        ("/a/b/.", "/a/b/"),
        ("//a//b", "//a//b"),
        ("/a.b/..c", "/a.b/..c"),
        ("/?a/../b", "/?a/../b"),
    ],
)
def test_a_path_and_a_query_are_written_as_they_go_on_the_wire(typed: str, sent: str) -> None:
    assert read_address("https://shop.example" + typed).path == sent


@given(
    st.text("/.%?#&=+;:@[]{}|\\^`\"<>!$'()*,~-_ 2eEfFaA" + "üé中😀", max_size=30)
    | st.text(max_size=30)
)
@example("%2e%2E/%2f/..")
def test_what_goes_on_the_wire_is_what_another_library_writes(text: str) -> None:
    url = f"https://shop.example/{text}"
    if is_printable(text):  # nothing else passes the door
        assert read_address(url).path == URL(url).raw_path_qs


@pytest.mark.parametrize(
    ("url", "is_secure", "host", "port", "authority"),
    [
        ("https://Shop.Example/", True, "shop.example", 443, "shop.example"),
        ("HTTPS://shop.example:443", True, "shop.example", 443, "shop.example"),
        ("https://shop.example:80/", True, "shop.example", 80, "shop.example:80"),
        ("http://shop.example:/", False, "shop.example", 80, "shop.example"),
        ("http://shop.example:0080/", False, "shop.example", 80, "shop.example"),
        ("http://[::1]:8080/", False, "::1", 8080, "[::1]:8080"),
        ("https://[2001:DB8::1]", True, "2001:db8::1", 443, "[2001:db8::1]"),
    ],
)
def test_host_and_port_are_read_and_the_receiver_is_told_what_it_is_called(
    url: str, is_secure: bool, host: str, port: int, authority: str
) -> None:
    assert read_address(url)[:4] == (is_secure, host, port, authority)


@pytest.mark.parametrize(
    "url",
    [
        *("", "shop.example", "ftp://shop.example/", "//shop.example/", "https:///path"),
        *("http://shop.example:0/", "http://shop.example:65536/", "http://shop.example:8a/"),
        *("http://shop.example:٣/", "http://shop.example:80 /", "http://:80/"),
        *("http://u@shop.example/", "http://u:p@127.0.0.1/", "http://@shop.example/"),
        # Around brackets, some read one host and some another.
        *("http://127.0.0.1[::1]/", "http://[::1]shop.example/", "http://[::1]x:80/"),
        *("http://[[::1]]/", "http://[::1/", "http://::1]/", "http://[v1.a]/", "http://[]/"),
        *("http://shop\\.example/", "http://a%62c/", "http://0x7f.1/"),
    ],
)
def test_what_names_no_host_for_certain_is_no_address(url: str) -> None:
    with pytest.raises(ValueError, match=r"^(?!.*p@)"):
        read_address(url)
