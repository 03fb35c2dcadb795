"""Claims of an ID token: for us or not, and what they mean here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.limits import ID_TOKEN_LEEWAY_SECONDS, USER_NAME_CHARS_MAX
from windlass.model.identity.account import read_user_name
from windlass.model.identity.claims import (
    ClaimRefused,
    RoleRules,
    check_claims,
    name_of,
    namesake,
    role_of,
    subject_of,
)
from windlass.model.identity.rights import ROLES, Role

NOW = 1_800_000_000.0
GOOD: dict[str, Any] = {
    "iss": "https://login.example.com",
    "aud": "windlass",
    "sub": "1",
    "exp": NOW + 300,
    "iat": NOW,
    "nonce": "n",
}
LEEWAY = ID_TOKEN_LEEWAY_SECONDS


def check(now: float = NOW, **claims: Any) -> None:
    check_claims(
        {**GOOD, **claims},
        issuer="https://login.example.com",
        client_id="windlass",
        nonce="n",
        now=now,
    )


def test_what_was_made_for_us_is_taken() -> None:
    check()
    check(aud=["windlass"])
    check(aud=["windlass", "x"], azp="windlass")
    check(exp=NOW + 0.5, nbf=None)


@pytest.mark.parametrize("issuer", ["https://login.example.com/", "HTTPS://login.example.com", 1])
def test_an_issuer_is_compared_to_the_letter(issuer: object) -> None:
    with pytest.raises(ClaimRefused, match="iss"):
        check(iss=issuer)


@pytest.mark.parametrize(
    "audience", ["Windlass", "windlass ", ["windlass2"], [], {}, [["windlass"]]]
)
def test_so_is_an_audience(audience: object) -> None:
    with pytest.raises(ClaimRefused, match="aud"):
        check(aud=audience)


def test_the_leeway_ends_where_it_says() -> None:
    check(exp=NOW - LEEWAY + 0.01)
    check(iat=NOW + LEEWAY, nbf=NOW + LEEWAY)
    for claims, word in (
        ({"exp": NOW - LEEWAY}, "exp"),
        ({"iat": NOW + LEEWAY + 0.01}, "iat"),
        ({"nbf": NOW + LEEWAY + 0.01}, "nbf"),
    ):
        with pytest.raises(ClaimRefused, match=word):
            check(**claims)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
CLAIMS = st.dictionaries(
    st.sampled_from([*GOOD, "azp", "nbf", "groups", "email", "preferred_username", "a"]), JSON
)
RULES = RoleRules(claim="groups", roles=(("a", "admin"), ("v", "viewer")), default=None)


@given(claims=CLAIMS)
def test_whatever_claims_there_are_they_are_judged_without_an_error(claims: dict[str, Any]) -> None:
    try:
        check(**claims)
    except ClaimRefused:
        pass
    assert role_of(claims, RULES) in (None, *ROLES)
    merged = {**claims, "sub": "1"}
    for wanted in (None, "a", "a.b.c", ".", "groups"):
        name = name_of(merged, wanted)
        assert read_user_name(name) == name != "all"
        assert read_user_name(namesake(name, 20)) == namesake(name, 20)


def test_the_highest_role_wins_in_whatever_order() -> None:
    roles: tuple[tuple[str, Role], ...] = (("a", "admin"), ("v", "viewer"), ("o", "operator"))
    for given_roles in (roles, roles[::-1]):
        rules = RoleRules(claim="groups", roles=given_roles, default=None)
        assert role_of({"groups": ["v", "a", "o"]}, rules) == "admin"
        assert role_of({"groups": "o"}, rules) == "operator"
        assert role_of({"groups": "o v"}, rules) is None
    rules = RoleRules(claim="groups", roles=roles, default="operator")
    assert role_of({"groups": ["v"]}, rules) == "operator", "nobody is made less by a group"


@pytest.mark.parametrize(
    ("verified", "role"), [(True, "admin"), (False, None), (None, None), ("true", None), (1, None)]
)
def test_an_address_gives_a_role_only_if_it_is_verified(verified: object, role: str | None) -> None:
    rules = RoleRules(claim="email", roles=(("ann@example.com", "admin"),), default=None)
    assert role_of({"email": "ann@example.com", "email_verified": verified}, rules) == role


def test_a_claim_may_have_dots_in_its_name_or_lie_deep() -> None:
    def of(claim: str, claims: dict[str, Any]) -> str | None:
        return role_of(claims, RoleRules(claim=claim, roles=(("a", "admin"),), default=None))

    assert of("https://example.com/roles", {"https://example.com/roles": ["a"]}) == "admin"
    assert of("realm.roles", {"realm": {"roles": ["a"]}}) == "admin"
    assert of("realm.roles", {"realm.roles": [], "realm": {"roles": ["a"]}}) is None
    assert of("realm.roles", {"realm": ["roles", "a"]}) is None
    assert of("realm.roles.a", {"realm": {"roles": "a"}}) is None


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "Ann.Smith@example.com"}, "ann.smith@example.com"),
        ({"preferred_username": "Zoë Österberg"}, "zoe-osterberg"),
        ({"preferred_username": "  --ann--  "}, "ann"),
        ({"preferred_username": "CORP\\ann"}, "corp-ann"),
        ({"preferred_username": "x" * 500}, "x" * (USER_NAME_CHARS_MAX - 4)),
        ({"preferred_username": "李", "email": "li@x.io", "email_verified": True}, "li@x.io"),
        ({"preferred_username": "", "email": "li@x.io", "email_verified": "true"}, "0-9"),
        ({"email": "li@x.io", "email_verified": False}, "0-9"),
        ({"preferred_username": "user_00000000000000000000000000000000"}, "0-9"),
        ({"preferred_username": "all"}, "0-9"),
        ({"preferred_username": "-ÁLL."}, "0-9"),
        ({"preferred_username": "ALL", "sub": "aLl"}, "member-1c6866a5f90f"),
        ({"preferred_username": {"x": 1}}, "0-9"),
        ({"sub": "李", "preferred_username": "-"}, "member-c16667ca7839"),
    ],
)
def test_a_name_is_made_of_what_a_name_may_have(claims: dict[str, Any], name: str) -> None:
    assert name_of({"sub": "0-9", **claims}, None) == name


def test_a_name_may_be_that_of_another_claim() -> None:
    claims = {"sub": "1", "preferred_username": "ann", "upn": "ann@corp"}
    assert name_of(claims, "upn") == "ann@corp"
    assert name_of(claims, "nickname") == "1"


def test_a_subject_is_kept_as_it_is() -> None:
    assert subject_of({"sub": "Ann|7 "}) == "Ann|7 "
