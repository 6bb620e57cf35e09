"""Parses the addresses of parameter stores, and opens them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from backend.errors import StoreError
from backend.stores.parameters.contract import ParameterStore
from backend.stores.parameters.memory import MemoryParameters

MEMORY = "memory"
REDIS, POSTGRES = ("redis", "rediss", "unix"), ("postgresql", "postgres")
MAX_SHARDS = 1024


@dataclass(frozen=True)
class ParameterAddress:
    """Address of the parameters of one task: `memory`, or a database (see check_address).

    `run` is unique for each time that a host opens the task.
    """

    address: str = field(repr=False)
    task: str
    run: str

    @property
    def shared(self) -> bool:
        """Whether other processes can reach the parameters."""
        return self.address != MEMORY

    @property
    def loses_results(self) -> bool:
        """Whether servers may overwrite one another's results: Redis is consistent eventually."""
        return urlsplit(self.address).scheme in REDIS

    def open(self) -> ParameterStore:
        """Opens the store. Raises StoreError when this installation lacks the database's client."""
        if not self.shared:
            return MemoryParameters()
        if urlsplit(self.address).scheme in REDIS:
            _require_client("redis")
            from backend.stores.parameters.in_redis import RedisParameters

            address, shards = _split(self.address)
            return RedisParameters(address, self.task, self.run, shards)
        _require_client("psycopg")
        from backend.stores.parameters.in_postgres import PostgresParameters

        return PostgresParameters(self.address, self.task, self.run)


def check_address(address: str) -> None:
    """Raises ValueError, naming the valid forms, unless `address` is a parameter store's."""
    if address == MEMORY:
        return
    scheme = urlsplit(address).scheme
    if scheme not in REDIS + POSTGRES:
        raise ValueError(
            f"'{_redacted(address)}' is not a place for parameters: give memory, redis://host:6379/0 (with "
            "?shards=16: in shards) or postgresql://user@host/database"
        )
    shards = dict(parse_qsl(urlsplit(address).query)).get("shards")
    if shards is None:
        return
    if scheme in POSTGRES:
        raise ValueError("PostgreSQL holds parameters whole; leave shards out, or take Redis")
    if not shards.isdecimal() or not 1 <= int(shards) <= MAX_SHARDS:
        raise ValueError(f"shards is '{shards}'; give a number from 1 to {MAX_SHARDS}")


def with_password(address: str, password: str) -> str:
    """Returns the address with `password` in it, replacing any other."""
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{name}:{quote(password, safe='')}@{host}"))


def _redacted(address: str) -> str:
    """Returns the address without its password."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}"))


def _split(address: str) -> tuple[str, int]:
    """Returns the address for the database's client, and the number of shards."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    shards = int(query.pop("shards", 1))
    return urlunsplit(parts._replace(query=urlencode(query))), shards


def _require_client(client: str) -> None:
    if find_spec(client) is None:
        raise StoreError(
            f"Parameters in a database need its client, {client}: pip install 'minga[databases]' on this "
            "server."
        )
