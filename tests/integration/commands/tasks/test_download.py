"""`minga task download`, run as its users run it, against a real server."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.programs.program_process import Preload, run
from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("download")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as one:
        yield one


def download(server: Server, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    words = ("task", "download", "tiny", "--server", server.url, *words)
    return run(Preload.SERVER, "backend", *words, folder=folder)


def test_a_version_and_its_card_lie_beside_each_other(server: Server, tmp_path: Path) -> None:
    done = download(server, tmp_path, "--format", "npz", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    content = (tmp_path / "tiny-0.npz").read_bytes()
    assert (told["file"], told["card"], told["version"]) == ("tiny-0.npz", "tiny-0.md", 0)
    assert (told["sha256"], told["bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))
    assert (tmp_path / "tiny-0.md").read_text("utf-8").startswith("# Tiny, version 0")
    assert np.load(tmp_path / "tiny-0.npz")["dense/bias"].tolist() == [6.0, 7.0]
    again = download(server, tmp_path, "--format", "npz")
    assert again.returncode == 2
    assert "tiny-0.npz is there already; choose another name with --output." in again.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--format", "keras"), "Take npz or safetensors instead."),
        (("--format", "h5"), "A version comes as keras, saved-model"),
        (("--version", "4", "--format", "npz"), "There is no version 4; the newest is 0."),
    ],
)
def test_what_cannot_be_had_is_said_and_leaves_nothing_behind(
    words: tuple[str, ...], sentence: str, server: Server, tmp_path: Path
) -> None:
    done = download(server, tmp_path, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []
