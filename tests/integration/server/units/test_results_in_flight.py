"""Results in flight when a training ends are neither refused, late nor given up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from backend.server.observers import task_events
from backend.server.units.results.result_receiver import ENDED
from backend.stores.embedded import open_stores
from backend.wire import messages, unit_messages
from tests.integration.server.units.test_overwritten_results import ONES, Client, opened
from tests.support.tasks.tiny_task import SIZE, write_units
from tests.support.timeouts import PATIENCE

Frame = TypeVar("Frame")


class Events:
    """Keeps what happens in a task."""

    def __init__(self) -> None:
        self.heard: list[task_events.TaskEvent] = []

    def notice(self, _task: str, event: task_events.TaskEvent) -> None:
        self.heard.append(event)

    async def run(self) -> None:
        await asyncio.Event().wait()


async def first(client: Client, kind: type[Frame]) -> Frame:
    async with asyncio.timeout(PATIENCE):
        while not isinstance(frame := await client.frames.get(), kind):
            pass
        return frame


async def test_a_result_that_is_sent_while_the_training_ends_is_not_refused(tmp_path: Path) -> None:
    folder = write_units(tmp_path / "tiny", trust={"replicas": 1, "spot_checks": 0.0})
    host, client, events = (
        await opened(folder / "task.toml", open_stores(tmp_path / "data")),
        Client(),
        Events(),
    )
    host.add(events)
    running = asyncio.create_task(host.run())
    enlist = unit_messages.Enlist(token="t" * 32, kind="peer", backend="numpy", agent="test", shards=[])
    name = await host.join(enlist, client)
    await host.hear(name, client, messages.Ready(backend="numpy", step_ms=1.0, examples=0))
    await host.hear(name, client, unit_messages.Want(slots=1))
    unit = await first(client, unit_messages.Unit)
    result = unit_messages.Result(
        lease=unit.lease, examples=unit.examples, steps=2, loss=0.5, sums=[(1.0, 4.0)], size=4 * SIZE
    )
    await host.hear(name, client, result)
    await first(client, messages.Credit)
    await host.finish("The target is reached.", cut=True)
    dropped = await first(client, unit_messages.Drop)
    assert (dropped.lease, dropped.reason) == (unit.lease, ENDED)
    chunk = messages.Chunk(round=unit.lease, offset=0, data=memoryview(ONES.tobytes()))
    await host.hear(name, client, chunk)
    rejected = await first(client, unit_messages.Rejected)
    assert (rejected.code, rejected.reason) == ("over", ENDED)
    returned = [event for event in events.heard if isinstance(event, task_events.UnitReturned)]
    assert [event.late for event in returned] == [False]
    tally, epoch = host.state.scheduler.progress.tally(), host.state.run.epoch
    assert (tally.failed, tally.dropped) == (0, tally.units)
    assert not epoch.refused.codes
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
