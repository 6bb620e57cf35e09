"""Owners lead a running server's tasks: pause, resume, finish, stop, archive, participants, the dashboard."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from backend.wire.messages import Abandoned, Closing, Ready, Refused, State, Train, Version
from tests.support.tasks.tiny_task import SIZE, write_mesh, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program

TASKS = ("paused", "cut", "finishing", "stopped", "archive", "people", "watched", "kept", "shown")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Task and data folders of a server with a task for every test."""
    folder = tmp_path_factory.mktemp("managing")
    for name in TASKS:
        write_task(folder / "tasks" / name)
    write_mesh(folder / "tasks" / "mesh")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    """The operator, who may lead every task."""
    return operator(server)


def lead(who: Visitor, task: str, order: str, status: int | None = None, **more: Any) -> Any:
    return who.ask("POST", f"/api/tasks/{task}/orders", {"order": order, **more}, status)


async def phase(client: Client, wanted: str) -> State:
    """The first state in that phase."""
    while (state := await client.next(State)).phase != wanted:
        pass
    return state


async def test_a_pause_lets_the_round_end_then_everybody_waits_until_it_is_resumed(
    server: Server, ann: Visitor
) -> None:
    async with Client(server.url, "paused") as one, Client(server.url, "paused") as two:
        for client in (one, two):
            await client.ready()
        plans = [await client.selected() for client in (one, two)]
        told = lead(ann, "paused", "pause", reason="Lunch.")
        assert (told["state"], told["reason"]) == ("paused", "Lunch.")
        assert told["orders"] == ["resume", "finish", "stop"]
        for client, plan in zip((one, two), plans, strict=True):
            await client.deliver(plan, np.ones(SIZE))
        await phase(one, "paused")
        summary = server.get("/api/tasks/paused")
        assert (summary["state"], summary["phase"], summary["version"]) == ("paused", "paused", 1)
        assert lead(ann, "paused", "pause", 409)["error"]["code"] == "wrong-state"
        assert lead(ann, "paused", "resume")["state"] == "live"
        assert (await one.selected()).round == 2


async def test_a_round_that_is_cut_short_is_abandoned_with_the_reason(server: Server, ann: Visitor) -> None:
    async with Client(server.url, "cut") as one, Client(server.url, "cut") as two:
        for client in (one, two):
            await client.ready()
        plan = await one.selected()
        lead(ann, "cut", "pause", reason="The data are wrong.", cut=True)
        assert (await one.next(Abandoned)).reason == "The data are wrong."
        assert isinstance(await one.deliver(plan, np.ones(SIZE)), Refused)
        await phase(two, "paused")


async def test_a_task_that_finishes_lets_its_round_end_and_may_be_resumed(
    server: Server, ann: Visitor
) -> None:
    async with Client(server.url, "finishing") as one, Client(server.url, "finishing") as two:
        for client in (one, two):
            await client.ready()
        plans = [await client.selected() for client in (one, two)]
        assert lead(ann, "finishing", "finish")["state"] == "finishing"
        for client, plan in zip((one, two), plans, strict=True):
            await client.deliver(plan, np.ones(SIZE))
        await phase(one, "finished")
        assert server.get("/api/tasks/finishing")["state"] == "finished"
        assert lead(ann, "finishing", "resume")["state"] == "live"
        assert (await two.selected()).round == 2


async def test_an_archived_task_has_nobody_and_a_restored_one_is_as_it_was(
    server: Server, ann: Visitor
) -> None:
    async with Client(server.url, "archive") as one:
        assert lead(ann, "archive", "archive", 409)["error"]["code"] == "wrong-state"
        assert lead(ann, "archive", "stop")["state"] == "stopped"
        await phase(one, "paused")
        assert lead(ann, "archive", "archive")["state"] == "archived"
        assert (await one.next(Closing)).code == "closed"
    closing = await refused(server, "archive")
    assert closing.reason.startswith("This task is archived")
    assert "/tasks/shown" in (gallery := ann.ask("GET", "/", Accept="text/html"))
    assert "/tasks/archive" not in gallery
    assert lead(ann, "archive", "restore")["state"] == "stopped"


async def refused(server: Server, task: str, token: str | None = None) -> Closing:
    """What a client is told that is not let in."""
    client = Client(server.url, task, token)
    with pytest.raises(Exception, match=r"closed|rcvd|4003|4010"):
        await client.__aenter__()
    (closing,) = [one for one in client.heard if isinstance(one, Closing)]
    return closing


