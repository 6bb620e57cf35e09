"""An owner has jobs write far more than was uploaded: shards of a vast array, and copies of them."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

from tests.support.environment.small_disk import small_disk
from tests.support.tasks.owner_files import zip_bytes
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator, program

MIB = 1 << 20
QUOTA_MIB = 8
NUMBERS = itertools.count(1)


def arrays(rows: int, zeros: bool = False) -> bytes:
    """Returns an .npz that unpacks to 12 bytes a row: a thousand times its size if of zeros, else fewer."""
    x = np.zeros((rows, 2), np.float32)
    if not zeros:
        x[::16, 0] = np.random.default_rng(0).random(len(x[::16]))
    content = io.BytesIO()
    np.savez_compressed(content, x=x, y=np.zeros(rows, np.int32))
    return content.getvalue()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("disk")
    write_task(folder / "tasks" / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_MAX_OWNER_MIB", str(QUOTA_MIB))
        patch.setenv("MINGA_MIN_FREE_MIB", "1")
        with running(folder / "tasks", folder / "data") as server:
            yield server


@pytest.fixture(scope="module")
def eve(server: Server) -> Drafter:
    return Drafter(program(operator(server), "create", "edit", "inspect"))


def draft_of(eve: Drafter, content: bytes) -> str:
    """Begins a draft with a converted model and these arrays."""
    clone = eve.send("POST", "/api/tasks/tiny/clone", {"name": f"eve-{next(NUMBERS)}"}).json
    draft = f"/api/drafts/{clone['id']}"
    task = clone["task"]
    task["data"] |= {"preprocess": {"kind": "array", "x": ["x"], "y": ["y"]}}
    assert eve.send("PATCH", draft, {"task": task}).status == 200
    eve.upload(draft, "data", "d.npz", content)
    return draft


def taken(place: Path) -> int:
    """Returns the bytes of all files below `place`."""
    return sum((Path(folder) / name).lstat().st_size for folder, _, names in os.walk(place) for name in names)


def visible(place: Path) -> list[str]:
    """Returns the names in `place` without those of files that are being written, to replace others."""
    return sorted(path.name for path in place.iterdir() if not path.name.startswith("."))


def drafts_of(server: Server) -> Path:
    return Path(server.words[server.words.index("--data-dir") + 1]) / "drafts"


def last_line(job: Any) -> str:
    text: str = job["log"][-1]["text"]
    return text


def test_shards_count_to_the_owners_quota(server: Server, eve: Drafter) -> None:
    draft = draft_of(eve, arrays(4_000_000))
    place = drafts_of(server) / draft.rpartition("/")[2]
    before, names = taken(place), visible(place)
    shown = eve.send("GET", draft).json
    job = eve.work(draft, "cut")
    assert taken(place) < before + MIB
    assert (job["state"], f"over {QUOTA_MIB} MiB" in last_line(job)) == ("failed", True), last_line(job)
    assert "Delete a draft or a task" in last_line(job)
    with urlopen(f"{server.url}/metrics", timeout=PATIENCE) as answer:
        assert 'minga_draft_jobs_total{kind="cut",outcome="over-quota"} 1.0' in answer.read().decode()
    # The draft is as before, but for the job and the shards that it would have replaced.
    assert visible(place) == names
    after = eve.send("GET", draft).json
    for key in ("task", "files", "model"):
        assert after[key] == shown[key]
    # There is room for as much as before.
    eve.upload(draft, "data", "d.npz", arrays(10_000))
    assert eve.work(draft, "cut")["state"] == "done"
    eve.send("DELETE", draft)


def test_an_array_that_unpacks_to_a_thousand_times_its_size_is_refused(eve: Drafter) -> None:
    content = arrays(2_000_000, zeros=True)
    assert len(content) < MIB // 20
    draft = draft_of(eve, content)
    for kind in ("look", "cut"):
        job = eve.work(draft, kind)
        assert (job["state"], "unpack to over 200 times" in last_line(job)) == ("failed", True), last_line(
            job
        )
    eve.send("DELETE", draft)


def test_copies_of_a_draft_count_what_jobs_made_of_it(server: Server, eve: Drafter) -> None:
    draft = draft_of(eve, arrays(200_000))
    job = eve.work(draft, "cut")
    assert job["state"] == "done", job
    answers = [eve.send("POST", f"{draft}/clone", {"name": f"copy-{n}"}) for n in range(6)]
    assert taken(drafts_of(server)) <= QUOTA_MIB * MIB
    assert [answer.status for answer in answers][-1] == 413
    for answer in (*answers, eve.send("GET", draft)):
        if answer.status < 300:
            eve.send("DELETE", f"/api/drafts/{answer.json['id']}")


def test_a_zip_of_unknown_length_counts_while_it_comes(server: Server, eve: Drafter) -> None:
    toml = eve.send("GET", f"{eve.begin('toml')}/task.toml").text.encode()
    content = zip_bytes({"task.toml": toml, "data.csv": b"a,b\n" + os.urandom(9 * MIB).hex().encode()})
    answer = eve.send("PUT", "/api/drafts/import", chunked(content), Content_Type="application/zip")
    assert answer.status == 413, answer.text
    assert taken(drafts_of(server)) < MIB


def chunked(content: bytes) -> Any:
    """Returns a body whose length is not announced."""
    return (content[start : start + MIB] for start in range(0, len(content), MIB))


def test_the_free_space_of_the_disk_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    monkeypatch.setenv("MINGA_MIN_FREE_MIB", "32")
    monkeypatch.setenv("MINGA_MAX_OWNER_MIB", "8192")
    with small_disk(tmp_path / "data", "64m") as disk, running(tmp_path / "tasks", disk) as server:
        eve = Drafter(program(operator(server), "create", "edit", "inspect"))
        draft = draft_of(eve, arrays(4_000_000))
        job = eve.work(draft, "cut")
        assert (job["state"], "disk is too full" in last_line(job)) == ("failed", True), last_line(job)
        assert "cannot be written" not in last_line(job)
        assert taken(disk / "drafts") < 2 * MIB
        # Honest owners and the records of tasks have room.
        assert eve.send("POST", "/api/drafts", {"name": "next"}).status == 201
