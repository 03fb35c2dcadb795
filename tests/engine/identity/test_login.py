"""Logging in: throttled, the same for whoever is not there, and never with a password of before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from argon2 import PasswordHasher

from tests.engine.identity.people import PASSWORD, a_session, a_user, sql
from windlass.engine.audit.refused import RefusedRecorder
from windlass.engine.identity import passwords as hashing
from windlass.engine.identity.login import Login, LoginFailed, log_in
from windlass.engine.identity.passwords import Passwords, PasswordsBusy
from windlass.engine.identity.users import (
    WrongPassword,
    add_user,
    change_user,
    choose_password,
    reset_password,
)
from windlass.errors import TooManyTries
from windlass.limits import (
    LOGIN_ADDRESS_BURST,
    LOGIN_BURST,
    LOGIN_USER_BURST,
    PASSWORDS_AT_ONCE,
    PASSWORDS_WAITING_MAX,
    SESSIONS_OF_USER_MAX,
)
from windlass.store.database import Database

WRONG = "three small green goats"
NEW = "seven large blue whales"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a password costs is not looked at here."""
    monkeypatch.setattr(hashing, "PASSWORD_MEMORY_KIB", 8)
    monkeypatch.setattr(hashing, "PASSWORD_ROUNDS", 1)


async def tries(
    database: Database,
    passwords: Passwords,
    name: str = "ann",
    password: str = PASSWORD,
    **given: Any,
) -> Login:
    address = given.get("address", "192.0.2.1")
    return await log_in(
        *(database, passwords),
        name=name,
        password=password,
        address=address,
        device="a test",
        refusals=RefusedRecorder(),
    )


async def outcome(trying: Awaitable[Any]) -> str:
    try:
        await trying
    except (LoginFailed, TooManyTries, PasswordsBusy, WrongPassword) as trouble:
        return trouble.code
    return "in"


@pytest.fixture
async def ann(database: Database, passwords: Passwords) -> Any:
    return await a_user(database, hashed=await passwords.hash(PASSWORD))


