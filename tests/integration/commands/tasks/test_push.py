"""`minga task push`, run as owners run it, against a real server."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.server.drafts.toml import to_toml
from tests.support.environment.tcp_forwarder import cut_once
from tests.support.programs.program_process import Preload, run
from tests.support.tasks.draft_jobs import TABLE
from tests.support.tasks.owner_files import pictures
from tests.support.tasks.small_model import small_model
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import HEAVY
from tests.support.web.draft_client import ABOUT, Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program

PLAN = {"scheme": "federated", "rounds": 3, "min_available_clients": 2, "deadline": 60}
# The model's outputs are logits: as chances all of a batch may lie outside of 0 to 1, without a gradient.
LOSS = {"name": "sparse_categorical_crossentropy", "from_logits": True}
MODEL = {"batch_size": 8, "loss": LOSS, "optimizer": {"name": "sgd"}}
MIB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("pushing")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data", "--set", "tiny.access.visibility=invited") as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    return operator(server)


@pytest.fixture(scope="module")
def token(ann: Visitor) -> str:
    made = program(owner(ann, "bob"), "create", "manage").token
    assert made is not None
    return made


def write_folder(folder: Path, **tables: Any) -> Path:
    """A task's folder without model and data."""
    folder.mkdir()
    tables = {"name": folder.name, "title": "All cats", "model": MODEL, "coordination": PLAN} | tables
    (folder / "task.toml").write_text(to_toml({"data": {"source": "shards"}, **tables}), "utf-8")
    (folder / "README.md").write_text("# Cats\n", "utf-8")
    return folder


def table(rows: int) -> bytes:
    """A CSV of about 11 bytes a row."""
    kinds = (b"cat", b"dog")
    return b"a,b,class\n" + b"".join(b"%d,%d,%s\n" % (n % 1009, n % 97, kinds[n % 2]) for n in range(rows))


def minga(token: str | None, *words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"COLUMNS": "200"} | ({"MINGA_TOKEN": token} if token else {})
    if home is not None:
        environment["XDG_CONFIG_HOME"] = str(home)
    return run(Preload.SERVER, "backend", "task", *words, environment=environment)


