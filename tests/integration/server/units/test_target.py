"""A task of work units ends when the mean of an epoch's measurements reaches its target."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import numpy as np

from backend.wire.unit_messages import Board, Unit
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient

DIGITS = Path(__file__).parents[4] / "models" / "digits"
# Seconds between results: a server hangs up on who says more than 100 things a second.
PAUSE = 0.05
COORDINATION = """
[coordination]
scheme = "volunteer"
[coordination.units]
epochs = 1000
evaluate_every = 5
[coordination.units.trust]
replicas = 1
spot_checks = 0.0
[coordination.stop]
target = { metric = "accuracy", value = 0.02 }
"""


def write_digits(folder: Path) -> None:
    """The task of the gallery, by work units. One in fifty is what its model guesses before any training."""
    folder.mkdir(parents=True)
    (folder / "built").symlink_to((DIGITS / "built").resolve())
    head, _, rest = (DIGITS / "task.toml").read_text("utf-8").partition("[coordination]")
    tail = rest[rest.index("[security]") :]
    text = head.replace("shards_per_client = 4\n", "") + COORDINATION + tail
    (folder / "task.toml").write_text(text, "utf-8")


async def idle_on(client: UnitClient) -> Board:
    """Gives units back as they came, with no change, until the task is finished."""
    await client.ready()
    async with asyncio.timeout(LONG):
        while True:
            message: Unit | Board = await client.next(Unit, Board)
            if isinstance(message, Unit):
                size = (await client.weights(message)).size
                steps, visits = planned(message)
                await client.deliver(message, np.zeros(size, np.float32), steps=steps, examples=visits)
                await asyncio.sleep(PAUSE)
            elif message.phase == "finished":
                return message


def planned(unit: Unit) -> tuple[int, int]:
    """Returns the steps of a unit, or of the rest of one, and the examples in them."""
    steps = unit.steps or unit.epochs * math.ceil(unit.examples / unit.batch_size)

    def visits(steps: int) -> int:
        passes, rest = divmod(steps, math.ceil(unit.examples / unit.batch_size))
        return passes * unit.examples + min(rest * unit.batch_size, unit.examples)

    return steps, visits(unit.first_step + steps) - visits(unit.first_step)


def epoch_of(server: Server) -> int:
    """In which the task ended, after it was seen to be over."""
    summary = server.get("/api/tasks/digits")
    assert (summary["phase"], summary["state"]) == ("finished", "finished")
    # The next epoch may have been opened while the last one's version was measured.
    assert summary["round"] - summary["version"] in (0, 1)
    return int(summary["version"])


async def test_an_epoch_whose_measurements_reach_the_target_is_the_last(tmp_path: Path) -> None:
    write_digits(tmp_path / "tasks" / "digits")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with UnitClient(server.url, "digits") as client:
            board = await idle_on(client)
        assert 1 <= epoch_of(server) < 1000
        assert board.loss is not None
        assert board.metrics["accuracy"] >= 0.02
        assert 0 < board.measured <= board.base
