"""`minga task extend`, `start-over` and `fork`, run as owners run them, against a real server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.programs.program_process import Preload, run
from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("extending")
    write_task(folder / "tasks" / "tiny", rounds=3)
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    token = program(operator(server), "edit", "manage", "create").token
    assert token is not None
    return token


def minga(server: Server, token: str, *words: str) -> subprocess.CompletedProcess[str]:
    words = (*words, "--server", server.url)
    return run(Preload.SERVER, "backend", "task", *words, environment={"MINGA_TOKEN": token})


def test_a_plan_is_changed_from_a_terminal(server: Server, token: str) -> None:
    words = ("--rounds", "8", "--deadline", "30", "--learning-rate", "0.25", "--seconds", "900")
    extended = minga(server, token, "extend", "tiny", *words)
    assert extended.stdout == (
        "tiny is live: it continues now, up to version 8, at a learning rate of 0.25. A round lasts 30 "
        "seconds at most.\n"
    )
    told = json.loads(minga(server, token, "extend", "tiny", "--no-stop-rules", "--json").stdout)
    assert (told["changes"], told["rounds"]) == (["coordination.stop"], 8)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Say what changes"),
        (("--target", "accuracy"), "METRIC=VALUE"),
        (("--patience", "3", "--no-stop-rules"), "leave one out"),
        (("--from", "best"), "Only an ended task continues"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(
    server: Server, token: str, words: tuple[str, ...], sentence: str
) -> None:
    refused = minga(server, token, "extend", "tiny", *words)
    assert (bool(refused.returncode), sentence in refused.stderr) == (True, True)


def test_a_training_starts_over_only_when_that_is_meant(server: Server, token: str) -> None:
    minga(server, token, "stop", "tiny")
    refused = minga(server, token, "start-over", "tiny")
    assert (bool(refused.returncode), "Nothing changed" in refused.stderr) == (True, True)
    assert "tiny is live" in minga(server, token, "start-over", "tiny", "--yes", "--rounds", "2").stdout
    assert server.get("/api/tasks/tiny")["rounds"] == 2


def test_a_version_becomes_the_draft_of_another_task(server: Server, token: str) -> None:
    made = minga(server, token, "fork", "tiny", "tiny-two", "--from", "0")
    assert made.stdout.startswith(f"tiny-two is a draft now: {server.url}/drafts/")
