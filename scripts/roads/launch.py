"""Plays the launch of a task over HTTP: an owner brings a model and pictures, and has them checked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from scripts.roads.serving import Road, serving
from tests.support.tasks.owner_files import pictures
from tests.support.tasks.small_model import small_model
from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import ABOUT, Drafter
from tests.support.web.visitors import Visitor, program

PLAN = {"scheme": "federated", "rounds": 3, "min_available_clients": 2, "deadline": 60}
TRAINING = {
    "batch_size": 8,
    "optimizer": {"name": "adam", "learning_rate": 0.01},
    "loss": {"name": "sparse_categorical_crossentropy", "from_logits": True},
    "metrics": ["accuracy"],
}
# On the server, in processes of their own.
JOBS = ("convert", "cut", "rehearse")


async def launch(folder: Path) -> Road:
    """From the beginning of a draft until its task is hosted."""
    write_task(folder / "tasks" / "tiny")
    with serving(folder) as server:
        owner = Visitor(server.url)
        code = server.owner_link.partition("#")[2]
        owner.ask("POST", "/api/sign-in/link", {"code": code, "name": "ann"})
        drafter = Drafter(program(owner, "create", "manage"))
        files = small_model(), pictures(folder / "cats.zip", 30, 20).read_bytes()
        server.begin()
        await asyncio.to_thread(_launch, drafter, *files)
        return server.end()


def _launch(drafter: Drafter, model: bytes, data: bytes) -> None:
    draft = drafter.begin("cats")
    drafter.upload(draft, "model", "cats.keras", model)
    drafter.upload(draft, "data", "cats.zip", data)
    drafter.work(draft, "look")
    task = drafter.send("GET", draft).json["task"]
    task["data"]["preprocess"]["size"] = [8, 8]
    task |= ABOUT | {"coordination": PLAN}
    task["model"] |= TRAINING
    drafter.send("PATCH", draft, {"task": task, "readme": "About cats."})
    for kind in JOBS:
        drafter.work(draft, kind)
    drafter.without_browser(draft)
    answer = drafter.send("POST", f"{draft}/launch", {})
    if answer.status != 201:
        raise RuntimeError(answer.text)
