from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from backend.errors import BadRequestError, SignInError
from backend.server.accounts.passkeys import CHALLENGE_SECONDS, MAX_CHALLENGES, Passkeys, RelyingParty
from backend.stores.access import AccountRecord
from backend.stores.sql_access import SqlAccess
from backend.stores.sqlite import sqlite_database
from tests.unit.server.accounts.authenticator import PRESENT, Authenticator

ANN = AccountRecord("a" * 16, "ann", False, 100.0)
HOME = RelyingParty("http://localhost:8000")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture
async def passkeys(tmp_path: Path, clock: Clock) -> AsyncIterator[Passkeys]:
    database = sqlite_database(tmp_path / "records.sqlite")
    records = SqlAccess(database)
    await records.add_account(ANN)
    yield Passkeys(records, clock)
    await database.close()


async def registered(passkeys: Passkeys) -> Authenticator:
    """A device with a passkey of Ann's."""
    device = Authenticator(HOME.origin, HOME.name)
    options = await passkeys.registration_options(ANN, HOME)
    await passkeys.add(ANN.id, "phone", device.create(options), HOME)
    return device


async def test_a_passkey_is_made_and_signs_in(passkeys: Passkeys, clock: Clock) -> None:
    device = await registered(passkeys)
    clock.now = 2000.0
    assert await passkeys.sign_in(device.get(passkeys.sign_in_options(HOME)), HOME) == ANN
    (kept,) = await passkeys.of(ANN.id)
    assert (kept.name, kept.uses, kept.used) == ("phone", 1, 2000.0)


async def test_an_answer_is_good_for_its_own_question_once(passkeys: Passkeys, clock: Clock) -> None:
    device = await registered(passkeys)
    answer = device.get(passkeys.sign_in_options(HOME))
    await passkeys.sign_in(answer, HOME)
    with pytest.raises(SignInError, match="already answered"):
        await passkeys.sign_in(answer, HOME)
    late = device.get(passkeys.sign_in_options(HOME))
    clock.now += CHALLENGE_SECONDS + 1
    with pytest.raises(SignInError, match="took too long"):
        await passkeys.sign_in(late, HOME)
    to_register = await passkeys.registration_options(ANN, HOME)
    with pytest.raises(SignInError):
        await passkeys.sign_in(device.get(to_register), HOME)


@pytest.mark.parametrize("change", ["origin", "site", "unverified", "counter", "key", "id"])
async def test_what_does_not_fit_is_refused(passkeys: Passkeys, change: str) -> None:
    device = await registered(passkeys)
    await passkeys.sign_in(device.get(passkeys.sign_in_options(HOME)), HOME)
    if change == "origin":
        device.origin = "http://evil.example"
    elif change == "site":
        device.site = "evil.example"
    elif change == "unverified":
        device.flags = PRESENT
    elif change == "counter":
        device.uses = 0
    elif change == "key":
        other = Authenticator(HOME.origin, HOME.name)
        other.id, other.uses, device = device.id, device.uses, other
    else:
        device.id = b"unknown" * 4
    with pytest.raises(SignInError, match=r"not valid|not known"):
        await passkeys.sign_in(device.get(passkeys.sign_in_options(HOME)), HOME)


async def test_a_passkey_is_added_for_the_account_that_was_asked(passkeys: Passkeys) -> None:
    options = await passkeys.registration_options(ANN, HOME)
    device = Authenticator(HOME.origin, HOME.name)
    with pytest.raises(SignInError):
        await passkeys.add("b" * 16, "phone", device.create(options), HOME)
    assert await passkeys.of("b" * 16) == []


async def test_a_passkey_that_was_removed_signs_nobody_in(passkeys: Passkeys) -> None:
    device = await registered(passkeys)
    (kept,) = await passkeys.of(ANN.id)
    assert await passkeys.remove(ANN.id, kept.id)
    with pytest.raises(SignInError, match="not known"):
        await passkeys.sign_in(device.get(passkeys.sign_in_options(HOME)), HOME)


async def test_questions_that_nobody_answers_are_forgotten(passkeys: Passkeys) -> None:
    device = await registered(passkeys)
    first = device.get(passkeys.sign_in_options(HOME))
    for _ in range(MAX_CHALLENGES):
        passkeys.sign_in_options(HOME)
    with pytest.raises(SignInError, match="took too long"):
        await passkeys.sign_in(first, HOME)


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://[::1]:8000"])
def test_a_number_is_no_name_for_passkeys(passkeys: Passkeys, origin: str) -> None:
    with pytest.raises(BadRequestError, match="http://localhost"):
        passkeys.sign_in_options(RelyingParty(origin))
