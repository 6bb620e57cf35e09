"""A data folder's records as the first servers made them, before there were migrations."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple
from pathlib import Path

from backend.stores.contracts import ContributionRecord, EvaluationRecord, RoundRecord, VersionRecord

TABLES = """
CREATE TABLE tasks (
  run INTEGER NOT NULL, task VARCHAR(64) NOT NULL, bundle VARCHAR(64) NOT NULL,
  PRIMARY KEY (run), UNIQUE (task, bundle)
);
CREATE TABLE rounds (
  run INTEGER NOT NULL, round INTEGER NOT NULL, version INTEGER NOT NULL, cohort INTEGER NOT NULL,
  accepted INTEGER NOT NULL, refused INTEGER NOT NULL, outcome VARCHAR(16) NOT NULL,
  reason VARCHAR(500) NOT NULL, seconds FLOAT NOT NULL, ended FLOAT NOT NULL,
  PRIMARY KEY (run, round), FOREIGN KEY(run) REFERENCES tasks (run)
);
CREATE TABLE versions (
  run INTEGER NOT NULL, version INTEGER NOT NULL, round INTEGER NOT NULL, weights VARCHAR(64) NOT NULL,
  state VARCHAR(64), accepted INTEGER NOT NULL, examples INTEGER NOT NULL, loss FLOAT, metrics JSON NOT NULL,
  seconds FLOAT NOT NULL, created FLOAT NOT NULL,
  PRIMARY KEY (run, version), FOREIGN KEY(run) REFERENCES tasks (run)
);
CREATE TABLE evaluations (
  run INTEGER NOT NULL, version INTEGER NOT NULL, loss FLOAT NOT NULL, metrics JSON NOT NULL,
  PRIMARY KEY (run, version), FOREIGN KEY(run) REFERENCES tasks (run)
);
CREATE TABLE contributions (
  run INTEGER NOT NULL, client VARCHAR(16) NOT NULL, kind VARCHAR(16) NOT NULL, backend VARCHAR(32) NOT NULL,
  accepted INTEGER NOT NULL, refused INTEGER NOT NULL, examples INTEGER NOT NULL,
  PRIMARY KEY (run, client), FOREIGN KEY(run) REFERENCES tasks (run)
);
"""
VERSIONS = 50
WEIGHTS = [f"{number:064x}" for number in range(VERSIONS)]


def write_old_records(path: Path, tables: int = 5) -> None:
    """Writes the first so many `tables`; all of them get a history of VERSIONS rounds."""
    statements = [statement for statement in TABLES.split(";") if statement.strip()]
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in statements[:tables]:
        connection.execute(statement)
    if tables == len(statements):
        _write_history(connection)
    connection.close()


def versions() -> list[VersionRecord]:
    """The history's versions as today's records tell them."""
    return [
        VersionRecord(n, n, WEIGHTS[n], None, 2, 40, 0.5, {"accuracy": n / 100}, 1.5, 100.0 + n)
        for n in range(VERSIONS)
    ]


def rounds() -> list[RoundRecord]:
    """And its rounds."""
    return [RoundRecord(n, n - 1, 3, 2, 1, "version", "", 1.5, 100.0 + n) for n in range(1, VERSIONS)]


def evaluations() -> list[EvaluationRecord]:
    """And its evaluations."""
    return [EvaluationRecord(n, 2.0 - n / 100, {"accuracy": n / 100}) for n in range(VERSIONS)]


CONTRIBUTIONS = [
    ContributionRecord("a" * 16, "browser", "webgl", VERSIONS - 1, 0, 980),
    ContributionRecord("b" * 16, "peer", "tensorflow-cpu", VERSIONS - 1, VERSIONS - 1, 980),
]


def _write_history(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    _insert(connection, "tasks", 1, "digits", "x" * 64)
    for n in range(VERSIONS):
        accuracy, ended = f'{{"accuracy": {n / 100}}}', 100.0 + n
        _insert(connection, "versions", 1, n, n, WEIGHTS[n], None, 2, 40, 0.5, accuracy, 1.5, ended)
        _insert(connection, "evaluations", 1, n, 2.0 - n / 100, accuracy)
        if n:
            _insert(connection, "rounds", 1, n, n - 1, 3, 2, 1, "version", "", 1.5, ended)
    for one in CONTRIBUTIONS:
        _insert(connection, "contributions", 1, *astuple(one))
    connection.execute("COMMIT")


def _insert(connection: sqlite3.Connection, table: str, *row: object) -> None:
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - no input in it.
