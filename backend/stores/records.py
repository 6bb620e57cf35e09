"""Stores records in a database that SQLAlchemy supports: SQLite, and PostgreSQL in the tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
    true,
    update,
)

from backend.stores import tables
from backend.stores.contracts import (
    AssimilationRecord,
    CheckpointRecord,
    CheckpointWrite,
    ContributionRecord,
    EvaluationRecord,
    IntegrityRecord,
    MeshGroupRecord,
    ReputationRecord,
    RoundRecord,
    RoundResult,
    VersionRecord,
)
from backend.stores.database import Database

Row = TypeVar(
    "Row",
    VersionRecord,
    EvaluationRecord,
    IntegrityRecord,
    RoundRecord,
    ContributionRecord,
    AssimilationRecord,
    CheckpointRecord,
    MeshGroupRecord,
    ReputationRecord,
)

_TABLES_OF_RUNS = (
    tables.assimilations,
    tables.checkpoints,
    tables.contributions,
    tables.evaluations,
    tables.integrity_checks,
    tables.mesh_groups,
    tables.probations,
    tables.reputations,
    tables.versions,
    tables.rounds,
)
# Adds a client's contribution in a round to its total. Built once: building it takes longer than running it.
_ADD_TO_CONTRIBUTION = (
    update(tables.contributions)
    .where(tables.contributions.c.run == bindparam("of_run"))
    .where(tables.contributions.c.client == bindparam("more_client"))
    .values(
        kind=bindparam("more_kind"),
        backend=bindparam("more_backend"),
        accepted=tables.contributions.c.accepted + bindparam("more_accepted"),
        refused=tables.contributions.c.refused + bindparam("more_refused"),
        examples=tables.contributions.c.examples + bindparam("more_examples"),
    )
)


class SqlRecords:
    """Implements Records."""

    def __init__(self, database: Database) -> None:
        self._database, self._do = database, database.do

    async def open_run(self, task: str, bundle: str) -> int:
        """See Records."""

        def work(connection: Connection) -> int:
            condition = (tables.tasks.c.task == task) & (tables.tasks.c.bundle == bundle)
            query = select(tables.tasks.c.run).where(condition)
            run: int | None = connection.scalar(query)
            if run is None:
                connection.execute(insert(tables.tasks).values(task=task, bundle=bundle))
                run = connection.execute(query).scalar_one()
            increment = {"openings": tables.tasks.c.openings + 1}
            connection.execute(update(tables.tasks).where(tables.tasks.c.run == run).values(increment))
            return run

        return await self._do(work)

    async def openings(self, run: int) -> int:
        """See Records."""
        query = select(tables.tasks.c.openings).where(tables.tasks.c.run == run)
        return await self._do(lambda connection: connection.execute(query).scalar_one())

    async def record(self, run: int, result: RoundResult) -> None:
        """See Records."""

        await self._do(lambda connection: _record(connection, run, result))

    async def write_reputations(self, run: int, changes: Mapping[str, ReputationRecord | None]) -> None:
        """See Records."""
        await self._do(lambda connection: _write_reputations(connection, run, changes))

    async def reputations(self, run: int) -> list[ReputationRecord]:
        """See Records."""
        return await self._all(tables.reputations, ReputationRecord, run, "subject")

    async def replace_mesh_groups(self, run: int, groups: Sequence[MeshGroupRecord]) -> None:
        """See Records."""
        await self._do(lambda connection: _replace_mesh_groups(connection, run, groups))

    async def mesh_groups(self, run: int) -> list[MeshGroupRecord]:
        """See Records."""
        return await self._all(tables.mesh_groups, MeshGroupRecord, run, "round", "group")

    async def write_checkpoint(
        self, run: int, write: CheckpointWrite, result: RoundResult | None = None
    ) -> set[str]:
        """See Records."""

        def work(connection: Connection) -> set[str]:
            table = tables.checkpoints
            before = _checkpoint_blobs(connection, table.c.run == run)
            rows = [{"run": run, **asdict(assimilation)} for assimilation in write.assimilations]
            if rows:
                connection.execute(insert(tables.assimilations), rows)
            if result is not None:
                _record(connection, run, result)
            connection.execute(delete(table).where(table.c.run == run))
            connection.execute(insert(table).values(run=run, **asdict(write.checkpoint)))
            return before - _checkpoint_blobs(connection, true()) - _kept_blobs(connection)

        return await self._do(work)

    async def checkpoint(self, run: int) -> CheckpointRecord | None:
        """See Records."""
        return next(iter(await self._all(tables.checkpoints, CheckpointRecord, run, "run")), None)

    async def assimilations(
        self, run: int, after: int = 0, last: int | None = None
    ) -> list[AssimilationRecord]:
        """See Records."""
        table = tables.assimilations
        query = select(*_columns(table, AssimilationRecord)).where(table.c.run == run, table.c.number > after)
        newest = query.order_by(table.c.number.desc()).limit(last)
        rows = await self._do(lambda connection: connection.execute(newest).all())
        return [AssimilationRecord(*row) for row in reversed(rows)]

    async def add_measurement(self, run: int, number: int, loss: float, metrics: dict[str, float]) -> None:
        """See Records."""
        table = tables.assimilations
        condition = (table.c.run == run) & (table.c.number == number)
        change = update(table).where(condition).values(loss=loss, metrics=metrics)
        await self._do(lambda connection: connection.execute(change))

    async def add_first_version(self, run: int, version: VersionRecord) -> None:
        """See Records."""

        def work(connection: Connection) -> None:
            if not connection.scalar(select(func.count()).where(tables.versions.c.run == run)):
                connection.execute(insert(tables.versions).values(run=run, **asdict(version)))

        await self._do(work)

    async def add_evaluation(self, run: int, evaluation: EvaluationRecord) -> None:
        """See Records."""

        def work(connection: Connection) -> None:
            table = tables.evaluations
            same_source = (table.c.version == evaluation.version) & (table.c.source == evaluation.source)
            condition = (table.c.run == run) & same_source
            connection.execute(delete(table).where(condition))
            connection.execute(insert(table).values(run=run, **asdict(evaluation)))

        await self._do(work)

    async def add_integrity(self, run: int, check: IntegrityRecord) -> None:
        """See Records."""

        def work(connection: Connection) -> None:
            table = tables.integrity_checks
            same_version = (table.c.run == run) & (table.c.version == check.version)
            connection.execute(delete(table).where(same_version))
            connection.execute(insert(table).values(run=run, **asdict(check)))

        await self._do(work)

    async def integrity(self, run: int) -> list[IntegrityRecord]:
        """See Records."""
        return await self._all(tables.integrity_checks, IntegrityRecord, run, "version")

    async def last_round(self, run: int) -> int:
        """See Records."""
        query = select(func.max(tables.rounds.c.round)).where(tables.rounds.c.run == run)
        return await self._do(lambda connection: connection.scalar(query) or 0)

    async def versions(self, run: int) -> list[VersionRecord]:
        """See Records."""
        return await self._all(tables.versions, VersionRecord, run, "version")

    async def evaluations(self, run: int) -> list[EvaluationRecord]:
        """See Records."""
        return await self._all(tables.evaluations, EvaluationRecord, run, "version", "source")

    async def rounds(
        self, run: int, after: int = 0, last: int | None = None, before: int | None = None
    ) -> list[RoundRecord]:
        """See Records."""
        table = tables.rounds
        query = select(*_columns(table, RoundRecord)).where(table.c.run == run, table.c.round > after)
        if before is not None:
            query = query.where(table.c.round < before)
        newest = query.order_by(table.c.round.desc()).limit(last)
        return await self._do(lambda c: [RoundRecord(*row) for row in reversed(c.execute(newest).all())])

    async def contributions(self, run: int, client: str | None = None) -> list[ContributionRecord]:
        """See Records."""
        table = tables.contributions
        query = select(*_columns(table, ContributionRecord)).where(table.c.run == run)
        if client is not None:
            query = query.where(table.c.client == client)
        rows = await self._do(lambda c: [ContributionRecord(*row) for row in c.execute(query)])
        return sorted(rows, key=lambda row: (-row.accepted, row.client))

    async def checked(self, run: int) -> dict[str, int]:
        """See Records."""
        table = tables.probations
        query = select(table.c.identity, table.c.rounds).where(table.c.run == run)
        return await self._do(lambda c: {row.identity: row.rounds for row in c.execute(query)})

    async def let_go(self, run: int, versions: Collection[int], now: float) -> set[str]:
        """See Records."""

        def work(connection: Connection) -> set[str]:
            table = tables.versions
            condition = (table.c.run == run) & (table.c.version == bindparam("number"))
            numbers = [{"number": version} for version in versions]
            if numbers:
                connection.execute(update(table).where(condition).values(let_go=now), numbers)
            deleted = _version_blobs(connection, (table.c.run == run) & (table.c.let_go == now))
            return deleted - _kept_blobs(connection) - _checkpoint_blobs(connection, true())

        return await self._do(work)

    async def named(self) -> set[str]:
        """See Records."""

        def work(connection: Connection) -> set[str]:
            return _kept_blobs(connection) | _checkpoint_blobs(connection, true()) | _bundles(connection)

        return await self._do(work)

    async def bundles(self) -> set[str]:
        """See Records."""
        return await self._do(_bundles)

    async def gone(self, address: str) -> tuple[str, int] | None:
        """See Records."""
        table = tables.versions
        query = (
            select(tables.tasks.c.task, table.c.version)
            .join_from(tables.tasks, table)
            .where(table.c.weights == address, table.c.let_go.is_not(None))
            .order_by(table.c.version.desc())
            .limit(1)
        )

        def work(connection: Connection) -> tuple[str, int] | None:
            row = connection.execute(query).first()
            return None if row is None else (row.task, row.version)

        return await self._do(work)

    async def forget_task(self, task: str) -> None:
        """See Records."""

        def work(connection: Connection) -> None:
            runs = select(tables.tasks.c.run).where(tables.tasks.c.task == task)
            for table in _TABLES_OF_RUNS:
                connection.execute(delete(table).where(table.c.run.in_(runs)))
            connection.execute(delete(tables.tasks).where(tables.tasks.c.task == task))

        await self._do(work)

    async def check(self) -> None:
        """See Records."""
        # Matches no row, but takes the write lock.
        no_change = update(tables.tasks).where(tables.tasks.c.run < 0).values(task="")
        await self._do(lambda connection: connection.execute(no_change))

    async def close(self) -> None:
        """See Records."""
        await self._database.close()

    async def _all(self, table: Table, kind: type[Row], run: int, *order: str) -> list[Row]:
        order_columns = [table.c[name] for name in order]
        query = select(*_columns(table, kind)).where(table.c.run == run).order_by(*order_columns)
        return await self._do(lambda connection: [kind(*row) for row in connection.execute(query)])


def _record(connection: Connection, run: int, result: RoundResult) -> None:
    """Adds a round with its version and contributions."""
    connection.execute(insert(tables.rounds).values(run=run, **asdict(result.round)))
    if result.version is not None:
        connection.execute(insert(tables.versions).values(run=run, **asdict(result.version)))
    if result.contributions:
        _add_contributions(connection, run, result.contributions)
    if result.mesh_groups is not None:
        _replace_mesh_groups(connection, run, result.mesh_groups)
    _write_reputations(connection, run, result.reputations)
    _add_checked(connection, run, result.checked)


def _write_reputations(
    connection: Connection, run: int, changes: Mapping[str, ReputationRecord | None]
) -> None:
    """Writes reputations in place of those of the same subjects."""
    table = tables.reputations
    if changes:
        connection.execute(delete(table).where(table.c.run == run, table.c.subject.in_(list(changes))))
    rows = [{"run": run, **asdict(record)} for record in changes.values() if record is not None]
    if rows:
        connection.execute(insert(table), rows)


def _replace_mesh_groups(connection: Connection, run: int, groups: Sequence[MeshGroupRecord]) -> None:
    """Writes the groups in place of the recorded ones."""
    table = tables.mesh_groups
    connection.execute(delete(table).where(table.c.run == run))
    if groups:
        connection.execute(insert(table), [{"run": run, **asdict(group)} for group in groups])


def _add_contributions(connection: Connection, run: int, more: Sequence[ContributionRecord]) -> None:
    """Adds contributions to each client's total, in two statements for any number of clients."""
    table, clients = tables.contributions, [contribution.client for contribution in more]
    existing = set(
        connection.scalars(select(table.c.client).where(table.c.run == run, table.c.client.in_(clients)))
    )
    changed = [
        {"of_run": run, **_prefixed(contribution)} for contribution in more if contribution.client in existing
    ]
    added = [
        {"run": run, **asdict(contribution)} for contribution in more if contribution.client not in existing
    ]
    if changed:
        connection.execute(_ADD_TO_CONTRIBUTION, changed)
    if added:
        connection.execute(insert(table), added)


