"""What a store of accounts promises. Every implementation passes the same tests (tests/integration/stores/).

As in contracts.py, all methods raise StoreError when the medium fails. Secrets are never given to a store: it
knows them by their SHA-256 (64 hexadecimal digits). Times are seconds (Unix).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class AccountRecord:
    """Somebody who runs tasks here. `password` is its argon2id hash, None where there is none."""

    id: str
    name: str
    operator: bool
    created: float
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class PasskeyRecord:
    """A public key of an account (WebAuthn). `id` is the credential's, in base64url; `uses` its counter."""

    id: str
    account: str
    name: str
    public_key: bytes
    uses: int
    created: float
    used: float | None = None


@dataclass(frozen=True)
class SessionRecord:
    """A browser in which somebody is signed in."""

    secret: str
    account: str
    agent: str
    created: float
    seen: float
    expires: float


@dataclass(frozen=True)
class TokenRecord:
    """An API token: what it is for, and the one task it is for, if it is."""

    secret: str
    account: str
    name: str
    scopes: list[str]
    created: float
    task: str | None = None
    used: float | None = None
    expires: float | None = None


@dataclass(frozen=True)
class SignInLink:
    """A link that signs one person in once: into `account`, or where that is None into a new one."""

    secret: str
    operator: bool
    created: float
    expires: float
    account: str | None = None


@dataclass(frozen=True)
class Invitation:
    """A link that lets people into a task: `uses` of them at most (None: any number)."""

    secret: str
    task: str
    note: str
    created: float
    uses: int | None = None
    expires: float | None = None
    used: int = 0


@dataclass(frozen=True)
class RoleMember:
    """An account's role on a task."""

    account: str
    name: str
    role: str


class AccessRecords(Protocol):
    """Accounts, and what belongs to them; invitations and whom they let in."""

    async def add_account(self, account: AccountRecord) -> None:
        """RecordedBeforeError when the name is taken."""
        ...

    async def account(self, id: str) -> AccountRecord | None: ...
    async def account_named(self, name: str) -> AccountRecord | None: ...

    async def accounts(self) -> list[AccountRecord]:
        """All, by name."""
        ...

    async def remove_account(self, id: str) -> None:
        """Removes it, and everything that belongs to it."""
        ...

    async def set_password(self, account: str, password: str | None) -> None:
        """Sets its hash, or takes it away."""
        ...

    async def add_session(self, session: SessionRecord) -> None: ...

    async def session(self, secret: str, now: float) -> SessionRecord | None:
        """The session of that secret, unless it has expired."""
        ...

    async def sessions(self, account: str, now: float) -> list[SessionRecord]:
        """Those that have not expired, the newest first."""
        ...

    async def seen(self, secret: str, now: float) -> None:
        """The session is used now."""
        ...

    async def end_sessions(self, account: str, id: str | None = None) -> int:
        """Ends those of an account, or the one whose secret's hash begins with `id`; how many."""
        ...

    async def add_token(self, token: TokenRecord) -> None: ...

    async def token(self, secret: str, now: float) -> TokenRecord | None:
        """The token of that secret, unless it has expired."""
        ...

    async def tokens(self, account: str) -> list[TokenRecord]:
        """All of an account, the newest first."""
        ...

    async def token_used(self, secret: str, now: float) -> None:
        """The token is used now."""
        ...

    async def revoke_token(self, account: str, id: str) -> bool:
        """Removes the one whose secret's hash begins with `id`; whether there was one."""
        ...

    async def add_passkey(self, passkey: PasskeyRecord) -> None: ...
    async def passkey(self, id: str) -> PasskeyRecord | None: ...

    async def passkeys(self, account: str) -> list[PasskeyRecord]:
        """All of an account, the newest first."""
        ...

    async def passkey_used(self, id: str, uses: int, now: float) -> None:
        """It signed somebody in now; its counter says `uses`."""
        ...

    async def remove_passkey(self, account: str, id: str) -> bool:
        """Whether there was one."""
        ...

    async def grant(self, task: str, account: str, role: str | None) -> None:
        """Gives an account a role on a task, instead of the one it has; None takes it away."""
        ...

    async def roles(self, account: str) -> dict[str, str]:
        """Its roles by task."""
        ...

    async def members(self, task: str) -> list[RoleMember]:
        """Who has a role on a task, by name."""
        ...

    async def add_link(self, link: SignInLink) -> None: ...

    async def link(self, secret: str, now: float) -> SignInLink | None:
        """The link of that secret, unless it has expired."""
        ...

    async def take_link(self, secret: str, now: float) -> SignInLink | None:
        """The link, which is used up by this."""
        ...

    async def drop_first_links(self) -> None:
        """Removes the links that make new operators."""
        ...

    async def add_invitation(self, invitation: Invitation) -> None: ...

    async def invitations(self, task: str) -> list[Invitation]:
        """All of a task, the newest first."""
        ...

    async def revoke_invitation(self, task: str, id: str) -> bool:
        """Removes the one whose secret's hash begins with `id`, and whom it let in; whether there was one."""
        ...

    async def admit(self, secret: str, visitor: str, now: float) -> str | None:
        """Lets a visitor (a hash, too) in by an invitation: its task, None when it does not hold any more.

        Who was let in by it before uses it up no further.
        """
        ...

    async def admissions(self, visitor: str, now: float) -> set[str]:
        """Tasks into which the visitor was let by invitations that have not expired."""
        ...

    async def forget_task(self, task: str) -> None:
        """Removes roles on it, invitations to it and tokens for it alone."""
        ...

    async def clear(self, now: float) -> None:
        """Removes what has expired."""
        ...
