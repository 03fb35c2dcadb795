"""The table of rights: each role has its own and those below it; a principal has what it names."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import Forbidden
from windlass.model.identity.principal import (
    ANONYMOUS,
    Confined,
    MissingRight,
    PasswordChangeNeeded,
    Principal,
    program,
)
from windlass.model.identity.rights import (
    ANYBODY,
    NOBODY,
    RIGHTS,
    ROLES,
    Role,
    has_role,
    rights_of,
    roles_with,
)

# What an acceptance of roles rests on: written down here once more, by hand.
OF_ADMINS = {"keys:edit", "users:edit", "cluster:signal"}
NOT_TO_READ = {"secrets:read"}


def test_each_role_has_what_the_one_below_it_has_and_more() -> None:
    for lower, higher in itertools.pairwise(ROLES):
        assert rights_of(lower) < rights_of(higher)
        assert has_role(higher, lower)
        assert not has_role(lower, higher)
    assert rights_of("admin") == RIGHTS.keys()


def test_a_viewer_changes_nothing_but_what_is_his_own() -> None:
    verbs = {right: right.partition(":")[2] for right in rights_of("viewer")}
    assert set(verbs.values()) == {"read", "own"}
    assert not rights_of("viewer") & NOT_TO_READ


def test_only_an_admin_says_who_may() -> None:
    assert rights_of("admin") - rights_of("editor") >= OF_ADMINS
    for role in ("viewer", "operator", "editor"):
        assert not rights_of(role) & OF_ADMINS


@given(st.sampled_from(sorted(RIGHTS)))
def test_the_roles_with_a_right_are_the_least_one_and_those_above(right: str) -> None:
    least, words = RIGHTS[right]
    assert roles_with(right) == list(ROLES[ROLES.index(least) :])
    assert words
    assert NOBODY not in RIGHTS
    assert ANYBODY not in RIGHTS


def somebody(rights: frozenset[str], role: Role | None = None, **more: object) -> Principal:
    return Principal(kind="key", id="key_x", name="k", role=role, rights=rights, **more)  # type: ignore[arg-type]


@given(st.frozensets(st.sampled_from(sorted(RIGHTS))), st.sampled_from(sorted(RIGHTS)))
def test_who_has_a_right_may_and_who_has_not_is_told_what_it_takes(
    rights: frozenset[str], right: str
) -> None:
    caller = somebody(rights)
    if right in rights:
        caller.check_right(right)
        caller.check_gives([right])
        return
    for check in (caller.check_right, lambda one: caller.check_gives([one])):
        with pytest.raises(MissingRight, match=right) as refused:
            check(right)
        assert refused.value.facts == {"needs": right, "roles": roles_with(right)}
        assert refused.value.status == 403


@given(st.frozensets(st.sampled_from(sorted(RIGHTS))), st.sampled_from(ROLES))
def test_nobody_gives_a_role_that_reaches_further_than_he_does(
    rights: frozenset[str], role: Role
) -> None:
    caller = somebody(rights)
    if rights_of(role) <= rights:
        caller.check_gives(rights_of(role))
    else:
        with pytest.raises(MissingRight):
            caller.check_gives(rights_of(role))


@given(st.sampled_from(sorted(RIGHTS)))
def test_with_a_one_time_password_nobody_may_anything(right: str) -> None:
    caller = somebody(frozenset(RIGHTS), "admin", must_change_password=True)
    with pytest.raises(PasswordChangeNeeded, match="PUT /v1/session/password"):
        caller.check_right(right)


NAMES = st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(tuple) | st.none()


@given(NAMES, NAMES, st.sampled_from("abcd"))
def test_who_is_confined_has_what_was_named_and_nothing_else(
    queues: tuple[str, ...] | None, workflows: tuple[str, ...] | None, name: str
) -> None:
    caller = somebody(frozenset(RIGHTS), queues=queues, workflows=workflows)
    assert caller.is_confined == (queues is not None or workflows is not None)
    for check, names in ((caller.check_queue, queues), (caller.check_workflow, workflows)):
        if not caller.is_confined or name in (names or ()):
            check(name)
        else:
            with pytest.raises(Confined) as refused:
                check(name)
            assert refused.value.facts["allowed"] == sorted(names or ())


def test_what_is_refused_without_a_name_names_nothing_of_others() -> None:
    refused = Confined("queue", None, ["mine"])
    assert str(refused) == "this key is good for queue mine only, and this asks for more"
    assert isinstance(refused, Forbidden)


def test_code_of_the_process_and_everybody_where_nobody_is_asked_may_everything() -> None:
    assert program("x").rights == ANONYMOUS.rights == RIGHTS.keys()
    assert program("x").credential_id is None
