"""A server whose masked rounds are split into groups, and the groups that its secret draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backend.formats.task_file.robust import RobustTable, RuleName
from backend.protocols.rounds.group_lots import draw_groups
from backend.protocols.rounds.lots import Lots
from backend.wire.client_id import client_id
from tests.support.tasks.tiny_task import train_everything, write_task
from tests.support.web.server_process import Server, running

# Of each group, and of an update.
LEAST, CLIP = 3, 4.0


@contextmanager
def grouped_server(
    folder: Path,
    clients: int,
    groups: int,
    rule: RuleName,
    attackers: int,
    *,
    more: int,
    noise: float = 0.0,
    port: str = "0",
    **plan: Any,
) -> Iterator[Server]:
    """Runs a server of the task `tiny`, `more` values longer, whose model starts at zero.

    Its rounds need so many clients. With `noise`, clients add shares of it to the sum of their group.
    """
    needed = LEAST * RobustTable(rule=rule, attackers=attackers).least
    chosen = {"rounds": 1, "deadline": 120, "min_available_clients": clients, "quorum": needed}
    task = write_task(folder / "tasks" / "tiny", more=more, zeros=True, **chosen | plan)
    masking = f'aggregation = ["masked"]\n[security.masking]\nmin_clients = {LEAST}\n'
    robust = f'[security.robust]\nrule = "{rule}"\nattackers = {attackers}\ngroups = {groups}\n'
    privacy = f'[privacy]\nmechanism = "distributed"\nclip = {CLIP}\nnoise_multiplier = {noise}\n'
    if noise:
        train_everything(task)
    with (task / "task.toml").open("a") as file:
        file.write(
            masking
            + ("" if noise else f"clip = {CLIP}\nexamples = 10\n")
            + robust
            + (privacy if noise else "")
        )
    with running(folder / "tasks", folder / "data", "--port", port) as server:
        assert server.report["tasks"], "the task is refused"
        yield server


def drawn_groups(data: Path, tokens: Iterable[str], groups: int, number: int = 1) -> list[list[str]]:
    """Returns the tokens in each group of round `number` of the task's first run, drawn by its secret."""
    lots = Lots((data / "secret.key").read_bytes()).of_task("tiny", 1)
    names = {client_id(token): token for token in tokens}
    return [
        [names[client] for client in group] for group in draw_groups(names, groups, lots, f"groups/{number}")
    ]
