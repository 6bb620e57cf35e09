"""Tests that every implementation of AccessRecords must pass.

Subclasses provide the fixture `access`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from backend.errors import RecordedBeforeError
from backend.stores.access import (
    AccessRecords,
    AccountRecord,
    Invitation,
    PasskeyRecord,
    RoleMember,
    SessionRecord,
    SignInLink,
    TokenRecord,
)

ANN = AccountRecord("a" * 16, "ann", True, 100.0)
BOB = AccountRecord("b" * 16, "bob", False, 101.0, "$argon2id$...")
SESSION = SessionRecord("1" * 64, ANN.id, "Firefox", 100.0, 100.0, 200.0)
TOKEN = TokenRecord("2" * 64, ANN.id, "nightly", ["join", "manage"], 100.0, "digits", expires=200.0)
PASSKEY = PasskeyRecord("Y3JlZA", ANN.id, "phone", b"\x00\x01", 0, 100.0)
LINK = SignInLink("3" * 64, True, 100.0, 200.0)
INVITATION = Invitation("4" * 64, "digits", "a class", 100.0, uses=2, expires=200.0)
ONE, TWO, THREE = ("d" * 64, "e" * 64, "f" * 64)


class AccessContract:
    """The contract's tests."""

    async def test_accounts_are_found_by_id_and_name(self, access: AccessRecords) -> None:
        for one in (BOB, ANN):
            await access.add_account(one)
        assert await access.account(ANN.id) == await access.account_named("ann") == ANN
        assert await access.accounts() == [ANN, BOB]
        assert await access.account("c" * 16) is None
        assert await access.account_named("Ann") is None

    async def test_a_name_is_had_by_one(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        with pytest.raises(RecordedBeforeError):
            await access.add_account(replace(BOB, name="ann"))
        assert await access.accounts() == [ANN]

    async def test_a_password_is_set_and_taken_away(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        await access.set_password(ANN.id, "$argon2id$other")
        assert await access.account(ANN.id) == replace(ANN, password="$argon2id$other")  # noqa: S106 - no password.
        await access.set_password(ANN.id, None)
        assert await access.account(ANN.id) == ANN

    async def test_sessions_are_seen_expire_and_end(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        second = replace(SESSION, secret="5" * 64, created=110.0)
        for one in (SESSION, second):
            await access.add_session(one)
        await access.seen(SESSION.secret, 150.0)
        assert await access.session(SESSION.secret, 199.0) == replace(SESSION, seen=150.0)
        assert await access.session(SESSION.secret, 200.0) is None
        assert await access.sessions(ANN.id, 150.0) == [second, replace(SESSION, seen=150.0)]
        assert await access.sessions(BOB.id, 150.0) == []
        assert await access.end_sessions(BOB.id, "1" * 16) == 0
        assert await access.end_sessions(ANN.id, "1" * 16) == 1
        assert await access.sessions(ANN.id, 150.0) == [second]
        assert await access.end_sessions(ANN.id) == 1

    async def test_tokens_are_used_expire_and_are_revoked(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        for_ever = replace(TOKEN, secret="5" * 64, created=110.0, task=None, expires=None)
        for one in (TOKEN, for_ever):
            await access.add_token(one)
        await access.token_used(TOKEN.secret, 150.0)
        assert await access.token(TOKEN.secret, 199.0) == replace(TOKEN, used=150.0)
        assert await access.token(TOKEN.secret, 200.0) is None
        assert await access.token(for_ever.secret, 1e9) == for_ever
        assert await access.tokens(ANN.id) == [for_ever, replace(TOKEN, used=150.0)]
        assert not await access.revoke_token(BOB.id, "2" * 16)
        assert await access.revoke_token(ANN.id, "2" * 16)
        assert not await access.revoke_token(ANN.id, "2" * 16)
        assert await access.tokens(ANN.id) == [for_ever]

    async def test_passkeys_are_kept_with_their_counter(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        await access.add_passkey(PASSKEY)
        await access.passkey_used(PASSKEY.id, 7, 150.0)
        used = replace(PASSKEY, uses=7, used=150.0)
        assert await access.passkey(PASSKEY.id) == used
        assert await access.passkeys(ANN.id) == [used]
        assert not await access.remove_passkey(BOB.id, PASSKEY.id)
        assert await access.remove_passkey(ANN.id, PASSKEY.id)
        assert await access.passkey(PASSKEY.id) is None

    async def test_an_account_has_one_role_on_a_task(self, access: AccessRecords) -> None:
        for one in (BOB, ANN):
            await access.add_account(one)
        await access.grant("digits", ANN.id, "viewer")
        await access.grant("digits", ANN.id, "owner")
        await access.grant("digits", BOB.id, "viewer")
        await access.grant("letters", ANN.id, "viewer")
        assert await access.roles(ANN.id) == {"digits": "owner", "letters": "viewer"}
        assert await access.members("digits") == [
            RoleMember(ANN.id, "ann", "owner"),
            RoleMember(BOB.id, "bob", "viewer"),
        ]
        await access.grant("digits", ANN.id, None)
        assert await access.roles(ANN.id) == {"letters": "viewer"}

    async def test_a_link_is_taken_once(self, access: AccessRecords) -> None:
        await access.add_link(LINK)
        assert await access.link(LINK.secret, 199.0) == LINK
        taken = await asyncio.gather(*(access.take_link(LINK.secret, 199.0) for _ in range(5)))
        assert [one for one in taken if one is not None] == [LINK]
        await access.add_link(LINK)
        assert await access.link(LINK.secret, 200.0) is None
        assert await access.take_link(LINK.secret, 200.0) is None

    async def test_links_of_first_operators_are_dropped_and_others_stay(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        mine = replace(LINK, secret="5" * 64, account=ANN.id)
        owners = replace(LINK, secret="6" * 64, operator=False)
        for one in (LINK, mine, owners):
            await access.add_link(one)
        await access.drop_first_links()
        assert [await access.link(one.secret, 150.0) for one in (LINK, mine, owners)] == [None, mine, owners]

    async def test_an_invitation_lets_in_as_many_as_it_says(self, access: AccessRecords) -> None:
        await access.add_invitation(INVITATION)
        told = await asyncio.gather(
            *(access.admit(INVITATION.secret, visitor, 150.0) for visitor in (ONE, TWO, THREE))
        )
        assert sorted(told, key=str) == [None, "digits", "digits"]
        assert [one.used for one in await access.invitations("digits")] == [2]
        inside = [visitor for visitor in (ONE, TWO, THREE) if await access.admissions(visitor, 150.0)]
        assert len(inside) == 2

    async def test_who_is_in_comes_again_without_using_it_up(self, access: AccessRecords) -> None:
        await access.add_invitation(replace(INVITATION, uses=1))
        for _ in range(3):
            assert await access.admit(INVITATION.secret, ONE, 150.0) == "digits"
        assert await access.admit(INVITATION.secret, TWO, 150.0) is None

    async def test_an_invitation_ends_for_those_inside_too(self, access: AccessRecords) -> None:
        for_ever = replace(INVITATION, secret="5" * 64, task="letters", uses=None, expires=None)
        for one in (INVITATION, for_ever):
            await access.add_invitation(one)
            assert await access.admit(one.secret, ONE, 150.0) == one.task
        assert await access.admissions(ONE, 199.0) == {"digits": True, "letters": False}
        assert await access.admissions(ONE, 200.0) == {"letters": False}
        assert await access.admit(INVITATION.secret, ONE, 200.0) is None
        assert not await access.revoke_invitation("digits", "5" * 16)
        assert await access.revoke_invitation("letters", "5" * 16)
        assert await access.admissions(ONE, 199.0) == {"digits": True}
        assert await access.invitations("letters") == []

    async def test_one_limited_invitation_of_several_is_enough(self, access: AccessRecords) -> None:
        for one in (INVITATION, replace(INVITATION, secret="5" * 64, uses=None)):
            await access.add_invitation(one)
            await access.admit(one.secret, ONE, 150.0)
        assert await access.admissions(ONE, 150.0) == {"digits": True}

    async def test_a_task_that_is_gone_leaves_no_way_to_it(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        await access.add_token(TOKEN)
        await access.add_invitation(INVITATION)
        await access.admit(INVITATION.secret, ONE, 150.0)
        for task in ("digits", "letters"):
            await access.grant(task, ANN.id, "owner")
        await access.forget_task("digits")
        assert await access.roles(ANN.id) == {"letters": "owner"}
        assert await access.admissions(ONE, 150.0) == {}
        assert await access.token(TOKEN.secret, 150.0) is None

    async def test_the_access_to_a_task_is_put_back(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        await access.add_account(BOB)
        await access.add_token(TOKEN)
        await access.add_invitation(INVITATION)
        await access.admit(INVITATION.secret, ONE, 150.0)
        await access.grant("digits", ANN.id, "owner")
        before = await access.invitations("digits")
        forgotten = await access.forget_task("digits")
        await access.grant("digits", BOB.id, "owner")
        await access.put_back("digits", forgotten)
        assert await access.members("digits") == [RoleMember(ANN.id, "ann", "owner")]
        assert await access.invitations("digits") == before
        assert await access.admissions(ONE, 150.0) == {"digits": True}
        assert await access.token(TOKEN.secret, 150.0) == TOKEN

    async def test_what_has_expired_is_cleared(self, access: AccessRecords) -> None:
        await access.add_account(ANN)
        await access.add_session(SESSION)
        await access.add_link(LINK)
        await access.clear(199.0)
        assert await access.session(SESSION.secret, 150.0) == SESSION
        await access.clear(200.0)
        assert await access.session(SESSION.secret, 150.0) is None
        assert await access.link(LINK.secret, 150.0) is None

    async def test_an_account_goes_with_everything_of_its_own(self, access: AccessRecords) -> None:
        for one in (ANN, BOB):
            await access.add_account(one)
            await access.grant("digits", one.id, "owner")
        await access.add_session(SESSION)
        await access.add_token(TOKEN)
        await access.add_passkey(PASSKEY)
        await access.add_link(replace(LINK, account=ANN.id))
        await access.remove_account(ANN.id)
        assert await access.accounts() == [BOB]
        assert await access.session(SESSION.secret, 150.0) is None
        assert await access.token(TOKEN.secret, 150.0) is None
        assert await access.passkey(PASSKEY.id) is None
        assert await access.link(LINK.secret, 150.0) is None
        assert await access.members("digits") == [RoleMember(BOB.id, "bob", "owner")]