async def test_the_right_password_lets_in_and_any_other_does_not(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    assert (await tries(database, passwords)).user_id == ann
    for wrong in (WRONG, PASSWORD.upper(), PASSWORD + " ", ""):
        assert await outcome(tries(database, passwords, password=wrong)) == "login_failed"


async def test_the_same_password_is_the_same_on_every_keyboard(
    database: Database, passwords: Passwords
) -> None:
    await a_user(database, hashed=await passwords.hash("z\u0308pfe und \ufb01sche, blau"))
    await tries(database, passwords, password="z\u0308pfe und fische, blau")


async def test_it_is_not_told_why_nobody_comes_in(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    await a_user(database, "off", hashed=await passwords.hash(PASSWORD))
    await sql(database, "UPDATE windlass.user_account SET disabled_at = now() WHERE name = 'off'")
    await a_user(database, "elsewhere")
    await a_user(database, "late", hashed=await passwords.hash(PASSWORD), is_one_time=True)
    await sql(
        database, "UPDATE windlass.user_account SET password_until = now() WHERE name = 'late'"
    )
    said = set()
    for name, password in (
        *(("ann", WRONG), ("nobody", PASSWORD), ("off", PASSWORD)),
        *(("elsewhere", PASSWORD), ("late", PASSWORD)),
    ):
        with pytest.raises(LoginFailed) as refused:
            await tries(database, passwords, name, password)
        said.add((str(refused.value), str(refused.value.facts)))
    assert len(said) == 1


async def test_an_unknown_user_costs_the_same_work(
    database: Database, passwords: Passwords, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: what Argon2 is asked to do for each."""
    work: list[tuple[str, ...]] = []
    real = PasswordHasher.verify

    def verify(self: Any, hashed: str, password: str) -> Any:
        work.append(tuple(hashed.split("$")[:4]))  # the algorithm and its parameters
        return real(self, hashed, password)

    monkeypatch.setattr(PasswordHasher, "verify", verify)
    await a_user(database, "elsewhere")
    for name in ("ann", "nobody", "elsewhere"):
        assert await outcome(tries(database, passwords, name, WRONG)) == "login_failed"
    assert len(work) == 3
    assert len(set(work)) == 1


@pytest.mark.parametrize("name", ["ann", "nobody"])
async def test_who_guesses_has_a_few_tries_whether_there_is_such_a_user_or_not(
    database: Database, passwords: Passwords, ann: Any, name: str
) -> None:
    outcomes = [
        await outcome(tries(database, passwords, name, WRONG)) for _ in range(LOGIN_BURST + 2)
    ]
    assert outcomes == ["login_failed"] * LOGIN_BURST + ["too_many_tries"] * 2
    with pytest.raises(TooManyTries) as refused:
        await tries(database, passwords, name)
    assert 1 <= refused.value.retry_after_seconds <= 16
    elsewhere = await outcome(tries(database, passwords, name, address="198.51.100.7"))
    assert elsewhere == ("in" if name == "ann" else "login_failed"), "from there he may"


async def test_many_at_once_are_no_more_than_one_after_another(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    crowd = PASSWORDS_AT_ONCE + PASSWORDS_WAITING_MAX
    outcomes = await asyncio.gather(
        *(outcome(tries(database, passwords, "ann", WRONG)) for _ in range(crowd))
    )
    assert outcomes.count("login_failed") == LOGIN_BURST
    assert outcomes.count("too_many_tries") == crowd - LOGIN_BURST


async def test_an_address_has_so_many_tries_whatever_the_users(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    for address in ("192.0.2.9", "2001:db8:1:2::1"):
        outcomes = [
            await outcome(tries(database, passwords, f"u{n}", address=address))
            for n in range(LOGIN_ADDRESS_BURST + 3)
        ]
        # One more comes due every two seconds, and a slow machine may see one.
        assert outcomes[:LOGIN_ADDRESS_BURST] == ["login_failed"] * LOGIN_ADDRESS_BURST
        assert "too_many_tries" in outcomes[LOGIN_ADDRESS_BURST:]
    neighbour = "2001:db8:1:2:ffff::7"  # of the same network
    assert await outcome(tries(database, passwords, address=neighbour)) == "too_many_tries"
    assert await outcome(tries(database, passwords, address="2001:db8:1:3::1")) == "in"
    assert await outcome(tries(database, passwords, address="::ffff:192.0.2.9")) == "too_many_tries"


async def test_a_user_has_so_many_tries_wherever_from(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    outcomes = [
        await outcome(tries(database, passwords, "ann", WRONG, address=f"198.51.100.{n}"))
        for n in range(LOGIN_USER_BURST + 3)
    ]
    assert outcomes[:LOGIN_USER_BURST] == ["login_failed"] * LOGIN_USER_BURST
    assert "too_many_tries" in outcomes[LOGIN_USER_BURST:]


async def test_whoever_is_refused_at_his_address_keeps_nobody_out_elsewhere(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    """A try that is refused counts for nothing: one address does not spend what a user has."""
    for _ in range(LOGIN_USER_BURST + LOGIN_BURST):
        await outcome(tries(database, passwords, "ann", WRONG))
    assert await outcome(tries(database, passwords, address="198.51.100.7")) == "in"
    assert await outcome(tries(database, passwords, "bob")) == "login_failed", "nor his address"


async def test_whoever_comes_in_begins_anew(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    for _ in range(3):
        for _ in range(LOGIN_BURST - 1):
            assert await outcome(tries(database, passwords, password=WRONG)) == "login_failed"
        assert await outcome(tries(database, passwords)) == "in"


async def test_what_was_counted_is_forgotten_in_time(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    await outcome(tries(database, passwords, password=WRONG))
    assert await database.run("login_try_forget", 100) == []
    await sql(database, "UPDATE windlass.login_try SET due_at = now() - interval '1 s'")
    assert len(await database.run("login_try_forget", 100)) == 3


async def test_beyond_so_many_at_once_the_rest_is_told_at_once_and_counted_for_nothing(
    database: Database, passwords: Passwords
) -> None:
    room = PASSWORDS_AT_ONCE + PASSWORDS_WAITING_MAX
    outcomes = await asyncio.gather(
        *(
            outcome(tries(database, passwords, f"u{n}", address=f"198.51.100.{n}"))
            for n in range(room + 10)
        )
    )
    assert outcomes.count("too_many_logins_at_once") == 10
    assert outcomes.count("login_failed") == room
    assert PasswordsBusy().status == 503
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.login_try")
    assert row["n"] == 3 * room


async def test_the_loop_goes_on_while_passwords_are_hashed(
    passwords: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "PASSWORD_ROUNDS", 100)
    monkeypatch.setattr(hashing, "PASSWORD_MEMORY_KIB", 1024)
    hash_ = asyncio.create_task(passwords.hash(PASSWORD))
    turns = 0
    while not hash_.done():
        turns += 1
        await asyncio.sleep(0.001)
    assert turns > 3
    assert (await hash_).startswith("$argon2id$")


async def test_a_hash_of_less_work_is_made_anew_at_login(
    database: Database, passwords: Passwords, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "PASSWORD_ROUNDS", 2)
    today = Passwords()
    await tries(database, today)
    [row] = await sql(database, "SELECT password_hash AS h FROM windlass.user_account")
    assert "t=2" in row["h"]
    await tries(database, today)
    today.close()


async def test_a_one_time_password_is_good_for_one_login(
    database: Database, passwords: Passwords
) -> None:
    made = await add_user(database, passwords, "bob", "viewer", None)
    assert made.password is not None
    first, *others = await asyncio.gather(
        *(
            outcome(tries(database, passwords, "bob", made.password, address=f"192.0.2.{n}"))
            for n in range(8)
        )
    )
    assert sorted([first, *others]) == ["in"] + ["login_failed"] * 7
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.session")
    assert row["n"] == 1


async def test_it_opens_the_choice_of_another_and_that_one_stays(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    reset = await reset_password(database, passwords, "ann")
    assert reset.password is not None
    assert await outcome(tries(database, passwords)) == "login_failed"
    login = await tries(database, passwords, "ann", reset.password)
    changed = await choose_password(
        *(database, passwords, ann), old=reset.password, new=NEW, session_id=login.session.id
    )
    assert not changed.user.must_change_password
    for _ in range(2):
        assert await outcome(tries(database, passwords, password=NEW)) == "in"
    assert await outcome(tries(database, passwords, "ann", reset.password)) == "login_failed"


async def test_who_has_a_session_cannot_guess_the_password_by_changing_it(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    login = await tries(database, passwords)
    outcomes = [
        await outcome(
            choose_password(
                *(database, passwords, ann), old=f"{WRONG}{n}", new=NEW, session_id=login.session.id
            )
        )
        for n in range(LOGIN_BURST + 1)
    ]
    assert outcomes == ["wrong_password"] * LOGIN_BURST + ["too_many_tries"]
    assert await outcome(tries(database, passwords)) == "in", "logging in is another matter"


async def test_no_session_begins_with_a_password_that_was_changed_meanwhile(
    database: Database, passwords: Passwords, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change commits when the password was compared and the session is still to begin."""
    await _meanwhile(passwords, monkeypatch, lambda: reset_password(database, Passwords(), "ann"))
    assert await outcome(tries(database, passwords)) == "login_failed"
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.session")
    assert row["n"] == 0


async def test_no_session_begins_of_who_was_disabled_meanwhile(
    database: Database, passwords: Passwords, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def disable() -> Any:
        return await change_user(database, "ann", role=None, is_disabled=True)

    await _meanwhile(passwords, monkeypatch, disable)
    assert await outcome(tries(database, passwords)) == "login_failed"
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.session")
    assert row["n"] == 0


async def _meanwhile(
    passwords: Passwords, monkeypatch: pytest.MonkeyPatch, what: Callable[[], Awaitable[Any]]
) -> None:
    real = passwords.compare

    async def compare(password: str, hashed: str | None) -> bool:
        found = await real(password, hashed)
        await what()
        return found

    monkeypatch.setattr(passwords, "compare", compare)


async def test_of_a_hundred_logins_at_once_so_many_sessions_are_left(
    database: Database, passwords: Passwords, ann: Any
) -> None:
    begun = await asyncio.gather(
        *(a_session(database, ann) for _ in range(SESSIONS_OF_USER_MAX + 20))
    )
    [row] = await sql(
        database, "SELECT count(*) AS n FROM windlass.session WHERE revoked_at IS NULL"
    )
    assert row["n"] == SESSIONS_OF_USER_MAX
    assert sum(len(one.ended) for one in begun) == 20
