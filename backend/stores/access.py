"""Contract of the account store. Every implementation passes the tests in tests/integration/stores/.

As in contracts.py, all methods raise StoreError when the medium fails. A store never receives secrets, only
their SHA-256 (64 hexadecimal digits). Times are seconds (Unix).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class AccountRecord:
    """An account of a person who runs tasks. `password` is its argon2id hash; None means no password."""

    id: str
    name: str
    operator: bool
    created: float
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class PasskeyRecord:
    """A WebAuthn public key of an account. `id` is the credential's, in base64url; `uses` its counter."""

    id: str
    account: str
    name: str
    public_key: bytes
    uses: int
    created: float
    used: float | None = None


@dataclass(frozen=True)
class SessionRecord:
    """A browser session that is signed in to an account."""

    secret: str
    account: str
    agent: str
    created: float
    seen: float
    expires: float


@dataclass(frozen=True)
class TokenRecord:
    """An API token with its name and scopes. `task` limits it to one task; None means all."""

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
    """A single-use link that signs a person in to `account`, or to a new account when that is None."""

    secret: str
    operator: bool
    created: float
    expires: float
    account: str | None = None


@dataclass(frozen=True)
class Invitation:
    """A link that admits visitors to a task: at most `uses` of them (None: any number)."""

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


@dataclass(frozen=True)
class ForgottenAccess:
    """What was recorded of the access to one task: roles, invitations, whom these admitted, and tokens.

    `rows` are those of each table, by its name.
    """

    rows: Mapping[str, Sequence[Mapping[str, Any]]]


class AccessRecords(Protocol):
    """Stores accounts with their credentials and roles, and invitations with the visitors they admitted."""

    async def add_account(self, account: AccountRecord) -> None:
        """Adds an account. Raises RecordedBeforeError when the name is taken."""
        ...

    async def account(self, id: str) -> AccountRecord | None: ...
    async def account_named(self, name: str) -> AccountRecord | None: ...

    async def accounts(self) -> list[AccountRecord]:
        """Returns all accounts, by name."""
        ...

    async def remove_account(self, id: str) -> None:
        """Removes an account and everything that belongs to it."""
        ...

    async def set_password(self, account: str, password: str | None) -> None:
        """Sets the hash of an account's password; None removes it."""
        ...

    async def add_session(self, session: SessionRecord) -> None: ...

    async def session(self, secret: str, now: float) -> SessionRecord | None:
        """Returns the session of the secret, unless it has expired."""
        ...

    async def sessions(self, account: str, now: float) -> list[SessionRecord]:
        """Returns the sessions of an account that have not expired, newest first."""
        ...

    async def seen(self, secret: str, now: float) -> None:
        """Records that the session was used at `now`."""
        ...

    async def end_sessions(self, account: str, id: str | None = None) -> int:
        """Ends an account's sessions, or only the one whose hash begins with `id`. Returns how many."""
        ...

    async def add_token(self, token: TokenRecord) -> None: ...

    async def token(self, secret: str, now: float) -> TokenRecord | None:
        """Returns the token of the secret, unless it has expired."""
        ...

    async def tokens(self, account: str) -> list[TokenRecord]:
        """Returns all tokens of an account, newest first."""
        ...

    async def token_used(self, secret: str, now: float) -> None:
        """Records that the token was used at `now`."""
        ...

    async def revoke_token(self, account: str, id: str) -> bool:
        """Removes the token whose secret's hash begins with `id`. Returns whether there was one."""
        ...

    async def add_passkey(self, passkey: PasskeyRecord) -> None: ...
    async def passkey(self, id: str) -> PasskeyRecord | None: ...

    async def passkeys(self, account: str) -> list[PasskeyRecord]:
        """Returns all passkeys of an account, newest first."""
        ...

    async def passkey_used(self, id: str, uses: int, now: float) -> None:
        """Records a sign-in with the passkey at `now`, and its new counter `uses`."""
        ...

    async def remove_passkey(self, account: str, id: str) -> bool:
        """Removes a passkey. Returns whether there was one."""
        ...

    async def grant(self, task: str, account: str, role: str | None) -> None:
        """Sets an account's role on a task, replacing any other; None removes it."""
        ...

    async def roles(self, account: str) -> dict[str, str]:
        """Returns the account's roles by task."""
        ...

    async def members(self, task: str) -> list[RoleMember]:
        """Returns the accounts with a role on a task, by name."""
        ...

    async def add_link(self, link: SignInLink) -> None: ...

    async def link(self, secret: str, now: float) -> SignInLink | None:
        """Returns the link of the secret, unless it has expired."""
        ...

    async def take_link(self, secret: str, now: float) -> SignInLink | None:
        """Returns the link, unless it has expired, and removes it."""
        ...

    async def drop_first_links(self) -> None:
        """Removes the links that make new operators."""
        ...

    async def add_invitation(self, invitation: Invitation) -> None: ...

    async def invitations(self, task: str) -> list[Invitation]:
        """Returns all invitations of a task, newest first."""
        ...

    async def revoke_invitation(self, task: str, id: str) -> bool:
        """Removes the invitation whose secret's hash begins with `id`, with its admissions.

        Returns whether there was one.
        """
        ...

    async def admit(self, secret: str, visitor: str, now: float) -> str | None:
        """Admits a visitor (also a hash) by an invitation. Returns its task; None when it is no longer valid.

        A visitor that it admitted before does not count as another use.
        """
        ...

    async def admissions(self, visitor: str, now: float) -> dict[str, bool]:
        """Returns the tasks to which invitations that have not expired admitted the visitor.

        The value says whether one of them is for a limited number of people.
        """
        ...

    async def forget_task(self, task: str) -> ForgottenAccess:
        """Removes roles on the task, invitations to it and tokens limited to it. Returns what there was."""
        ...

    async def put_back(self, task: str, access: ForgottenAccess) -> None:
        """Replaces the access to the task by what `forget_task` returned."""
        ...

    async def clear(self, now: float) -> None:
        """Removes expired sessions and sign-in links."""
        ...
