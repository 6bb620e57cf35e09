"""Defines the tables of the records in SQLAlchemy Core, as the newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

metadata = MetaData()


def _run() -> Column[int]:
    return Column("run", ForeignKey("tasks.run"), primary_key=True)


tasks = Table(
    "tasks",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("task", String(64), nullable=False),
    Column("bundle", String(64), nullable=False),
    Column("openings", Integer, nullable=False, server_default="0"),
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
    Column("losses", JSON, nullable=False, server_default="{}"),
    Column("rule", String(100), nullable=False, server_default=""),
    Column("left_out", JSON, nullable=False, server_default="[]"),
    Column("uncounted", JSON, nullable=False, server_default="[]"),
    Column("groups", Integer, nullable=False, server_default="0"),
    Column("groups_used", Integer, nullable=False, server_default="0"),
    Column("left_out_groups", JSON, nullable=False, server_default="[]"),
    Column("checked", Integer, nullable=False, server_default="0"),
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
    Column("privacy", JSON(none_as_null=True)),
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

# Checks of versions for signs of a backdoor, in tasks with [security.integrity].
integrity_checks = Table(
    "integrity_checks",
    metadata,
    _run(),
    Column("version", Integer, primary_key=True),
    Column("outcome", String(16), nullable=False),
    Column("score", Float),
    Column("parts", JSON, nullable=False),
    Column("against", Integer),
    Column("cause", String(16), nullable=False),
    Column("at", Float, nullable=False),
    Column("accepted", Float),
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

# The suspicion of clients in rounds: of an account, an invitation or a client (`subject`).
reputations = Table(
    "reputations",
    metadata,
    _run(),
    Column("subject", String(64), primary_key=True, index=True),
    Column("client", String(16), nullable=False),
    Column("household", String(64), nullable=False),
    Column("score", Float, nullable=False),
    Column("quarantined", Boolean, nullable=False),
    Column("quarantines", Integer, nullable=False),
    Column("served", Integer, nullable=False),
    Column("probation", Integer, nullable=False),
    Column("timeline", JSON, nullable=False),
)

# In how many rounds the updates of a newcomer were checked, by account, invitation or client.
probations = Table(
    "probations",
    metadata,
    _run(),
    Column("identity", String(80), primary_key=True),
    Column("rounds", Integer, nullable=False),
)

# Work-unit results that are in the model, in the order of their assimilation.
assimilations = Table(
    "assimilations",
    metadata,
    _run(),
    Column("number", Integer, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("unit", Integer, nullable=False),
    Column("shard", Integer, nullable=False),
    Column("first", Integer, nullable=False),
    Column("examples", Integer, nullable=False),
    Column("client", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("backend", String(32), nullable=False),
    Column("base", Integer, nullable=False),
    Column("staleness", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("lost", Float, nullable=False),
    Column("at", Float, nullable=False),
    Column("loss", Float),
    Column("metrics", JSON, nullable=False),
    Column("first_step", Integer, nullable=False, server_default="0"),
    Column("visits", Integer),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    _run(),
    Column("at", Float, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("base", Integer, nullable=False),
    Column("weights", String(64), nullable=False),
    Column("slot", String(64)),
    Column("count", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

# The groups of a mesh whose members can certify what follows: of the newest version and of the open round.
mesh_groups = Table(
    "mesh_groups",
    metadata,
    _run(),
    Column("round", BigInteger, primary_key=True, autoincrement=False),
    Column("group", BigInteger, primary_key=True, autoincrement=False),
    Column("members", JSON, nullable=False),
)

# Accounts. Secrets are stored only as SHA-256, passwords as argon2id.


def _account() -> Column[str]:
    return Column("account", ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True)


accounts = Table(
    "accounts",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("operator", Boolean, nullable=False),
    Column("password", String(200)),
    Column("created", Float, nullable=False),
)

passkeys = Table(
    "passkeys",
    metadata,
    Column("id", String(1400), primary_key=True),
    _account(),
    Column("name", String(64), nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("used", Float),
)

sessions = Table(
    "sessions",
    metadata,
    Column("secret", String(64), primary_key=True),
    _account(),
    Column("agent", String(200), nullable=False),
    Column("created", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("expires", Float, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("secret", String(64), primary_key=True),
    _account(),
    Column("name", String(64), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("task", String(64)),
    Column("created", Float, nullable=False),
    Column("used", Float),
    Column("expires", Float),
)

roles = Table(
    "roles",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("account", ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("role", String(16), nullable=False),
)

sign_in_links = Table(
    "sign_in_links",
    metadata,
    Column("secret", String(64), primary_key=True),
    Column("account", ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
    Column("operator", Boolean, nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
)

invitations = Table(
    "invitations",
    metadata,
    Column("secret", String(64), primary_key=True),
    Column("task", String(64), nullable=False, index=True),
    Column("note", String(100), nullable=False),
    Column("uses", Integer),
    Column("used", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float),
)

admissions = Table(
    "admissions",
    metadata,
    Column("visitor", String(64), primary_key=True),
    Column("invitation", ForeignKey("invitations.secret", ondelete="CASCADE"), primary_key=True),
    Column("created", Float, nullable=False),
)

# The owners' decisions and alerts, by the name of the task.

lives = Table(
    "lives",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("running", String(16), nullable=False),
    Column("ended", String(16), nullable=False),
    Column("by_owner", Boolean, nullable=False),
    Column("reason", String(500), nullable=False),
    Column("since", Float, nullable=False),
)

bans = Table(
    "bans",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("client", String(16), primary_key=True),
    Column("reason", String(500), nullable=False),
    Column("since", Float, nullable=False),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("task", String(64), nullable=False, index=True),
    Column("trouble", String(32), nullable=False),
    Column("text", String(1000), nullable=False),
    Column("at", Float, nullable=False),
    Column("cleared", Float),
    Column("acknowledged", Float),
)

plan_changes = Table(
    "plan_changes",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("value", JSON, nullable=False),
    Column("was", JSON, nullable=False),
    Column("at", Float, nullable=False),
)

# Clients by the digest of the key with which their person linked them.
volunteer_devices = Table(
    "volunteer_devices",
    metadata,
    Column("client", String(16), primary_key=True),
    Column("volunteer", String(64), nullable=False, index=True),
    Column("name", String(64), nullable=False),
    Column("since", Float, nullable=False),
)
