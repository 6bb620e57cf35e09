from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from backend.errors import BadRequestError, SignInError, TooFastError
from backend.protocols.token_bucket import Rate
from backend.server.accounts.passwords import MAX_LENGTH, MIN_LENGTH, Passwords
from backend.server.accounts.sign_in_attempts import Attempts
from backend.stores.access import AccountRecord
from backend.stores.sql_access import SqlAccess
from backend.stores.sqlite import sqlite_database

PASSWORD = "four words make one"  # noqa: S105 - of the test alone.
ANN = AccountRecord("a" * 16, "ann", False, 100.0)


@pytest_asyncio.fixture
async def records(tmp_path: Path) -> AsyncIterator[SqlAccess]:
    database = sqlite_database(tmp_path / "records.sqlite")
    records = SqlAccess(database)
    await records.add_account(ANN)
    yield records
    await database.close()


async def test_the_right_password_signs_in_and_is_kept_as_argon2id(records: SqlAccess) -> None:
    passwords = Passwords(records)
    await passwords.set(ANN.id, PASSWORD)
    account = await passwords.sign_in("ann", PASSWORD)
    assert account.id == ANN.id
    assert account.password is not None
    assert account.password.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert account.password not in repr(account)


async def test_nobody_learns_whether_the_name_or_the_password_is_wrong(records: SqlAccess) -> None:
    passwords = Passwords(records)
    await passwords.set(ANN.id, PASSWORD)
    told = set()
    for name, password in (("ann", PASSWORD + "!"), ("eve", PASSWORD), ("ann", ""), ("ann", "x" * 1000)):
        with pytest.raises(SignInError) as refused:
            await passwords.sign_in(name, password)
        told.add(str(refused.value))
    assert len(told) == 1


async def test_an_account_without_a_password_is_not_signed_in_to_by_any(records: SqlAccess) -> None:
    passwords = Passwords(records)
    for password in ("", PASSWORD):
        with pytest.raises(SignInError):
            await passwords.sign_in("ann", password)
    await passwords.set(ANN.id, PASSWORD)
    await passwords.remove(ANN.id)
    with pytest.raises(SignInError):
        await passwords.sign_in("ann", PASSWORD)


@pytest.mark.parametrize("length", [0, MIN_LENGTH - 1, MAX_LENGTH + 1])
async def test_a_password_that_is_short_is_refused(records: SqlAccess, length: int) -> None:
    with pytest.raises(BadRequestError, match="12 to 256 characters"):
        await Passwords(records).set(ANN.id, "x" * length)


def test_who_tries_too_often_waits_and_others_do_not() -> None:
    now = 0.0
    attempts = Attempts(Rate(1 / 60, 2), lambda: now)
    for _ in range(2):
        attempts.count("account ann")
    with pytest.raises(TooFastError, match="Wait a minute"):
        attempts.count("account ann")
    attempts.count("account bob")
    now = 60.0
    attempts.count("account ann")
    with pytest.raises(TooFastError):
        attempts.count("account ann")
