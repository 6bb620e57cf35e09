"""Owners continue tasks that ended: more rounds, other rules, earlier versions, forks."""

from __future__ import annotations

import asyncio
import io
import re
import signal
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from backend.server.drafts.review.checklist import MADE
from backend.server.tasks.bundle_store import check_bundle
from backend.stores.contracts import EvaluationRecord
from backend.stores.embedded import open_stores
from backend.wire.mesh_messages import Deposit, Group
from backend.wire.messages import Closing, Train
from tests.support.tasks.tiny_task import OPS, SIZE, keep_versions, write_mesh, write_task, write_units
from tests.support.timeouts import PATIENCE
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import Visitor, operator, owner, program

ALONE = {"replicas": 1, "spot_checks": 0.0}


async def extend(who: Visitor, task: str, status: int | None = None, **asked: Any) -> Any:
    return await asyncio.to_thread(who.ask, "POST", f"/api/tasks/{task}/extend", asked, status)


async def train(server: Server, rounds: int, task: str = "tiny", update: float = 1.0) -> None:
    """Two clients train so many rounds."""
    async with Client(server.url, task) as one, Client(server.url, task) as two:
        for client in (one, two):
            await client.ready()
        for _ in range(rounds):
            plans = [await client.selected() for client in (one, two)]
            for client, plan in zip((one, two), plans, strict=True):
                await client.deliver(plan, np.full(SIZE, update))


async def until(server: Server, task: str, **wanted: Any) -> dict[str, Any]:
    """The summary of the task, once it has these values."""
    async with asyncio.timeout(PATIENCE):
        while True:
            summary: dict[str, Any] = await asyncio.to_thread(server.get, f"/api/tasks/{task}")
            if all(summary[key] == value for key, value in wanted.items()):
                return summary
            await asyncio.sleep(0.05)


def weights(server: Server, task: str = "tiny") -> Sequence[str]:
    return [one["weights"] for one in server.get(f"/api/tasks/{task}/versions")["versions"]]


async def test_a_finished_task_trains_more_rounds_from_its_newest_version_also_after_a_restart(
    tmp_path: Path,
) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await train(server, 2)
        await until(server, "tiny", phase="finished", state="finished")
        told = await extend(ann, "tiny", rounds=3)
        assert (told["rounds"], told["applied"], told["state"]) == (5, True, "live")
        # Another host is no restart of the server.
        await asyncio.sleep(0.5)
        assert ann.ask("GET", "/api/tasks/tiny/dashboard")["alerts"] == []
        await train(server, 1)
        assert (await until(server, "tiny", version=3))["rounds"] == 5
        server.stop(signal.SIGKILL)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert server.get("/api/tasks/tiny")["rounds"] == 5
        await train(server, 2)
        await until(server, "tiny", phase="finished", version=5)


async def test_a_running_task_is_extended_when_its_open_round_ended_and_its_clients_return(
    tmp_path: Path,
) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        async with Client(server.url) as one, Client(server.url) as two:
            for client in (one, two):
                await client.ready()
            plans = [await client.selected() for client in (one, two)]
            asked = asyncio.create_task(extend(ann, "tiny", rounds=9, deadline=30, learning_rate=0.125))
            await asyncio.sleep(0.3)
            assert server.get("/api/tasks/tiny")["rounds"] == 2
            for client, plan in zip((one, two), plans, strict=True):
                await client.deliver(plan, np.ones(SIZE))
            told = await asked
            assert (told["applied"], told["rounds"], told["learning_rate"]) == (True, 9, 0.125)
            closing = await one.next(Closing)
            assert (closing.code, "It continues in a moment" in closing.reason) == ("busy", True)
        async with Client(server.url, token=one.token) as one, Client(server.url, token=two.token) as two:
            for client in (one, two):
                await client.ready()
            plan = await one.selected()
            assert (plan.round, plan.version, plan.learning_rate) == (2, 1, 0.125)
            assert 29.0 < plan.seconds <= 30.0


