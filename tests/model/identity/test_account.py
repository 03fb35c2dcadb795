"""What users, passwords and keys are written as: read, or refused with what is allowed."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.limits import (
    CONFINED_MAX,
    PASSWORD_CHARS_MAX,
    PASSWORD_CHARS_MIN,
    USER_NAME_CHARS_MAX,
)
from windlass.model.identity.account import (
    USER_NAME_PATTERN,
    missing_of,
    normal_password,
    read_confines,
    read_key_name,
    read_new_user_name,
    read_password,
    read_role,
    read_scopes,
    read_user_name,
)
from windlass.model.identity.rights import RIGHTS, ROLES

ANYTHING = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()) | st.floats()


@given(ANYTHING)
def test_a_name_that_is_taken_is_one_in_lower_case_and_stays_one(value: object) -> None:
    try:
        name = read_user_name(value)
    except ValueError:
        return
    assert name == name.lower() == read_user_name(name)
    assert re.fullmatch(USER_NAME_PATTERN, name)


@given(st.from_regex(USER_NAME_PATTERN.replace("$", r"\Z"), fullmatch=False))
def test_ann_and_ann_in_capitals_are_one(name: str) -> None:
    if not name.startswith("user_"):
        assert read_user_name(name.upper()) == read_user_name(name)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "-x",
        "a b",
        "a/b",
        "user_1",
        "USER_1",
        "a" * (USER_NAME_CHARS_MAX + 1),
        "\u0130x",
        "a\n",
        "ä",
    ],
)
def test_what_is_no_name_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_user_name(value)


@pytest.mark.parametrize("value", ["all", "ALL", "aLl"])
def test_nobody_new_is_called_by_the_word_for_everybody(value: str) -> None:
    with pytest.raises(ValueError, match="choose another"):
        read_new_user_name(value)
    assert read_user_name(value) == "all", "whoever was called so before is found and removed"
    for other in ("all-2", "ally", "overall"):
        assert read_new_user_name(other) == other


@pytest.mark.parametrize("value", ["a", "ann@example.org", "x" * USER_NAME_CHARS_MAX, "0-._@+"])
def test_what_is_a_name_is_taken(value: str) -> None:
    assert read_user_name(value) == value


@given(ANYTHING)
def test_a_role_is_one_of_four(value: object) -> None:
    if value in ROLES:
        assert read_role(value) == value
    else:
        with pytest.raises(ValueError, match="viewer operator editor admin"):
            read_role(value)


@pytest.mark.parametrize(
    "value",
    [
        *("short", "x" * 11, "x" * 12, "abababababab", "password1234"),
        *(
            "PASSWORD-2024!",
            "passwordpassword",
            "windlass-windlass",
            "123456789012",
            "letmein 12345",
        ),
        *("annabel-12345", "ANNABEL!annabel", "q" * (PASSWORD_CHARS_MAX + 1)),
    ],
)
def test_a_password_that_somebody_would_try_first_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"must be|is among") as refused:
        read_password(value, "annabel@example.org")
    assert value not in str(refused.value), "and is not shown"


@pytest.mark.parametrize(
    "value",
    ["three small green boats", "кот на крыше спит", "correcthorsebatterystaple", "x9!kQ2$mZ7#p"],
)
def test_a_few_words_in_a_row_will_do(value: str) -> None:
    assert read_password(value, "ann") == normal_password(value)


@given(st.text(min_size=PASSWORD_CHARS_MIN, max_size=PASSWORD_CHARS_MAX))
def test_what_looks_the_same_is_the_same_password(value: str) -> None:
    forms = {normal_password(unicodedata.normalize(form, value)) for form in ("NFC", "NFD")}
    assert forms == {normal_password(value)}
    assert normal_password(normal_password(value)) == normal_password(value)


@given(st.lists(st.sampled_from(sorted(RIGHTS)), min_size=1, unique=True))
def test_scopes_are_rights_each_once(scopes: list[str]) -> None:
    assert read_scopes(scopes) == tuple(scopes)
    with pytest.raises(ValueError, match=r"twice|must be a list"):
        read_scopes([*scopes, scopes[0]])


@given(st.lists(ANYTHING, max_size=4))
def test_what_is_no_right_is_named(scopes: list[object]) -> None:
    strange = [one for one in scopes if not isinstance(one, str) or one not in RIGHTS]
    if strange or not scopes:
        with pytest.raises(ValueError, match=r"is no right|must be a list"):
            read_scopes(scopes)


@pytest.mark.parametrize(
    "value", [None, "a", [], ["a", "a"], ["a b"], [1], [f"q{n}" for n in range(CONFINED_MAX + 1)]]
)
def test_what_confines_is_a_list_of_names_each_once(value: object) -> None:
    with pytest.raises(ValueError, match=r"must|twice|name|letters"):
        read_confines(value)
    assert read_confines(["a", "b"]) == ("a", "b")


@pytest.mark.parametrize("value", ["", "\n", "a\x00", "\ud800", "k" * 129, 1, None])
def test_the_name_of_a_key_is_printable(value: object) -> None:
    with pytest.raises(ValueError, match="printable"):
        read_key_name(value)
    assert read_key_name("Köchin, 2. Stock") == "Köchin, 2. Stock"


@given(
    st.frozensets(st.sampled_from(sorted(RIGHTS))), st.frozensets(st.sampled_from(sorted(RIGHTS)))
)
def test_what_somebody_lacks_is_named_in_order(wanted: frozenset[str], has: frozenset[str]) -> None:
    assert missing_of(tuple(wanted), has) == sorted(wanted - has)
