"""Tables of the records, in SQLAlchemy Core, as the newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, ForeignKey, Integer, MetaData, String, Table, UniqueConstraint

metadata = MetaData()


def _run() -> Column[int]:
    return Column("run", ForeignKey("tasks.run"), primary_key=True)


tasks = Table(
    "tasks",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("task", String(64), nullable=False),
    Column("bundle", String(64), nullable=False),
    UniqueConstraint("task", "bundle"),
)

rounds = Table(
    "rounds",
    metadata,
    _run(),
    Column("round", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("cohort", Integer, nullable=False),
    Column("accepted", Integer, nullable=False),
    Column("refused", Integer, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("reason", String(500), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("ended", Float, nullable=False),
    Column("refusals", JSON, nullable=False, server_default="{}"),
    Column("accepted_by", JSON, nullable=False, server_default="{}"),
)

versions = Table(
    "versions",
    metadata,
    _run(),
    Column("version", Integer, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("weights", String(64), nullable=False, index=True),
    Column("state", String(64)),
    Column("accepted", Integer, nullable=False),
    Column("examples", Integer, nullable=False),
    Column("loss", Float),
    Column("metrics", JSON, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("created", Float, nullable=False),
    Column("control", String(64)),
    Column("let_go", Float),
)

evaluations = Table(
    "evaluations",
    metadata,
    _run(),
    Column("version", Integer, primary_key=True),
    Column("source", String(16), primary_key=True, server_default="server"),
    Column("loss", Float, nullable=False),
    Column("metrics", JSON, nullable=False),
    Column("examples", Integer, nullable=False, server_default="0"),
)

contributions = Table(
    "contributions",
    metadata,
    _run(),
    Column("client", String(16), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("backend", String(32), nullable=False),
    Column("accepted", Integer, nullable=False),
    Column("refused", Integer, nullable=False),
    Column("examples", Integer, nullable=False),
)