async def test_a_stop_rule_that_ended_a_task_is_replaced_or_the_extension_refused(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=20, stop="{ seconds = 0.001 }")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await train(server, 1)
        await until(server, "tiny", phase="finished")
        refused = await extend(ann, "tiny", 409, rounds=5)
        assert "A stop rule would end it at once: The rounds lasted" in refused["error"]["message"]
        assert server.get("/api/tasks/tiny")["phase"] == "finished"
        await extend(ann, "tiny", rounds=5, stop={})
        await train(server, 5)
        await until(server, "tiny", phase="finished", version=6)
        refused = await extend(ann, "tiny", 409, deadline=30)
        assert "All 6 rounds of its plan are done" in refused["error"]["message"]


async def test_a_task_that_its_owner_stopped_continues_and_an_archived_one_does_not(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        lead = "/api/tasks/tiny/orders"
        await train(server, 1)
        async with Client(server.url) as one, Client(server.url) as two:
            for client in (one, two):
                await client.ready()
            await one.selected()
            await asyncio.to_thread(ann.ask, "POST", lead, {"order": "stop"})
        await until(server, "tiny", phase="finished", round=2)
        ann.ask("POST", lead, {"order": "archive"})
        assert "Restore it first" in (await extend(ann, "tiny", 409, rounds=5))["error"]["message"]
        ann.ask("POST", lead, {"order": "restore"})
        assert (await extend(ann, "tiny", rounds=5, version=0))["state"] == "live"
        await train(server, 1)
        await until(server, "tiny", version=3, rounds=7, round=4)


async def test_a_task_continues_from_an_earlier_version_and_the_later_ones_stay(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=3)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await train(server, 3)
        await until(server, "tiny", phase="finished")
        assert (await extend(ann, "tiny", 404, rounds=1, version=9))["error"]["code"] == "not-found"
        await extend(ann, "tiny", rounds=1, version=1)
        await train(server, 1)
        await until(server, "tiny", phase="finished", version=5)
        found = weights(server)
        # Version 4 is version 1 again, and version 5 follows from it as version 2 did.
        assert (found[4], found[5]) == (found[1], found[2])
        listed = server.get("/api/tasks/tiny/versions")["versions"]
        assert [one["version"] for one in listed if one["left"]] == [2, 3]
        reason = server.get("/api/tasks/tiny/rounds")["rounds"][3]["reason"]
        assert reason == "The owner continued from version 1."


async def test_a_task_that_is_finishing_is_extended_after_its_last_round(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=9)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        async with Client(server.url) as one, Client(server.url) as two:
            for client in (one, two):
                await client.ready()
            plans = [await client.selected() for client in (one, two)]
            order = {"order": "finish"}
            await asyncio.to_thread(ann.ask, "POST", "/api/tasks/tiny/orders", order)
            asked = asyncio.create_task(extend(ann, "tiny", rounds=4))
            await asyncio.sleep(0.3)
            for client, plan in zip((one, two), plans, strict=True):
                await client.deliver(plan, np.ones(SIZE))
            assert (await asked)["state"] == "live"
        await until(server, "tiny", state="live", phase="waiting", version=1, rounds=4)


async def test_a_running_task_goes_back_by_restore_only(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=9)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await train(server, 1)
        refused = await extend(ann, "tiny", 409, rounds=1, version=0)
        assert "finish or stop it first" in refused["error"]["message"]


async def finish_units(server: Server, task: str, epochs: int) -> None:
    async with UnitClient(server.url, task) as client:
        await client.ready()
        for _ in range(6 * epochs):
            [unit] = await client.units(1)
            await client.deliver(unit, np.full(SIZE, 0.5, np.float32), steps=2)


def blended(weights: NDArray[Any], epoch: int) -> NDArray[Any]:
    """The weights after the six results of an epoch, each of which adds 0.5 by a share of 1 / (e + 1)."""
    return weights + 6 * 0.5 / (epoch + 1)


def vector(server: Server, address: str) -> NDArray[Any]:
    with urlopen(f"{server.url}/blobs/{address}", timeout=PATIENCE) as answer:
        return np.frombuffer(answer.read(), "<f4")


async def test_work_units_continue_for_more_epochs_and_from_an_earlier_version(tmp_path: Path) -> None:
    write_units(tmp_path / "tasks" / "units", epochs=1, trust=ALONE)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await finish_units(server, "units", 1)
        await until(server, "units", phase="finished", version=1)
        assert (await extend(ann, "units", rounds=1))["rounds"] == 2
        await finish_units(server, "units", 1)
        await until(server, "units", phase="finished", version=2)
        await extend(ann, "units", rounds=1, version=1)
        again = await until(server, "units", version=3)
        found = weights(server, "units")
        assert found[3] == found[1] == again["weights"]
        await finish_units(server, "units", 1)
        await until(server, "units", phase="finished", version=4)
        # The third epoch only repeated version 1.
        first = blended(np.arange(SIZE), epoch=1)
        newest = weights(server, "units")[4]
        np.testing.assert_allclose(vector(server, newest), blended(first, epoch=4), rtol=1e-6)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert server.get("/api/tasks/units")["version"] == 4


async def mesh_round(server: Server) -> str:
    """Two peers make a version; the weights that they trained from."""
    async with MeshPeer(server.url, "mesh") as one, MeshPeer(server.url, "mesh") as two:
        peers = (one, two)
        for peer in peers:
            await peer.ready()
        plans = [await peer.next(Train) for peer in peers]
        for peer, plan in zip(peers, plans, strict=True):
            await peer.trained(plan)
        made = np.full(SIZE, float(plans[0].round), "<f4").tobytes()
        for peer in peers:
            await peer.averaged(await peer.next(Group), made, range(2))
        asked = [asyncio.create_task(peer.next(Deposit)) for peer in peers]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert await one.put(made) == 204
        for task in asked:
            task.cancel()
    return plans[0].weights


async def test_a_mesh_continues_for_more_rounds_and_from_its_first_version(tmp_path: Path) -> None:
    write_mesh(tmp_path / "tasks" / "mesh", rounds=1)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await mesh_round(server)
        await until(server, "mesh", phase="finished", version=1)
        await extend(ann, "mesh", rounds=1)
        await mesh_round(server)
        await until(server, "mesh", phase="finished", version=2)
        first = weights(server, "mesh")[0]
        await extend(ann, "mesh", rounds=1, version=0)
        assert await mesh_round(server) == first
        await until(server, "mesh", phase="finished", version=4)


async def test_only_who_may_change_a_task_extends_it_and_only_within_the_plan(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data", "--set", "tiny.coordination.deadline=44") as server:
        ann = operator(server)
        await extend(Visitor(server.url), "tiny", 401, rounds=1)
        await extend(owner(ann, "bob"), "tiny", 403, rounds=1)
        await extend(program(ann, "inspect", "manage"), "tiny", 403, rounds=1)
        wrong: tuple[dict[str, Any], ...] = (
            {"rounds": 0},
            {"version": -1},
            {"stop": {"quickly": 1}},
            {"privacy": {}},
        )
        assert "Say what changes" in (await extend(ann, "tiny", 400))["error"]["message"]
        for asked in wrong:
            await extend(ann, "tiny", 400, **asked)
        refused = await extend(ann, "tiny", 409, deadline=60)
        assert "--set tiny.coordination.deadline" in refused["error"]["message"]
        await extend(program(ann, "edit"), "tiny", rounds=1)
        assert server.get("/api/tasks/tiny")["rounds"] == 1


async def test_a_task_file_that_is_edited_later_counts(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "tasks" / "tiny", rounds=9)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        await extend(operator(server), "tiny", rounds=20)
    file = folder / "task.toml"
    file.write_text(file.read_text("utf-8").replace("rounds = 9", "rounds = 7"), "utf-8")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert server.get("/api/tasks/tiny")["rounds"] == 7


async def test_a_version_becomes_the_first_of_a_new_task_with_the_plan_as_it_is_now(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await train(server, 2)
        await until(server, "tiny", phase="finished")
        await extend(ann, "tiny", rounds=7)
        for version, status in ((9, 404), ("best", 409), ("first", 400)):
            ann.ask("POST", "/api/tasks/tiny/clone", {"name": "tiny-b", "version": version}, status)
        draft = ann.ask("POST", "/api/tasks/tiny/clone", {"name": "tiny-b", "version": 1})
        assert draft["task"]["coordination"]["rounds"] == 9
        assert "It begins with version 1 of [Tiny](/tasks/tiny)." in draft["readme"]
        same = ann.ask("POST", "/api/tasks/tiny/clone", {"name": "tiny-c"})
        assert same["task"]["coordination"]["rounds"] == 9
        bundle = tmp_path / "data" / "drafts" / draft["id"] / MADE["convert"]
        assert check_bundle(bundle, frozenset(OPS)).files["weights.bin"].sha256 == weights(server)[1]
        states = {one["key"]: one["state"] for one in draft["checklist"]}
        assert states["convert"] == "done"
        assert (await until(server, "tiny", version=2))["weights"] == weights(server)[2]


async def test_the_best_version_is_marked_exported_and_continued_from(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", rounds=3)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        await train(server, 3)
        await until(server, "tiny", phase="finished", best=None)
    stores = open_stores(tmp_path / "data")
    for version, accuracy in ((1, 0.5), (2, 0.9), (3, 0.7)):
        await stores.records.add_evaluation(1, EvaluationRecord(version, 1.0, {"accuracy": accuracy}))
    await stores.close()
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        summary = server.get("/api/tasks/tiny")
        assert summary["best"] == {"version": 2, "loss": 1.0, "metrics": {"accuracy": 0.9}}
        assert summary["ended"] is not None
        for version, is_best in ((2, True), (3, False)):
            assert server.get(f"/api/tasks/tiny/versions/{version}")["best"] is is_best
            page = ann.ask("GET", f"/tasks/tiny/versions/{version}", Accept="text/html")
            assert ("The best version on held-out examples" in page) is is_best
        gallery = ann.ask("GET", "/", Accept="text/html")
        assert "Best accuracy" in gallery
        assert 'href="/tasks/tiny/versions/2"' in gallery
        assert "tiny-2.safetensors" in await asyncio.to_thread(exported, server, ann)
        await extend(ann, "tiny", rounds=1, version="best")
        found = weights(server)
        assert found[4] == found[2]


def exported(server: Server, who: Visitor) -> list[str]:
    """The names of the files in the whole task's zip."""
    cookies = "; ".join(f"{name}={value}" for name, value in who.cookies.items())
    asked = Request(f"{server.url}/api/tasks/tiny/export", headers={"Cookie": cookies})
    with urlopen(asked, timeout=PATIENCE) as answer:
        return zipfile.ZipFile(io.BytesIO(answer.read())).namelist()


async def test_a_version_whose_files_were_removed_says_when_and_what_is_kept(tmp_path: Path) -> None:
    keep_versions(write_task(tmp_path / "tasks" / "tiny", rounds=4), last=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        await train(server, 4)
        await until(server, "tiny", phase="finished")
        async with asyncio.timeout(PATIENCE):
            while server.get("/api/tasks/tiny/versions/1")["let_go"] is None:  # noqa: ASYNC110 - a server's.
                await asyncio.sleep(0.05)
        refused = await extend(ann, "tiny", 410, rounds=1, version=1)
        sentence = (
            r"The files of version 1 were removed on 20\d\d-\d\d-\d\d to save space: the last 2 versions"
        )
        assert re.match(sentence, refused["error"]["message"])
        gone = ann.ask("GET", "/api/tasks/tiny/versions/1/npz", None, 410)
        assert re.match(sentence, gone["error"]["message"])
        page = ann.ask("GET", "/tasks/tiny/versions/1", Accept="text/html")
        assert "The files of this version were removed on" in page
        assert "The weights of the newest 2 and of version 0 are kept" in page
        assert "to save space" in ann.ask("GET", "/tasks/tiny", Accept="text/html")
