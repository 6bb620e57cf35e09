"""Starter models over HTTP: an owner with data and no model chooses one, and the server does the rest."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract.vectors.data.make_audio import sound, wav
from tests.support.tasks.draft_jobs import TABLE
from tests.support.tasks.owner_files import pictures, zipped
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import LONG
from tests.support.web.draft_client import ABOUT, Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator, owner, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("starters")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def bob(server: Server) -> Drafter:
    return Drafter(program(owner(operator(server), "bob"), "create", "manage"))


def items(shown: Any) -> dict[str, str]:
    return {item["key"]: item["state"] for item in shown["checklist"]}


def settled(bob: Drafter, draft: str) -> Any:
    """The draft once no job waits or runs and none is due."""
    until, shown = time.monotonic() + LONG, bob.send("GET", draft).json
    while time.monotonic() < until:
        jobs = shown["jobs"].values()
        if not any(job["state"] in ("waiting", "running") for job in jobs) and "rehearse" in shown["jobs"]:
            return shown
        assert not any(job["state"] == "failed" for job in jobs), shown["jobs"]
        time.sleep(0.2)
        shown = bob.send("GET", draft).json
    raise AssertionError(shown["jobs"])


def test_a_starter_is_chosen_before_the_data_and_only_where_it_fits(bob: Drafter) -> None:
    draft = bob.begin("early")
    shown = bob.send("GET", draft).json
    assert (shown["starter"], len(shown["starters"])) == (None, 6)
    assert bob.send("POST", f"{draft}/starter", {"starter": "none"}).status == 404
    shown = bob.send("POST", f"{draft}/starter", {"starter": "table-mlp"}).json
    assert [one["name"] for one in shown["starters"] if one["chosen"]] == ["table-mlp"]
    assert items(shown)["starter"] == "todo"
    assert shown["standing"] == "Next: Bring the data, so that the starter model is built for them."
    refused = bob.send("POST", f"{draft}/jobs", {"kind": "build"})
    assert (refused.status, "bring data" in refused.text) == (409, True)
    bob.upload(draft, "data", "d.csv", TABLE.encode())
    assert bob.work(draft, "look")["state"] == "done"
    shown = bob.send("GET", draft).json
    assert [one["name"] for one in shown["starters"]] == ["table-mlp"]
    refused = bob.send("POST", f"{draft}/starter", {"starter": "small-gpt"})
    assert (refused.status, refused.json["error"]["code"]) == (409, "not-wanted")


def begun(bob: Drafter, name: str, starter: str) -> str:
    """A draft that goes on by itself, with everything that is said of a task, and a starter."""
    answer = bob.send("POST", "/api/drafts", {"name": name, "onward": True}).json
    draft = f"/api/drafts/{answer['id']}"
    task = answer["task"] | ABOUT
    task["model"] |= {"batch_size": 8}
    assert bob.send("PATCH", draft, {"task": task}).status == 200
    assert bob.send("POST", f"{draft}/starter", {"starter": starter}).status == 200
    return draft


def cat_pictures(folder: Path) -> bytes:
    return pictures(folder / "cats.zip", 10, 10).read_bytes()


def recordings(folder: Path) -> bytes:
    files = {
        f"{label}/{number}.wav": wav(sound(16_000 + number, 16_000), 16_000)
        for label in ("no", "yes")
        for number in range(10)
    }
    return zipped(folder / "recordings.zip", files).read_bytes()


def one_text(_folder: Path) -> bytes:
    return b"".join(b"Line %d of a text that is continued.\n" % number for number in range(60))


def letters(folder: Path) -> bytes:
    with zipfile.ZipFile(folder / "letters.zip", "w") as archive:
        for number in range(20):
            kind = ("kind", "unkind")[number % 2]
            archive.writestr(f"{kind}/{number}.txt", f"You are {kind} number {number}.")
    return (folder / "letters.zip").read_bytes()


def series(folder: Path) -> bytes:
    wave = np.sin(np.arange(80, dtype=np.float32) / 5)
    windows = np.lib.stride_tricks.sliding_window_view(wave[:-1], 24)
    np.savez(folder / "s.npz", x=windows[..., None], y=wave[24:, None])
    return (folder / "s.npz").read_bytes()


@pytest.mark.tensorflow
@pytest.mark.long
@pytest.mark.timeout(LONG)
@pytest.mark.parametrize(
    ("starter", "name", "content"),
    [
        ("small-cnn", "d.zip", cat_pictures),
        ("mobile-net", "d.zip", cat_pictures),
        ("small-cnn", "d.zip", recordings),
        ("text-gru", "d.txt", one_text),
        ("text-gru", "d.zip", letters),
        ("small-gpt", "d.txt", one_text),
        ("small-gpt", "d.zip", letters),
        ("series-forecaster", "d.npz", series),
    ],
)
def test_each_starter_takes_a_step_on_data_of_its_kind(
    bob: Drafter, tmp_path: Path, starter: str, name: str, content: Callable[[Path], bytes]
) -> None:
    draft = begun(bob, f"{starter}-{content.__name__.replace('_', '-')}", starter)
    bob.upload(draft, "data", name, content(tmp_path))
    shown = settled(bob, draft)
    assert {key for key, state in items(shown).items() if state != "done"} == {"browser"}
    (chosen,) = (one for one in shown["starters"] if one["chosen"])
    assert chosen["parameters"] == shown["devices"]["parameters"]["trainable"]
    assert shown["jobs"]["rehearse"]["result"]["real"]


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(LONG)
def test_data_and_a_choice_are_all_that_a_launch_needs(bob: Drafter) -> None:
    draft = begun(bob, "table", "table-mlp")
    bob.upload(draft, "data", "d.csv", TABLE.encode())
    shown = settled(bob, draft)
    assert {key: state for key, state in items(shown).items() if state != "done"} == {"browser": "todo"}
    (chosen,) = shown["starters"]
    assert chosen["parameters"] == 64 * 3 + 32 * 65 + 33 == shown["devices"]["parameters"]["trainable"]
    assert shown["files"]["model"]["name"] == "table-mlp.keras"
    assert shown["task"]["model"]["loss"] == "binary_crossentropy"
    bob.without_browser(draft)
    assert bob.send("POST", f"{draft}/launch", {"test": True}).json["task"] == "table"