def push(token: str, server: str, folder: Path, *words: str) -> list[dict[str, Any]]:
    """What a push told, which ended well."""
    done = minga(token, "push", str(folder), "--to", server, "--json", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(HEAVY)
@pytest.mark.tensorflow
def test_a_folder_becomes_a_task(server: Server, token: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "cats", **ABOUT)
    (folder / "model.keras").write_bytes(small_model())
    with zipfile.ZipFile(pictures(tmp_path / "cats.zip", 30, 20)) as archive:
        archive.extractall(folder / "data")
    told = push(token, server.url, folder)
    # The proposal for the data suits the model, and the dry run took a step on them.
    assert told[-1]["left"] == ["Take the same step in your own browser."]
    assert "Keras and the converted model agree." in told[-2]["text"]
    (found,) = (one for one in told if one["event"] == "draft")
    shown = Drafter(Visitor(server.url, token)).send("GET", f"/api/drafts/{found['draft']}").json
    assert (shown["readme"], shown["task"]["data"]["preprocess"]["size"]) == ("# Cats\n", [8, 8])

    refused = minga(token, "push", str(folder), "--to", server.url, "--test")
    assert refused.returncode == 2
    assert "Take the same step in your own browser. Go on at http" in refused.stderr
    again = push(token, server.url, folder, "--test", "--no-browser")
    assert again[-1]["address"] == f"{server.url}/tasks/cats"
    assert [one["kind"] for one in again if one["event"] == "kept"] == ["model", "data"]
    assert {one["kind"] for one in again if one["event"] == "log"} <= {"look", "cut", "rehearse"}
    live = minga(token, "launch", "cats", "--server", server.url)
    assert live.stdout.startswith("cats is live.")


@pytest.mark.timeout(HEAVY)
@pytest.mark.tensorflow
@pytest.mark.long
def test_a_folder_without_a_model_begins_with_a_starter(server: Server, token: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "rows", **ABOUT, model={"batch_size": 8})
    (folder / "data.csv").write_text(TABLE)
    told = push(token, server.url, folder, "--starter", "table-mlp")
    assert told[-1]["left"] == ["Take the same step in your own browser."]
    kinds = [one["kind"] for one in told if one["event"] == "log"]
    assert list(dict.fromkeys(kinds)) == ["look", "build", "convert", "cut", "rehearse"]
    again = push(token, server.url, folder, "--starter", "table-mlp", "--test", "--no-browser")
    assert again[-1]["event"] == "launched"
    assert "build" not in {one.get("kind") for one in again}
    both = minga(token, "push", str(folder), "--starter", "table-mlp", "--model", str(folder / "data.csv"))
    assert "leave out --model or --starter" in both.stderr


def test_an_upload_goes_on_where_an_earlier_try_came_to(server: Server, token: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "begun")
    content = table(200_000)
    (folder / "data.csv").write_bytes(content)
    bob = Drafter(Visitor(server.url, token))
    sha256 = hashlib.sha256(content).hexdigest()
    url = bob.announce(bob.begin("begun"), "data", "data.csv", len(content), sha256)
    assert bob.piece(url, 0, content[:1_500_000]).status == 204
    told = push(token, server.url, folder)
    uploads = [one["bytes"] for one in told if one["event"] == "upload"]
    assert (uploads[0], uploads[-1]) == (1_500_000, len(content))
    assert "Bring the model." in told[-1]["left"]


async def test_an_upload_outlives_a_connection_that_is_cut(
    server: Server, token: str, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "cut-off")
    (folder / "data.csv").write_bytes(table(320_000))
    async with cut_once(server.url, 2 * MIB) as (url, cuts):
        told = await asyncio.to_thread(push, token, url, folder)
    assert cuts == [True]
    uploads = [one["bytes"] for one in told if one["event"] == "upload"]
    # What came before the cut is not sent again.
    assert uploads == sorted(uploads)
    assert uploads[-1] == (folder / "data.csv").stat().st_size > 3 * MIB
    assert "Found " in next(one["text"] for one in reversed(told) if one["event"] == "log")


def test_what_cannot_be_pushed_is_refused_before_anything_is_sent(
    server: Server, token: str, tmp_path: Path
) -> None:
    bare = write_folder(tmp_path / "bare")
    wrong = write_folder(tmp_path / "wrong", coordination={**PLAN, "rounds": 0})
    pickle = write_folder(tmp_path / "pickle")
    (pickle / "model.pkl").write_bytes(b"\x80\x04.")
    cases = [
        (None, (str(bare),), "This needs an API token"),
        (token, (str(tmp_path / "nothing"),), "create one with `minga task new`"),
        (token, (str(bare), "--launch"), "Bring the model."),
        (token, (str(wrong),), "line 19: "),
        (token, (str(pickle), "--model", str(pickle / "model.pkl")), "a program and never opened"),
        (token, (str(bare), "--model", str(bare / "none.keras")), "There is no "),
    ]
    for said, words, sentence in cases:
        done = minga(said, "push", *words, "--to", server.url, home=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert sentence in done.stderr
    names = {
        one["name"] for one in Drafter(Visitor(server.url, token)).send("GET", "/api/drafts").json["drafts"]
    }
    assert names.isdisjoint({"bare", "wrong", "pickle"})


def test_tokens_are_read_from_a_file_that_is_ones_own(server: Server, ann: Visitor, tmp_path: Path) -> None:
    token = program(ann, "inspect").token
    file = tmp_path / "minga" / "tokens.toml"
    file.parent.mkdir()
    file.write_text(f'"{server.url}" = "{token}"\n"https://other.example" = "minga_x"\n', "utf-8")
    file.chmod(0o600)
    where = ("--server", server.url)
    # Of a task that is not open only those who may see it are told.
    shown = minga(None, "show", "tiny", "--json", *where, home=tmp_path)
    assert json.loads(shown.stdout)["name"] == "tiny", shown.stderr
    assert minga(None, "show", "tiny", *where).returncode == 2
    file.chmod(0o644)
    refused = minga(None, "show", "tiny", *where, home=tmp_path)
    assert (refused.returncode, f"chmod 600 {file}" in refused.stderr) == (2, True)


def test_an_earlier_version_becomes_the_newest_again(server: Server, ann: Visitor) -> None:
    token = program(ann, "manage").token
    done = minga(token, "restore", "tiny", "0", "--server", server.url)
    assert done.stdout == "tiny is at version 1, with the weights of version 0.\n", done.stderr
    refused = minga(token, "restore", "tiny", "7", "--server", server.url)
    assert (refused.returncode, "version 7" in refused.stderr) == (2, True)