def _add_checked(connection: Connection, run: int, identities: Sequence[str]) -> None:
    """Adds a round to the probation of each of `identities`."""
    table = tables.probations
    if not identities:
        return
    own = (table.c.run == run) & table.c.identity.in_(identities)
    known = set(connection.scalars(select(table.c.identity).where(own)))
    connection.execute(update(table).where(own).values(rounds=table.c.rounds + 1))
    new = [{"run": run, "identity": one, "rounds": 1} for one in identities if one not in known]
    if new:
        connection.execute(insert(table), new)


def _prefixed(contribution: ContributionRecord) -> dict[str, Any]:
    return {f"more_{name}": value for name, value in asdict(contribution).items()}


def _columns(table: Table, kind: type[Row]) -> list[Column[Any]]:
    return [table.c[column.name] for column in fields(kind)]


def _bundles(connection: Connection) -> set[str]:
    return set(connection.scalars(select(tables.tasks.c.bundle)))


def _kept_blobs(connection: Connection) -> set[str]:
    """Returns the addresses of the blobs of versions that are kept (`let_go` is null)."""
    return _version_blobs(connection, tables.versions.c.let_go.is_(None))


def _checkpoint_blobs(connection: Connection, condition: ColumnElement[bool]) -> set[str]:
    """Returns the addresses of the checkpoints' vectors."""
    table = tables.checkpoints
    rows = connection.execute(select(table.c.weights, table.c.slot).where(condition))
    return {address for row in rows for address in row if address is not None}


def _version_blobs(connection: Connection, condition: ColumnElement[bool]) -> set[str]:
    """Returns the addresses of the blobs of the versions that meet `condition`."""
    table = tables.versions
    rows = connection.execute(select(table.c.weights, table.c.state, table.c.control).where(condition))
    return {address for row in rows for address in row if address is not None}