async def test_a_banned_client_stays_out_a_removed_one_may_come_back(server: Server, ann: Visitor) -> None:
    async with Client(server.url, "people") as one:
        treat(ann, "people", one.id, "remove")
        assert (await one.next(Closing)).code == "removed"
    async with Client(server.url, "people", one.token) as again:
        assert treat(ann, "people", again.id, "ban", reason="Nonsense.") == {"banned": [one.id]}
        assert (await again.next(Closing)).code == "banned"
    assert (await refused(server, "people", one.token)).code == "banned"
    (row,) = ann.ask("GET", "/api/tasks/people/participants")["participants"]
    assert (row["client"], row["banned"], row["status"]) == (one.id, "Nonsense.", None)
    assert treat(ann, "people", one.id, "unban") == {"banned": []}
    async with Client(server.url, "people", one.token):
        pass


def treat(who: Visitor, task: str, client: str, act: str, **more: Any) -> Any:
    return who.ask("POST", f"/api/tasks/{task}/participants/{client}", {"act": act, **more})


async def test_a_mesh_is_paused_resumed_and_its_peers_are_kept_out(server: Server, ann: Visitor) -> None:
    async with MeshPeer(server.url, "mesh") as one, MeshPeer(server.url, "mesh") as two:
        lead(ann, "mesh", "pause")
        while (await one.next(State)).phase != "paused":
            pass
        for peer in (one, two):
            await peer.say(Ready(backend="numpy", step_ms=1.0, examples=0))
        assert server.get("/api/tasks/mesh")["round"] == 0
        lead(ann, "mesh", "resume")
        assert (await one.next(Train)).round == 1
        lead(ann, "mesh", "stop", reason="Enough.")
        assert (await two.next(Abandoned)).reason == "Enough."
        while (await two.next(State)).phase != "paused":
            pass
        treat(ann, "mesh", two.id, "ban")
        assert (await two.next(Closing)).code == "banned"


@asynccontextmanager
async def watching(who: Visitor, task: str) -> AsyncIterator[ClientConnection]:
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in who.cookies.items())}
    address = f"ws://{who.host}/api/tasks/{task}/watch"
    async with connect(address, additional_headers=headers, origin=f"http://{who.host}") as socket:  # type: ignore[arg-type]
        yield socket


async def until(socket: ClientConnection, kind: str, holds: Any) -> dict[str, Any]:
    """The next frame of that kind of which something holds."""
    async with asyncio.timeout(PATIENCE):
        while True:
            frame: dict[str, Any] = json.loads(await socket.recv())
            if frame["type"] == kind and holds(frame):
                return frame


async def test_the_dashboard_is_pushed_with_rounds_participants_and_refusals(
    server: Server, ann: Visitor
) -> None:
    async with watching(ann, "watched") as socket:
        empty = await until(socket, "history", lambda _: True)
        assert (empty["rounds"], [one["version"] for one in empty["curve"]]) == ([], [0])
        async with Client(server.url, "watched") as one, Client(server.url, "watched") as two:
            for client in (one, two):
                await client.ready()
            plans = [await client.selected() for client in (one, two)]
            await one.deliver(plans[0], np.ones(SIZE), loss=0.25)
            bad = np.full(SIZE, np.nan)
            assert isinstance(await two.deliver(plans[1], bad), Refused)
            history = await until(socket, "history", lambda frame: frame["rounds"])
            now = await until(socket, "now", lambda frame: frame["totals"]["rounds"] and frame["alerts"])
    (ended,) = history["rounds"]
    assert (ended["outcome"], ended["refusals"]) == ("version", {"not-finite": 1})
    assert ended["losses"] == {"p10": 0.25, "p50": 0.25, "p90": 0.25}
    assert history["curve"][1]["training_loss"] == 0.25
    totals = now["totals"]
    assert (totals["made"], totals["refusals"], totals["backends"]) == (
        1,
        {"not-finite": 1},
        {"peer numpy": 1},
    )
    assert 0.0 < totals["watt_hours"][0] < totals["watt_hours"][1]
    assert now["received"] == 2 * 4 * SIZE
    (alert,) = now["alerts"]
    assert (alert["trouble"], alert["cleared"]) == ("not-a-number", None)
    rows = {row["client"]: row for row in now["participants"]}
    assert rows[one.id]["received"] == 4 * SIZE
    assert rows[two.id]["refusals"] == {"not-finite": 1}
    assert "losses" not in server.get("/api/tasks/watched/rounds")["rounds"][0]


