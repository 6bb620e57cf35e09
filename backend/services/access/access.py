"""Everything about access, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backend.services.access.identities import Identities
from backend.services.access.invitations import Invitations
from backend.services.access.leaving import Leaving
from backend.services.access.links import Links
from backend.services.access.passkeys import Passkeys
from backend.services.access.passwords import Passwords
from backend.services.access.roles import Roles
from backend.services.access.sessions import Sessions
from backend.services.access.tokens import Tokens
from backend.stores.access import AccessRecords


@dataclass(frozen=True)
class Access:
    """The parts, each with one job."""

    records: AccessRecords
    identities: Identities
    sessions: Sessions
    tokens: Tokens
    passwords: Passwords
    passkeys: Passkeys
    links: Links
    invitations: Invitations
    roles: Roles
    leaving: Leaving


def access_to(records: AccessRecords, clock: Callable[[], float]) -> Access:
    """All parts over one store. `clock` gives seconds (Unix)."""
    sessions, tokens = Sessions(records, clock), Tokens(records, clock)
    return Access(
        records=records,
        identities=Identities(records, sessions, tokens),
        sessions=sessions,
        tokens=tokens,
        passwords=Passwords(records),
        passkeys=Passkeys(records, clock),
        links=Links(records, clock),
        invitations=Invitations(records, clock),
        roles=Roles(records),
        leaving=Leaving(records),
    )
