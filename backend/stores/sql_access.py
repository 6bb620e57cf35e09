"""Stores accounts in a database that SQLAlchemy supports."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Delete, Table, delete, func, insert, or_, select, update

from backend.stores import tables
from backend.stores.access import (
    AccountRecord,
    ForgottenAccess,
    Invitation,
    PasskeyRecord,
    RoleMember,
    SessionRecord,
    SignInLink,
    TokenRecord,
)
from backend.stores.database import Database

Row = TypeVar("Row", AccountRecord, Invitation, PasskeyRecord, SessionRecord, SignInLink, TokenRecord)


class SqlAccess:
    """Implements AccessRecords."""

    def __init__(self, database: Database) -> None:
        self._do = database.do

    async def add_account(self, account: AccountRecord) -> None:
        """See AccessRecords."""
        await self._add(tables.accounts, account)

    async def account(self, id: str) -> AccountRecord | None:
        """See AccessRecords."""
        return await self._first(tables.accounts, AccountRecord, tables.accounts.c.id == id)

    async def account_named(self, name: str) -> AccountRecord | None:
        """See AccessRecords."""
        return await self._first(tables.accounts, AccountRecord, tables.accounts.c.name == name)

    async def accounts(self) -> list[AccountRecord]:
        """See AccessRecords."""
        query = select(*_columns(tables.accounts, AccountRecord)).order_by(tables.accounts.c.name)
        return await self._do(lambda connection: [AccountRecord(*row) for row in connection.execute(query)])

    async def remove_account(self, id: str) -> None:
        """See AccessRecords."""

        def work(connection: Connection) -> None:
            owned_tables = (
                tables.passkeys,
                tables.sessions,
                tables.tokens,
                tables.roles,
                tables.sign_in_links,
            )
            reputations = tables.reputations
            connection.execute(delete(reputations).where(reputations.c.subject == f"account {id}"))
            for table in owned_tables:
                connection.execute(delete(table).where(table.c.account == id))
            connection.execute(delete(tables.accounts).where(tables.accounts.c.id == id))

        await self._do(work)

    async def set_password(self, account: str, password: str | None) -> None:
        """See AccessRecords."""
        change = update(tables.accounts).where(tables.accounts.c.id == account).values(password=password)
        await self._do(lambda connection: connection.execute(change))

    async def add_session(self, session: SessionRecord) -> None:
        """See AccessRecords."""
        await self._add(tables.sessions, session)

    async def session(self, secret: str, now: float) -> SessionRecord | None:
        """See AccessRecords."""
        table = tables.sessions
        return await self._first(table, SessionRecord, (table.c.secret == secret) & (table.c.expires > now))

    async def sessions(self, account: str, now: float) -> list[SessionRecord]:
        """See AccessRecords."""
        table = tables.sessions
        return await self._newest(
            table, SessionRecord, (table.c.account == account) & (table.c.expires > now)
        )

    async def seen(self, secret: str, now: float) -> None:
        """See AccessRecords."""
        change = update(tables.sessions).where(tables.sessions.c.secret == secret).values(seen=now)
        await self._do(lambda connection: connection.execute(change))

    async def end_sessions(self, account: str, id: str | None = None) -> int:
        """See AccessRecords."""
        which = tables.sessions.c.account == account
        if id is not None:
            which &= tables.sessions.c.secret.startswith(id, autoescape=True)
        return await self._remove(delete(tables.sessions).where(which))

    async def add_token(self, token: TokenRecord) -> None:
        """See AccessRecords."""
        await self._add(tables.tokens, token)

    async def token(self, secret: str, now: float) -> TokenRecord | None:
        """See AccessRecords."""
        table = tables.tokens
        return await self._first(table, TokenRecord, (table.c.secret == secret) & _not_expired(table, now))

    async def tokens(self, account: str) -> list[TokenRecord]:
        """See AccessRecords."""
        return await self._newest(tables.tokens, TokenRecord, tables.tokens.c.account == account)

    async def token_used(self, secret: str, now: float) -> None:
        """See AccessRecords."""
        change = update(tables.tokens).where(tables.tokens.c.secret == secret).values(used=now)
        await self._do(lambda connection: connection.execute(change))

    async def revoke_token(self, account: str, id: str) -> bool:
        """See AccessRecords."""
        table = tables.tokens
        which = (table.c.account == account) & table.c.secret.startswith(id, autoescape=True)
        return await self._remove(delete(table).where(which)) > 0

    async def add_passkey(self, passkey: PasskeyRecord) -> None:
        """See AccessRecords."""
        await self._add(tables.passkeys, passkey)

    async def passkey(self, id: str) -> PasskeyRecord | None:
        """See AccessRecords."""
        return await self._first(tables.passkeys, PasskeyRecord, tables.passkeys.c.id == id)

    async def passkeys(self, account: str) -> list[PasskeyRecord]:
        """See AccessRecords."""
        return await self._newest(tables.passkeys, PasskeyRecord, tables.passkeys.c.account == account)

    async def passkey_used(self, id: str, uses: int, now: float) -> None:
        """See AccessRecords."""
        change = update(tables.passkeys).where(tables.passkeys.c.id == id).values(uses=uses, used=now)
        await self._do(lambda connection: connection.execute(change))

    async def remove_passkey(self, account: str, id: str) -> bool:
        """See AccessRecords."""
        table = tables.passkeys
        return await self._remove(delete(table).where(table.c.account == account, table.c.id == id)) > 0

    async def grant(self, task: str, account: str, role: str | None) -> None:
        """See AccessRecords."""
        table = tables.roles

        def work(connection: Connection) -> None:
            connection.execute(delete(table).where(table.c.task == task, table.c.account == account))
            if role is not None:
                connection.execute(insert(table).values(task=task, account=account, role=role))

        await self._do(work)

    async def roles(self, account: str) -> dict[str, str]:
        """See AccessRecords."""
        query = select(tables.roles.c.task, tables.roles.c.role).where(tables.roles.c.account == account)
        return await self._do(lambda connection: {row.task: row.role for row in connection.execute(query)})

    async def members(self, task: str) -> list[RoleMember]:
        """See AccessRecords."""
        table, accounts = tables.roles, tables.accounts
        joined = select(accounts.c.id, accounts.c.name, table.c.role).join(
            table, table.c.account == accounts.c.id
        )
        query = joined.where(table.c.task == task).order_by(accounts.c.name)
        return await self._do(lambda connection: [RoleMember(*row) for row in connection.execute(query)])

    async def add_link(self, link: SignInLink) -> None:
        """See AccessRecords."""
        await self._add(tables.sign_in_links, link)

    async def link(self, secret: str, now: float) -> SignInLink | None:
        """See AccessRecords."""
        table = tables.sign_in_links
        return await self._first(table, SignInLink, (table.c.secret == secret) & (table.c.expires > now))

    async def take_link(self, secret: str, now: float) -> SignInLink | None:
        """See AccessRecords."""
        table = tables.sign_in_links
        columns = _columns(table, SignInLink)

        def work(connection: Connection) -> SignInLink | None:
            taken = connection.execute(
                delete(table).where(table.c.secret == secret).returning(*columns)
            ).first()
            return None if taken is None or taken.expires <= now else SignInLink(*taken)

        return await self._do(work)

    async def drop_first_links(self) -> None:
        """See AccessRecords."""
        table = tables.sign_in_links
        await self._remove(delete(table).where(table.c.operator, table.c.account.is_(None)))

    async def add_invitation(self, invitation: Invitation) -> None:
        """See AccessRecords."""
        await self._add(tables.invitations, invitation)

    async def invitations(self, task: str) -> list[Invitation]:
        """See AccessRecords."""
        return await self._newest(tables.invitations, Invitation, tables.invitations.c.task == task)

    async def revoke_invitation(self, task: str, id: str) -> bool:
        """See AccessRecords."""
        table = tables.invitations
        which = (table.c.task == task) & table.c.secret.startswith(id, autoescape=True)
        return await self._remove(delete(table).where(which)) > 0

    async def admit(self, secret: str, visitor: str, now: float) -> str | None:
        """See AccessRecords."""
        table, admissions = tables.invitations, tables.admissions
        free = table.c.uses.is_(None) | (table.c.used < table.c.uses)

        def work(connection: Connection) -> str | None:
            own = (admissions.c.visitor == visitor) & (admissions.c.invitation == secret)
            admitted_before = select(table.c.task).join(admissions).where(own, _not_expired(table, now))
            if (task := connection.scalar(admitted_before)) is not None:
                return str(task)
            use = update(table).where(table.c.secret == secret, free, _not_expired(table, now))
            task = connection.scalar(use.values(used=table.c.used + 1).returning(table.c.task))
            if task is None:
                return None
            connection.execute(insert(admissions).values(visitor=visitor, invitation=secret, created=now))
            return str(task)

        return await self._do(work)

    async def admissions(self, visitor: str, now: float) -> dict[str, bool]:
        """See AccessRecords."""
        table, admissions = tables.invitations, tables.admissions
        query = (
            select(table.c.task, func.count(table.c.uses) > 0)
            .join(admissions)
            .where(admissions.c.visitor == visitor, _not_expired(table, now))
            .group_by(table.c.task)
        )
        return await self._do(
            lambda connection: {task: bool(limited) for task, limited in connection.execute(query)}
        )

    async def forget_task(self, task: str) -> ForgottenAccess:
        """See AccessRecords."""

        def work(connection: Connection) -> ForgottenAccess:
            rows = {
                table.name: [dict(row) for row in connection.execute(select(table).where(which)).mappings()]
                for table, which in _of_task(task).items()
            }
            _remove_access(connection, task)
            return ForgottenAccess(rows)

        return await self._do(work)

    async def put_back(self, task: str, access: ForgottenAccess) -> None:
        """See AccessRecords."""

        def work(connection: Connection) -> None:
            _remove_access(connection, task)
            for table in _of_task(task):
                if rows := access.rows.get(table.name):
                    connection.execute(insert(table), [dict(row) for row in rows])

        await self._do(work)

    async def clear(self, now: float) -> None:
        """See AccessRecords."""

        def work(connection: Connection) -> None:
            for table in (tables.sessions, tables.sign_in_links):
                connection.execute(delete(table).where(table.c.expires <= now))

        await self._do(work)

    async def _add(self, table: Table, record: Any) -> None:
        await self._do(lambda connection: connection.execute(insert(table).values(**asdict(record))))

    async def _first(self, table: Table, kind: type[Row], which: ColumnElement[bool]) -> Row | None:
        query = select(*_columns(table, kind)).where(which)

        def work(connection: Connection) -> Row | None:
            row = connection.execute(query).first()
            return None if row is None else kind(*row)

        return await self._do(work)

    async def _newest(self, table: Table, kind: type[Row], which: ColumnElement[bool]) -> list[Row]:
        query = select(*_columns(table, kind)).where(which).order_by(table.c.created.desc())
        return await self._do(lambda connection: [kind(*row) for row in connection.execute(query)])

    async def _remove(self, which: Delete) -> int:
        return await self._do(lambda connection: connection.execute(which).rowcount)


def _of_task(task: str) -> dict[Table, ColumnElement[bool]]:
    """Returns the rows of the access to a task by table; a row's table comes after those it refers to."""
    invited = select(tables.invitations.c.secret).where(tables.invitations.c.task == task)
    return {
        tables.roles: tables.roles.c.task == task,
        tables.invitations: tables.invitations.c.task == task,
        tables.admissions: tables.admissions.c.invitation.in_(invited),
        tables.tokens: tables.tokens.c.task == task,
    }


def _remove_access(connection: Connection, task: str) -> None:
    for table, which in reversed(_of_task(task).items()):
        connection.execute(delete(table).where(which))


def _not_expired(table: Table, now: float) -> ColumnElement[bool]:
    return or_(table.c.expires.is_(None), table.c.expires > now)


def _columns(table: Table, kind: type[Row]) -> list[Any]:
    return [table.c[column.name] for column in fields(kind)]
