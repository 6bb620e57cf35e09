"""From a model's file to a task that is hosted, with a server that is killed in the middle."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from backend.formats.manifest import parse_manifest
from tests.support.tasks.owner_files import pictures
from tests.support.tasks.pinned_task import built_program
from tests.support.tasks.small_model import small_model
from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import ABOUT, TUS, Drafter
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor, operator, owner, program

pytestmark = pytest.mark.tensorflow

PLAN = {"scheme": "federated", "rounds": 3, "min_available_clients": 2, "deadline": 60}


async def test_a_model_and_pictures_become_a_task_though_the_server_is_killed(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    server = Server(tmp_path / "tasks", tmp_path / "data")
    server.start()
    try:
        bob = Drafter(program(owner(operator(server), "bob"), "create", "manage"))
        draft = bob.begin("cats")
        _fill_in(bob, draft)
        model = small_model()
        _upload_though_killed(server, bob, draft, model)
        bob = bob.moved(server.url)
        bob.upload(draft, "data", "cats.zip", pictures(tmp_path / "cats.zip", 30, 20).read_bytes())
        assert bob.work(draft, "look")["result"]["classes"] == {"cat": 30, "dog": 20}
        assert bob.send("GET", f"{draft}/pictures/0").headers["content-type"] == "image/png"
        shown = bob.send("GET", draft).json
        shown["task"]["data"]["preprocess"]["size"] = [8, 8]
        assert bob.send("PATCH", draft, {"task": shown["task"]}).status == 200

        _convert_though_killed(server, bob, draft)
        bob = bob.moved(server.url)
        assert bob.ended(draft, "convert")["state"] == "done"
        shown = bob.send("GET", draft).json
        assert _left(shown) == ["cut", "rehearse", "browser"]
        refused = bob.send("POST", f"{draft}/launch", {})
        assert (refused.status, refused.json["error"]["code"]) == (409, "not-ready")
        for kind in ("cut", "rehearse"):
            job = bob.work(draft, kind)
            assert job["state"] == "done", job
        assert "Keras and the converted model agree" in job["log"][-1]["text"]
        shown = bob.send("GET", draft).json
        assert _left(shown) == ["browser"]
        _try_in_a_browser(bob, draft)
        shown = bob.send("GET", draft).json
        assert _left(shown) == []
        assert shown["devices"]["wire"]["update_up"] == 4 * shown["devices"]["parameters"]["trainable"]

        launched = bob.send("POST", f"{draft}/launch", {"test": True})
        assert launched.json == {"task": "cats", "address": "/tasks/cats"}
        assert bob.send("GET", draft).status == 404
        # A private test: nobody knows of it but its owner, who then launches it.
        assert Drafter(Visitor(server.url)).send("GET", "/api/tasks/cats").status == 404
        assert bob.send("GET", "/api/tasks/cats").json["state"] == "test"
        assert bob.send("POST", "/api/tasks/cats/orders", {"order": "launch"}).status == 200
        await _joins(server)

        server.stop()
        server.start()
        await _joins(server)
        launched_folder = tmp_path / "data" / "tasks" / "cats"
        assert (launched_folder / "README.md").read_text() == "About cats."
        manifest = parse_manifest((launched_folder / "bundle" / "bundle.json").read_bytes())
        assert manifest.exact == built_program()
    finally:
        if server.process.poll() is None:
            server.stop()


def _fill_in(bob: Drafter, draft: str) -> None:
    task = bob.send("GET", draft).json["task"]
    loss = {"loss": {"name": "sparse_categorical_crossentropy", "from_logits": True}, "metrics": ["accuracy"]}
    task |= ABOUT | {"coordination": PLAN}
    task["model"] |= {"batch_size": 8, "optimizer": {"name": "adam", "learning_rate": 0.01}} | loss
    assert bob.send("PATCH", draft, {"task": task, "readme": "About cats."}).status == 200


def _upload_though_killed(server: Server, bob: Drafter, draft: str, model: bytes) -> None:
    url, half = bob.announce(draft, "model", "my model.keras", len(model)), len(model) // 2
    bob.piece(url, 0, model[:half])
    server.stop(signal.SIGKILL)
    server.start()
    bob = bob.moved(server.url)
    assert bob.send("HEAD", url, **TUS).headers["upload-offset"] == str(half)
    bob.piece(url, half, model[half:])
    assert bob.send("GET", draft).json["files"]["model"]["name"] == "my model.keras"


def _convert_though_killed(server: Server, bob: Drafter, draft: str) -> None:
    assert bob.send("POST", f"{draft}/jobs", {"kind": "convert"}).status == 202
    # It says what it does: it is in the middle.
    assert bob.send("GET", f"{draft}/jobs/convert?after=0").json["log"]
    server.stop(signal.SIGKILL)
    server.start()
    job = bob.moved(server.url).send("GET", f"{draft}/jobs/convert").json
    assert job["restarts"] == 1
    assert "starts over" in job["log"][0]["text"]


def _try_in_a_browser(bob: Drafter, draft: str) -> None:
    """What a browser's page asks for and tells; tests/e2e/pages/drafts/test_browser_dry_run.py takes the
    step."""
    trial = bob.send("GET", f"{draft}/trial").json["trial"]
    for name in ("bundle", "weights", "step", "shard"):
        answer = bob.send("GET", f"{draft}/blobs/{trial[name]}")
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert int(answer.headers["content-length"]) > 0
    assert bob.send("GET", f"{draft}/blobs/{'0' * 64}").status == 404
    told = {"outcome": "stepped", "of": trial["of"], "backend": "wasm", "loss": trial["loss"], "step_ms": 3.0}
    wrong = bob.send("POST", f"{draft}/tried", {**told, "gradient_error": 0.3})
    assert wrong.json["tried"][0]["verdict"] == "differs"
    assert _left(bob.send("GET", draft).json) == ["browser"]
    assert bob.send("POST", f"{draft}/tried", {**told, "gradient_error": -1.0}).status == 400
    assert bob.send("POST", f"{draft}/tried", {**told, "gradient_error": 0.0, "of": "0" * 32}).status == 409
    right = bob.send("POST", f"{draft}/tried", {**told, "gradient_error": 1e-6}).json["tried"]
    assert [(one["what"], one["verdict"], one["outdated"]) for one in right] == [("wasm", "agrees", False)]


def _left(shown: dict[str, list[dict[str, str]]]) -> list[str]:
    return [item["key"] for item in shown["checklist"] if item["state"] != "done"]


async def _joins(server: Server) -> None:
    async with Client(server.url, "cats") as client:
        assert client.welcome
