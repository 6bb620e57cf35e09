"""The same records in PostgreSQL, where a server of it can be started."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import URL, create_engine, text

from backend.stores.contracts import Records
from backend.stores.records import SqlRecords
from tests.stores.contract_records import RecordsContract

INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
FOUND = shutil.which("initdb", path=os.pathsep.join([os.environ["PATH"], *map(str, INSTALLED)]))
PROGRAMS = Path(FOUND).parent if FOUND else None

pytestmark = pytest.mark.skipif(PROGRAMS is None, reason="PostgreSQL is not installed")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    """A server of its own on a free port, and the address of its database."""
    folder = tmp_path_factory.mktemp("postgres")
    as_somebody = _not_root(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    data, log = str(folder / "data"), str(folder / "log")
    begin = [*as_somebody, f"{PROGRAMS}/initdb", "-D", data, "-U", "minga", "-A", "trust", "--no-sync"]
    subprocess.run(begin, check=True, capture_output=True)
    control = [*as_somebody, f"{PROGRAMS}/pg_ctl", "-D", data, "-l", log, "-w"]
    options = f"-p {port} -k {folder} -h 127.0.0.1 -c fsync=off"
    subprocess.run([*control, "-o", options, "start"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield URL.create("postgresql+psycopg", "minga", host="127.0.0.1", port=port, database="postgres")
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, stdout=subprocess.DEVNULL)


def _not_root(folder: Path) -> list[str]:
    """PostgreSQL refuses to be run by root: words that make a command somebody else's."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]


class TestRecordsInPostgres(RecordsContract):
    @pytest_asyncio.fixture
    async def records(self, database: URL) -> AsyncIterator[Records]:
        engine = create_engine(database)
        with engine.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        records = SqlRecords(engine, "PostgreSQL")
        yield records
        await records.close()


async def test_a_server_that_ends_is_a_sentence(database: URL) -> None:
    engine = create_engine(database.set(port=1))
    with pytest.raises(Exception, match="The records in PostgreSQL cannot be opened"):
        SqlRecords(engine, "PostgreSQL")
