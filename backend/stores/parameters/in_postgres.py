"""Holds parameters in PostgreSQL: strongly consistent, as each result locks its task's row until written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import psycopg
from psycopg import Connection

from backend.errors import StoreError, TakenOverError
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector, to_bytes
from backend.stores.parameters.contract import (
    REMEMBERED_RESULTS,
    ParametersGoneError,
    Receipt,
    StoredParameters,
    check_fit,
)

CONNECT_SECONDS = 60
# Every update leaves a dead row version with the previous vectors; VACUUM frees them after this many results.
VACUUM_EVERY = 8
# Serialises servers that create the table at the same time.
_LOCK_CREATION = "SELECT pg_advisory_xact_lock(hashtext('minga_parameters'))"
# Unlogged: data are written once instead of twice. The table is empty after the database crashes; the host
# then begins again from its checkpoint.
_CREATE_TABLE = """
CREATE UNLOGGED TABLE IF NOT EXISTS minga_parameters (
  task text PRIMARY KEY, run text NOT NULL, base bigint NOT NULL, count bigint NOT NULL,
  turns text[] NOT NULL, weights bytea NOT NULL, slot bytea NOT NULL)
"""
# Compression takes time and hardly shrinks float32 values.
_STORE_UNCOMPRESSED = """
ALTER TABLE minga_parameters
  ALTER COLUMN weights SET STORAGE EXTERNAL, ALTER COLUMN slot SET STORAGE EXTERNAL
"""
_EXISTS = "SELECT to_regclass('minga_parameters') IS NOT NULL"
_BEGIN = """
INSERT INTO minga_parameters VALUES (%s, %s, %s, %s, '{}', %b, %b)
ON CONFLICT (task) DO UPDATE SET (run, base, count, turns, weights, slot) =
  (excluded.run, excluded.base, excluded.count, excluded.turns, excluded.weights, excluded.slot)
"""
_READ = "SELECT run, base, count, turns, weights, slot FROM minga_parameters WHERE task = %s"
_WRITE = """
UPDATE minga_parameters SET base = %s, count = %s, turns = %s, weights = %b, slot = %b WHERE task = %s
"""


@dataclass(frozen=True)
class _Row:
    stored: StoredParameters
    result_ids: list[str]


class PostgresParameters:
    """A `ParameterStore` in PostgreSQL at `address` (a libpq URL); `run` identifies the run that began it."""

    def __init__(self, address: str, task: str, run: str) -> None:
        self._address, self._task, self._run = address, task, run
        self._open: Connection | None = None

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """See ParameterStore."""
        with self._connected() as connection, connection.transaction():
            connection.execute(_LOCK_CREATION)
            if connection.execute(_EXISTS).fetchone() == (False,):
                connection.execute(_CREATE_TABLE)
                connection.execute(_STORE_UNCOMPRESSED)
            vectors = to_bytes(weights), to_bytes(memory.slot)
            connection.execute(_BEGIN, (self._task, self._run, base, memory.count, *vectors))

    def read(self) -> StoredParameters:
        """See ParameterStore."""
        with self._connected() as connection:
            return self._row(connection, _READ).stored

    def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, result_id: str) -> Receipt:
        """See ParameterStore. No result is lost, because the row lock serialises the servers."""
        started = time.perf_counter()
        with self._connected() as connection:
            with connection.transaction():
                row = self._row(connection, f"{_READ} FOR UPDATE")
                before, staleness = row.stored, row.stored.base - base
                check_fit(result, len(before.weights))
                if result_id not in row.result_ids:
                    weights, memory = recipe(
                        before.weights, replace(result, staleness=staleness), before.memory
                    )
                    before = StoredParameters(weights, memory, before.base + 1)
                    self._write(connection, before, [*row.result_ids[1 - REMEMBERED_RESULTS :], result_id])
            if before.base % VACUUM_EVERY == 0:
                connection.execute("VACUUM (SKIP_LOCKED, TRUNCATE FALSE) minga_parameters")
        seconds = time.perf_counter() - started
        return Receipt(
            before.weights, before.memory, before.base, staleness=staleness, lost=0.0, seconds=seconds
        )

    def clear(self) -> None:
        """See ParameterStore."""
        with self._connected() as connection:
            if connection.execute(_EXISTS).fetchone() == (True,):
                own_key = (self._task, self._run)
                connection.execute("DELETE FROM minga_parameters WHERE task = %s AND run = %s", own_key)

    def close(self) -> None:
        """See ParameterStore."""
        if self._open:
            self._open.close()

    def _row(self, connection: Connection, query: str) -> _Row:
        try:
            row = connection.cursor(binary=True).execute(query, (self._task,)).fetchone()
        except psycopg.errors.UndefinedTable:
            row = None
        if row is None:
            raise ParametersGoneError(
                f"The parameters of {self._task} are missing from PostgreSQL: it crashed, or they were never "
                "stored."
            )
        run, base, count, result_ids, weights, slot = row
        if run != self._run:
            raise TakenOverError(f"Another server began with the parameters of {self._task} in PostgreSQL.")
        return _Row(StoredParameters(_vector(weights), Memory(_vector(slot), count), base), result_ids)

    def _write(self, connection: Connection, stored: StoredParameters, result_ids: list[str]) -> None:
        vectors = to_bytes(stored.weights), to_bytes(stored.memory.slot)
        connection.execute(_WRITE, (stored.base, stored.memory.count, result_ids, *vectors, self._task))

    def _responds(self, connection: Connection) -> bool:
        try:
            connection.execute("SELECT 1")
        except psycopg.OperationalError:
            connection.close()
            return False
        return True

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Yields the connection, reconnecting if it broke. Raises StoreError for errors of the database."""
        try:
            if self._open is None or not self._responds(self._open):
                self._open = psycopg.connect(self._address, autocommit=True, connect_timeout=CONNECT_SECONDS)
            yield self._open
        except (psycopg.Error, OSError) as error:
            raise StoreError(
                f"The parameters in PostgreSQL cannot be used: {error}. Check that it runs, its address, its "
                "password and its disk."
            ) from error


def _vector(data: bytes) -> Vector:
    return np.frombuffer(data, "<f4").astype(np.float32, copy=False)