async def test_only_who_has_a_role_sees_or_leads(server: Server, ann: Visitor) -> None:
    stranger, bob = Visitor(server.url), owner(ann, "bob")
    for path in ("dashboard", "participants"):
        stranger.ask("GET", f"/api/tasks/shown/{path}", None, 401)
        bob.ask("GET", f"/api/tasks/shown/{path}", None, 403)
    lead(stranger, "shown", "stop", 401)
    lead(bob, "shown", "stop", 403)
    for who in (stranger, bob):
        with pytest.raises(InvalidStatus) as refusal:
            async with watching(who, "shown"):
                pass
        assert refusal.value.response.status_code in (401, 403)
    with pytest.raises(InvalidStatus) as other_site:
        async with connect(f"ws://{ann.host}/api/tasks/shown/watch", origin="http://other.example"):  # type: ignore[arg-type]
            pass
    assert other_site.value.response.status_code == 403
    assert server.get("/api/tasks/shown")["state"] == "live"


def test_programs_lead_with_a_token_for_that(server: Server, ann: Visitor) -> None:
    lead(program(ann, "inspect"), "shown", "pause", 403)
    script = program(ann, "manage", "inspect", task="shown")
    assert lead(script, "shown", "pause")["state"] == "paused"
    assert script.ask("GET", "/api/tasks/shown/dashboard")["orders"] == ["resume", "finish", "stop"]
    lead(script, "shown", "resume")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("orders", {"order": "explode"}, 400),
        ("orders", {"order": "pause", "reason": 7}, 400),
        ("orders", {"order": "pause", "reason": "x" * 301}, 400),
        ("orders", {"order": "pause", "more": 1}, 400),
        ("participants/" + "0" * 16, {"act": "praise"}, 400),
        ("participants/nobody", {"act": "ban"}, 404),
    ],
)
def test_orders_that_are_none_are_refused(ann: Visitor, path: str, body: Any, status: int) -> None:
    assert ann.ask("POST", f"/api/tasks/shown/{path}", body, status)["error"]["message"]


async def test_what_an_owner_decided_and_was_told_survives_a_restart(server: Server, ann: Visitor) -> None:
    async with Client(server.url, "kept") as one, Client(server.url, "kept") as other:
        await round_with_nonsense(one, other)
        treat(ann, "kept", one.id, "ban", reason="Nonsense.")
    (alert,) = alerts(ann)
    assert (alert["trouble"], alert["cleared"], alert["acknowledged"]) == ("not-a-number", None, None)
    path = f"/api/tasks/kept/alerts/{alert['id']}"
    ann.ask("POST", path, {"act": "acknowledge"})
    ann.ask("POST", f"{path}9", {"act": "acknowledge"}, 404)
    program(ann, "inspect").ask("POST", path, {"act": "acknowledge"}, 403)
    lead(ann, "kept", "pause", reason="Until Monday.")
    lead(ann, "stopped", "stop", reason="Enough.")
    server.stop(signal.SIGKILL)
    server.start()
    assert server.get("/api/tasks/kept")["state"] == "paused"
    async with Client(server.url, "kept") as two:
        await phase(two, "paused")
        assert (await refused(server, "kept", one.token)).code == "banned"
    ann.host = urlsplit(server.url).netloc
    assert ann.ask("GET", "/api/tasks/kept/dashboard")["reason"] == "Until Monday."
    restarted, same = alerts(ann)
    assert restarted["trouble"] == "restarted"
    assert "1 round and version 1" in restarted["text"]
    assert (same["id"], same["at"], same["cleared"]) == (alert["id"], alert["at"], None)
    assert same["acknowledged"] is not None
    assert lead(ann, "kept", "resume")["state"] == "live"
    async with (
        Client(server.url, "kept") as two,
        Client(server.url, "kept") as three,
        watching(ann, "kept") as socket,
    ):
        await round_of(two, three)
        await until(socket, "now", lambda frame: frame["alerts"][1]["cleared"] is not None)
    async with Client(server.url, "stopped") as three, Client(server.url, "stopped") as four:
        # The owner may resume it, so that clients wait instead of leaving.
        await phase(three, "paused")
        assert lead(ann, "stopped", "resume")["state"] == "live"
        await round_of(three, four)


def alerts(who: Visitor) -> Any:
    return who.ask("GET", "/api/tasks/kept/dashboard")["alerts"]


async def round_of(*clients: Client, loss: float = 0.25, last: float = 1.0) -> None:
    """A round of these clients; the values of the last one's update are all `last`."""
    for client in clients:
        await client.ready()
    plans = [await client.selected() for client in clients]
    for client, plan in zip(clients, plans, strict=True):
        await client.deliver(plan, np.full(SIZE, last if client is clients[-1] else 1.0), loss=loss)


async def round_with_nonsense(*clients: Client) -> None:
    await round_of(*clients, last=np.nan)
    await clients[0].next(Version)
