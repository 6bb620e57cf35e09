"""The gallery's digits as a task of work units, and what a server has on record of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.web.server_process import Server, running

# Of training; the gallery keeps some to measure on.
SHARDS = 15
# Of each.
EXAMPLES = 100

ALONE = "[coordination.units.trust]\nreplicas = 1\nspot_checks = 0.0\n"


def write_digits(digits: Path, folder: Path, units: str, more: str = ALONE) -> Path:
    """A folder with the bundle and the shards of `digits`; `units` is its table of them, `more` follows."""
    text = (digits / "task.toml").read_text("utf-8")
    head, _, tail = text.partition("[coordination]")
    security = tail.partition("[security]")[2]
    head = head.replace("shards_per_client = 4\n", "").replace("epochs = 2\n", "epochs = 1\n")
    table = f'[coordination]\nscheme = "volunteer"\n\n[coordination.units]\n{units}\n{more}\n'
    folder.mkdir()
    (folder / "task.toml").write_text(f"{head}{table}[security]{security}", "utf-8")
    (folder / "built").symlink_to(digits / "built")
    return folder


@contextmanager
def serving(digits: Path, folder: Path, units: str, *flags: str, more: str | None = None) -> Iterator[Server]:
    """A server with digits as work units; `folder` is new."""
    folder.mkdir()
    texts = (units,) if more is None else (units, more)
    task = write_digits(digits, folder / "digits", *texts)
    with running(task, folder / "data", *flags) as server:
        yield server


def recorded(server: Server) -> list[dict[str, str]]:
    """The results in the model, as the owner's file of them has it."""
    return server.table("/api/tasks/digits/figures/assimilations.csv")
