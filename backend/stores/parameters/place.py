"""Which parameter store an address means."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from backend.errors import StoreError
from backend.stores.parameters.contract import ParameterStore
from backend.stores.parameters.memory import MemoryParameters

MEMORY = "memory"
REDIS, POSTGRES = ("redis", "rediss", "unix"), ("postgresql", "postgres")
MOST_SHARDS = 1024


@dataclass(frozen=True)
class ParameterAddress:
    """Where the parameters of one task stand: `memory`, or the address of a database (see check_address).

    `run` is a word of its own for each time that a host takes the task up.
    """

    address: str = field(repr=False)
    task: str
    run: str

    @property
    def shared(self) -> bool:
        """Whether other processes can reach it."""
        return self.address != MEMORY

    def open(self) -> ParameterStore:
        """A store there. Raises StoreError where this installation has no client for it."""
        if not self.shared:
            return MemoryParameters()
        if urlsplit(self.address).scheme in REDIS:
            _need("redis")
            from backend.stores.parameters.in_redis import RedisParameters

            address, shards = _split(self.address)
            return RedisParameters(address, self.task, self.run, shards)
        _need("psycopg")
        from backend.stores.parameters.in_postgres import PostgresParameters

        return PostgresParameters(self.address, self.task, self.run)


def check_address(address: str) -> None:
    """Raises ValueError, with what would do, unless `address` is one of a parameter store."""
    if address == MEMORY:
        return
    scheme = urlsplit(address).scheme
    if scheme not in REDIS + POSTGRES:
        raise ValueError(
            f"'{_hidden(address)}' is no place for parameters: give memory, redis://host:6379/0 (with "
            "?shards=16: in shards) or postgresql://user@host/database"
        )
    shards = dict(parse_qsl(urlsplit(address).query)).get("shards")
    if shards is None:
        return
    if scheme in POSTGRES:
        raise ValueError("PostgreSQL holds parameters whole; leave shards out, or take Redis")
    if not shards.isdecimal() or not 1 <= int(shards) <= MOST_SHARDS:
        raise ValueError(f"shards is '{shards}'; give a number from 1 to {MOST_SHARDS}")


def with_password(address: str, password: str) -> str:
    """The address with this password in it, instead of any other."""
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{name}:{quote(password, safe='')}@{host}"))


def _hidden(address: str) -> str:
    """The address without its password."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}"))


def _split(address: str) -> tuple[str, int]:
    """The address as the database's client knows it, and the number of shards."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    shards = int(query.pop("shards", 1))
    return urlunsplit(parts._replace(query=urlencode(query))), shards


def _need(client: str) -> None:
    if find_spec(client) is None:
        raise StoreError(
            f"Parameters in a database need its client, {client}: pip install 'minga[databases]' on this "
            "server."
        )
