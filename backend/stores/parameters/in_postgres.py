"""Parameters in PostgreSQL: strongly consistent, since a result holds the task's row until it is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import psycopg
from psycopg import Connection

from backend.errors import StoreError
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector, to_bytes
from backend.stores.parameters.contract import (
    TURNS,
    ParametersGoneError,
    Receipt,
    StoredParameters,
    TakenOverError,
    check_fit,
)

CONNECT_SECONDS = 60
# Every result leaves the vectors before it behind: after so many, their room is made free for the next ones.
VACUUM_EVERY = 8
# Of two that make the table at one time, one waits.
_MAKING = "SELECT pg_advisory_xact_lock(hashtext('minga_parameters'))"
# Unlogged: written once only, and empty after a crash of the database, when the host begins again.
_TABLE = """
CREATE UNLOGGED TABLE IF NOT EXISTS minga_parameters (
  task text PRIMARY KEY, run text NOT NULL, base bigint NOT NULL, count bigint NOT NULL,
  turns text[] NOT NULL, weights bytea NOT NULL, slot bytea NOT NULL)
"""
# Compression takes time and finds next to nothing in float32.
_PLAIN = """
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
    turns: list[str]


class PostgresParameters:
    """A `ParameterStore` in the database that libpq finds at `address`; `run` is a word of who began."""

    def __init__(self, address: str, task: str, run: str) -> None:
        self._address, self._task, self._run = address, task, run
        self._open: Connection | None = None

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """See ParameterStore."""
        with self._connected() as connection, connection.transaction():
            connection.execute(_MAKING)
            if connection.execute(_EXISTS).fetchone() == (False,):
                connection.execute(_TABLE)
                connection.execute(_PLAIN)
            vectors = to_bytes(weights), to_bytes(memory.slot)
            connection.execute(_BEGIN, (self._task, self._run, base, memory.count, *vectors))

    def read(self) -> StoredParameters:
        """See ParameterStore."""
        with self._connected() as connection:
            return self._row(connection, _READ).stored

    def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, turn: str) -> Receipt:
        """See ParameterStore. Nothing is lost: one server after the other."""
        started = time.perf_counter()
        with self._connected() as connection:
            with connection.transaction():
                row = self._row(connection, f"{_READ} FOR UPDATE")
                before, staleness = row.stored, row.stored.base - base
                check_fit(result, len(before.weights))
                if turn not in row.turns:
                    weights, memory = recipe(
                        before.weights, replace(result, staleness=staleness), before.memory
                    )
                    before = StoredParameters(weights, memory, before.base + 1)
                    self._write(connection, before, [*row.turns[1 - TURNS :], turn])
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
                mine = (self._task, self._run)
                connection.execute("DELETE FROM minga_parameters WHERE task = %s AND run = %s", mine)

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
                f"The parameters of {self._task} do not stand in PostgreSQL (any more): it crashed, or "
                "nobody began with them."
            )
        run, base, count, turns, weights, slot = row
        if run != self._run:
            raise TakenOverError(f"Another server began with the parameters of {self._task} in PostgreSQL.")
        return _Row(StoredParameters(_vector(weights), Memory(_vector(slot), count), base), turns)

    def _write(self, connection: Connection, stored: StoredParameters, turns: list[str]) -> None:
        vectors = to_bytes(stored.weights), to_bytes(stored.memory.slot)
        connection.execute(_WRITE, (stored.base, stored.memory.count, turns, *vectors, self._task))

    def _answers(self, connection: Connection) -> bool:
        try:
            connection.execute("SELECT 1")
        except psycopg.OperationalError:
            connection.close()
            return False
        return True

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """The connection, made anew where it broke. What the database refuses is a StoreError."""
        try:
            if self._open is None or not self._answers(self._open):
                self._open = psycopg.connect(self._address, autocommit=True, connect_timeout=CONNECT_SECONDS)
            yield self._open
        except (psycopg.Error, OSError) as error:
            raise StoreError(
                f"The parameters in PostgreSQL cannot be used: {error}. Check that it runs, its address, its "
                "password and its disk."
            ) from error


def _vector(data: bytes) -> Vector:
    return np.frombuffer(data, "<f4").astype(np.float32, copy=False)
