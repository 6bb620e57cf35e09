"""Builds the services of access over one store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backend.server.accounts.account_deletion import AccountDeletion
from backend.server.accounts.identities import Identities
from backend.server.accounts.invitations import Invitations
from backend.server.accounts.passkeys import Passkeys
from backend.server.accounts.passwords import Passwords
from backend.server.accounts.roles import Roles
from backend.server.accounts.sessions import Sessions
from backend.server.accounts.sign_in_links import SignInLinks
from backend.server.accounts.tokens import Tokens
from backend.stores.access import AccessRecords


@dataclass(frozen=True)
class Accounts:
    """The services of access, each with one job."""

    records: AccessRecords
    identities: Identities
    sessions: Sessions
    tokens: Tokens
    passwords: Passwords
    passkeys: Passkeys
    links: SignInLinks
    invitations: Invitations
    roles: Roles
    deletion: AccountDeletion


def access_to(records: AccessRecords, clock: Callable[[], float]) -> Accounts:
    """Returns all services over one store. `clock` gives Unix seconds."""
    sessions, tokens = Sessions(records, clock), Tokens(records, clock)
    return Accounts(
        records=records,
        identities=Identities(records, sessions, tokens),
        sessions=sessions,
        tokens=tokens,
        passwords=Passwords(records),
        passkeys=Passkeys(records, clock),
        links=SignInLinks(records, clock),
        invitations=Invitations(records, clock),
        roles=Roles(records),
        deletion=AccountDeletion(records),
    )
