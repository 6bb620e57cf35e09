"""Real Redis and PostgreSQL for tests: each on a port of its own, in a temporary folder, gone afterwards."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
import redis

from tests.waiting import PATIENCE

_PLACES = [os.environ["PATH"], *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
# Below those that the system gives to whoever asks for any, so that nobody gets it while a server restarts.
_PORTS = range(20_000, 32_000)
_ATTEMPTS = 5


class NotStartedError(Exception):
    """A server that did not start, with what it said."""


def program(name: str) -> str:
    """Where it is. Tests are left out where it is not installed, and fail where CI says that it should be."""
    found = shutil.which(name, path=os.pathsep.join(_PLACES))
    if found:
        return found
    missing = f"{name} is not installed; run scripts/setup.sh databases"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


@dataclass
class Redis:
    """A Redis without persistence, owned by the test."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """Without shards."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Starts it (again, empty) and waits until it answers. Raises NotStartedError."""
        words = [program("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        log = self.folder / "log"
        with log.open("ab") as said:
            self.process = subprocess.Popen([*words, "--dir", str(self.folder)], stdout=said, stderr=said)
        give_up = time.monotonic() + PATIENCE
        with redis.Redis(port=self.port) as client:
            while True:
                with suppress(redis.ConnectionError):
                    # Whoever had the port before would answer, too.
                    if client.info("server")["process_id"] == self.process.pid:
                        return
                if self.process.poll() is not None or time.monotonic() > give_up:
                    raise NotStartedError(log.read_text())
                time.sleep(0.05)

    def stop(self) -> None:
        """Ends it at once, as a crash does."""
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


@dataclass
class Postgres:
    """A PostgreSQL without fsync and without its own vacuum, owned by the test."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        """Of its database, as libpq has it."""
        return f"postgresql://minga@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """Makes its folder; its user is `minga`."""
        data = str(self.folder / "data")
        words = [program("initdb"), "-D", data, "-U", "minga", "-A", "trust", "--no-sync"]
        subprocess.run([*_as_somebody(self.folder), *words], check=True, capture_output=True)

    def start(self) -> None:
        """Starts it and waits until it answers. Raises NotStartedError."""
        options = f"-p {self.port} -k {self.folder} -h 127.0.0.1 -c fsync=off -c autovacuum=off"
        if self._control("-o", options, "start").returncode:
            raise NotStartedError((self.folder / "log").read_text())

    def stop(self) -> None:
        """Ends it at once, as a crash does."""
        self._control("-m", "immediate", "stop")

    def _control(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        control = [program("pg_ctl"), "-D", str(self.folder / "data"), "-l", str(self.folder / "log")]
        patient = ["-w", "-t", str(int(PATIENCE))]
        # Its output stays open in the server's processes, so nobody may wait for its end.
        return subprocess.run(
            [*_as_somebody(self.folder), *control, *patient, *words], check=False, stdout=subprocess.DEVNULL
        )


Server = TypeVar("Server", Redis, Postgres)


@contextmanager
def serving_redis() -> Iterator[Redis]:
    """A Redis that answers."""
    with TemporaryDirectory(prefix="minga-redis-") as folder:
        yield from _serving(Redis(Path(folder), 0))


@contextmanager
def serving_postgres() -> Iterator[Postgres]:
    """A PostgreSQL that answers."""
    with TemporaryDirectory(prefix="minga-postgres-") as folder:
        server = Postgres(Path(folder), 0)
        server.make()
        yield from _serving(server)


def _serving(server: Server) -> Iterator[Server]:
    """Starts it on a port that nobody has, and ends it."""
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


def _as_somebody(folder: Path) -> list[str]:
    """PostgreSQL refuses to be run by root: words that make a command somebody else's."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
