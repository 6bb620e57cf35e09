"""Runs real Redis and PostgreSQL for tests, each on its own port in a temporary folder."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import redis

from tests.support.environment.preflight import as_nobody
from tests.support.plugins.requirements import program
from tests.support.timeouts import PATIENCE

# Below the ephemeral ports, so that no other process gets the port while a server restarts.
_PORTS = range(20_000, 32_000)
_ATTEMPTS = 5


class NotStartedError(Exception):
    """Raised with the server's output when it did not start."""


@dataclass
class Redis:
    """A Redis without persistence, owned by the test."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """Returns the address without shards."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Starts it, empty, and waits until it answers. Raises NotStartedError."""
        words = [
            program("redis-server", "redis"),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ]
        log = self.folder / "log"
        with log.open("ab") as said:
            self.process = subprocess.Popen([*words, "--dir", str(self.folder)], stdout=said, stderr=said)
        give_up = time.monotonic() + PATIENCE
        with redis.Redis(port=self.port) as client:
            while True:
                with suppress(redis.ConnectionError):
                    # The port's previous owner would answer, too.
                    if client.info("server")["process_id"] == self.process.pid:
                        return
                if self.process.poll() is not None or time.monotonic() > give_up:
                    raise NotStartedError(log.read_text())
                time.sleep(0.05)

    def stop(self) -> None:
        """Kills it, as a crash does."""
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


@dataclass
class Postgres:
    """A PostgreSQL without fsync and autovacuum, owned by the test."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        """Returns the address of its database in libpq's form."""
        return f"postgresql://minga@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """Creates its folder; its user is `minga`."""
        data = str(self.folder / "data")
        words = [program("initdb", "postgresql"), "-D", data, "-U", "minga", "-A", "trust", "--no-sync"]
        subprocess.run([*as_nobody(self.folder), *words], check=True, capture_output=True)

    def start(self) -> None:
        """Starts it and waits until it answers. Raises NotStartedError."""
        options = f"-p {self.port} -k {self.folder} -h 127.0.0.1 -c fsync=off -c autovacuum=off"
        if self._control("-o", options, "start").returncode:
            raise NotStartedError((self.folder / "log").read_text())

    def stop(self) -> None:
        """Stops it immediately, as a crash does."""
        self._control("-m", "immediate", "stop")

    def _control(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        control = [
            program("pg_ctl", "postgresql"),
            "-D",
            str(self.folder / "data"),
            "-l",
            str(self.folder / "log"),
        ]
        patient = ["-w", "-t", str(int(PATIENCE))]
        # The server's processes keep its output open, so waiting for the output's end would hang.
        return subprocess.run(
            [*as_nobody(self.folder), *control, *patient, *words], check=False, stdout=subprocess.DEVNULL
        )


Server = TypeVar("Server", Redis, Postgres)


@contextmanager
def serving_redis() -> Iterator[Redis]:
    """Yields a Redis that answers."""
    with TemporaryDirectory(prefix="minga-redis-") as folder:
        yield from _serving(Redis(Path(folder), 0))


@contextmanager
def serving_postgres() -> Iterator[Postgres]:
    """Yields a PostgreSQL that answers."""
    with TemporaryDirectory(prefix="minga-postgres-") as folder:
        server = Postgres(Path(folder), 0)
        server.make()
        yield from _serving(server)


def _serving(server: Server) -> Iterator[Server]:
    """Starts the server on a free port, and stops it at the end."""
    try:
        for attempt in range(_ATTEMPTS):
            server.port = random.SystemRandom().choice(_PORTS)
            try:
                server.start()
                break
            except NotStartedError:
                if attempt == _ATTEMPTS - 1:
                    raise
        yield server
    finally:
        server.stop()
