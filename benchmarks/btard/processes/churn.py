"""A Byzantine mesh of real peers and pages of which a share fails at any time, in every phase of a round.

Peers are killed, and started again with the state that they stored, or stopped for longer than the patience;
pages are closed and opened again, or frozen. Each kind of fault happens once or more in each phase. No more
members than the share of those present are away at the same time: what the rules promise, they promise for
less than half.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TextIO

from playwright.async_api import Browser, async_playwright

from backend.commands.build import build_task
from backend.settings import assets_folder
from benchmarks.btard.processes.churn_diary import ChurnDiary, Fault
from benchmarks.btard.processes.churn_members import ChurnMember, ChurnPage, ChurnPeer, Event
from tests.support.browser.chromium import launch
from tests.support.peer.digits_mesh import write_byzantine_digits
from tests.support.web.server_process import running

PHASES = ("between", "commit", "pieces", "means", "made", "reveal", "check", "verdict")
_ENDLESS = 1_000_000


@dataclass(frozen=True)
class Churn:
    """A run: at most the `share` of the members present is away at a time; each fault `repetitions` times.

    `patience` is in seconds. After `stall` seconds without a new state the run ends as stalled.
    """

    share: float = 0.3
    peers: int = 6
    pages: int = 2
    repetitions: int = 1
    patience: float = 3.0
    probation: int = 10
    audits: int = 1
    stall: float = 240.0
    seed: int = 0
    phases: tuple[str, ...] = PHASES


def churn_figures(plan: Churn, folder: Path | None = None) -> dict[str, Any]:
    """Runs the plan; returns its figures. Logs stay in `folder`, if one is given."""
    with tempfile.TemporaryDirectory() as temporary:
        return asyncio.run(_figures(plan, folder or Path(temporary)))


async def _figures(plan: Churn, folder: Path) -> dict[str, Any]:
    began = time.monotonic()
    async with _mesh(plan, folder) as mesh:
        stalled = not await mesh.run()
        clients = [member.client for member in mesh.members]
        found = mesh.diary.figures(clients)
    found |= {"stalled": stalled, "seconds": round(time.monotonic() - began, 1)}
    return {"churn": plan.share, "peers": plan.peers, "pages": plan.pages, "patience": plan.patience} | found


@dataclass
class _ChurnRun:
    """Owns the members and the faults that are under way; `due` are still to come.

    `_away` has the fault of each member that fails by its place, and None until it happens.
    """

    plan: Churn
    log: TextIO
    random: random.Random
    diary: ChurnDiary = field(default_factory=ChurnDiary)
    members: list[ChurnPeer | ChurnPage] = field(default_factory=list)
    due: list[tuple[str, str]] = field(default_factory=list)
    _away: dict[int, Fault | None] = field(default_factory=dict)
    _holders: dict[int, tuple[ChurnPage, str]] = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _changed_at: float = field(default_factory=time.monotonic)

    def take(self, member: ChurnMember, event: Event) -> None:
        """Takes a report of a member."""
        line = {"at": round(time.monotonic(), 3), "place": member.place, **event}
        self.log.write(json.dumps(line) + "\n")
        self.log.flush()
        number = self.diary.number
        self.diary.take(event)
        if self.diary.number > number:
            self._changed_at = time.monotonic()
        if event["event"] == "fault":
            self._fault(member, event)
        self._news.set()

    async def run(self) -> bool:
        """Lets all faults happen, then waits until all members are back; returns whether they are."""
        clients: list[str] = []
        while self.due or self._away or not self.diary.is_whole(clients):
            self._news.clear()
            for task in [one for one in self._tasks if one.done()]:
                self._tasks.discard(task)
                task.result()
            clients = [member.client for member in self.members]
            if all(clients) and (self.diary.faults or self._away or self.diary.is_whole(clients)):
                self._schedule()
            try:
                await asyncio.wait_for(self._news.wait(), 5.0)
            except TimeoutError:
                if time.monotonic() > self._changed_at + self.plan.stall:
                    return False
        return True

    def _schedule(self) -> None:
        """Arms as many faults as may be under way."""
        present = self.diary.present
        allowed = max(1, int(self.plan.share * len(present)))
        self._settle()
        for kind, phase in list(self.due):
            away = sum(self.members[place].client in present for place in self._away)
            if away >= allowed:
                return
            fitting = [
                one
                for one in self.members
                if kind in one.faults and one.client in present and self._is_free(one)
            ]
            if fitting and self._arm(self.random.choice(fitting), kind, phase):
                self.due.remove((kind, phase))

    def _settle(self) -> None:
        """Forgets who is back."""
        for place, fault in list(self._away.items()):
            if fault is not None and self.diary.is_back(fault):
                del self._away[place]

    def _is_free(self, member: ChurnMember) -> bool:
        return member.place not in self._away and member.place not in self._holders

    def _arm(self, member: ChurnPeer | ChurnPage, kind: str, phase: str) -> bool:
        if isinstance(member, ChurnPeer):
            member.arm(phase, kind)
        else:
            holders = [
                one
                for one in self.members
                if isinstance(one, ChurnPeer) and one.client in self.diary.present and self._is_free(one)
            ]
            if not holders:
                return False
            holder = self.random.choice(holders)
            self._holders[holder.place] = (member, kind)
            holder.arm(phase, "hold")
        self._away[member.place] = None
        return True

    def _fault(self, member: ChurnMember, event: Event) -> None:
        failing, kind = self._holders.pop(member.place, (member, event["fault"]))
        fault = Fault(failing.client, kind, event["phase"], self.diary.number + 1)
        self.diary.faults.append(fault)
        self._away[failing.place] = fault
        task = asyncio.create_task(self._play(failing, fault, member if member is not failing else None))
        self._tasks.add(task)
        task.add_done_callback(lambda _: self._news.set())

    async def _play(self, member: ChurnMember, fault: Fault, holder: ChurnMember | None) -> None:
        await member.fail(fault.kind)
        if isinstance(holder, ChurnPeer):
            holder.release()
        patience = self.plan.patience
        longest = 6 * patience if fault.kind in ("stop", "freeze") else patience
        await asyncio.sleep(self.random.uniform(1.2 * patience, longest) if longest > patience else 0.5)
        await member.recover(fault.kind)
        fault.recovered = True


@asynccontextmanager
async def _mesh(plan: Churn, folder: Path) -> AsyncIterator[_ChurnRun]:
    """Yields the members of a mesh, which are joining a server."""
    digits = assets_folder() / "models" / "digits"
    await asyncio.to_thread(build_task, digits)
    members = plan.peers + plan.pages
    write_byzantine_digits(
        digits,
        folder / "tasks" / "digits",
        {"probation": plan.probation, "audits": plan.audits},
        {"patience": plan.patience},
        rounds=_ENDLESS,
        min_available_clients=members // 2 + 1,
    )
    async with AsyncExitStack() as stack:
        server = stack.enter_context(running(folder / "tasks", folder / "data", log=folder / "server.log"))
        log = stack.enter_context((folder / "events.jsonl").open("w", encoding="utf-8"))
        drawn = random.Random(plan.seed)
        run = _ChurnRun(plan, log, drawn)
        pages = await _browser(stack) if plan.pages else None
        for place in range(plan.peers):
            run.members.append(
                ChurnPeer(place, folder, server.url, "webrtc" if plan.pages else "websocket", run.take)
            )
        if pages is not None:
            for place in range(plan.peers, members):
                run.members.append(ChurnPage(place, pages, server.url, run.take))
        for member in run.members:
            await member.start()
            stack.push_async_callback(member.end)
        kinds = [*ChurnPeer.faults, *(ChurnPage.faults if plan.pages else ())]
        run.due = [*product(kinds, plan.phases)] * plan.repetitions
        drawn.shuffle(run.due)
        yield run


async def _browser(stack: AsyncExitStack) -> Browser:
    playwright = await stack.enter_async_context(async_playwright())
    browser = await launch(playwright)
    stack.push_async_callback(browser.close)
    return browser
