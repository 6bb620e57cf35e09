"""What `minga peer` says to flags that cannot be used, and whom it lets in."""

from __future__ import annotations

import argparse
import importlib.util
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.commands import peer
from backend.errors import PeerError
from tests.integration.commands.command_runner import facts, minga
from tests.support.tasks.tiny_task import write_mesh
from tests.support.web.server_process import running
from tests.support.web.visitors import operator


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nobody listens; the port is taken, so that nobody else comes to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--listen", "9000"], "'9000' is no HOST:PORT, like 192.0.2.7:9000"),
        (["--listen", "127.0.0.1:99999"], "'127.0.0.1:99999' is no HOST:PORT"),
        (["--address", "http://example.org"], "'http://example.org' is no address like wss://"),
        (["--address", "ws://192.0.2.7:9000"], "give --listen HOST:PORT too"),
        (["--transport", "pigeons"], "invalid choice: 'pigeons'"),
    ],
)
def test_flags_of_a_mesh_that_make_no_sense_are_told_with_an_example(flags: list[str], sentence: str) -> None:
    done = minga("peer", "join", "http://127.0.0.1:9", *flags)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.parametrize(("exact", "extra"), [(True, "exact"), (False, "peer")])
def test_a_peer_without_its_packages_names_the_extra_that_has_them(
    exact: bool, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(PeerError, match=rf"run `pip install 'minga\[{extra}\]'`"):
        peer.run(argparse.Namespace(exact=exact))


def test_an_invitation_lets_the_doctor_into_a_task_that_is_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mesh(tmp_path / "tasks" / "tiny")
    monkeypatch.setenv("HOME", str(tmp_path))
    flags = ("--set", "tiny.access.visibility=invited")
    with running(tmp_path / "tasks", tmp_path / "data", *flags) as server:
        invited = operator(server).ask("POST", "/api/tasks/tiny/invitations", {"uses": 1})
        refused = minga("peer", "doctor", f"{server.url}/tasks/tiny")
        assert (refused.returncode, "There is no task 'tiny'" in refused.stderr) == (2, True)
        # The second time it is known: one use is enough.
        for _ in range(2):
            found = facts("peer", "doctor", invited["address"])["findings"]
            assert found[0]["about"] == "server"
            assert found[0]["good"]


@pytest.mark.parametrize("path", ["", "/tasks/digits", "/join#an-invitation"])
def test_a_peer_whose_server_never_answers_tries_for_as_long_as_it_was_told(
    nobody: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = minga("peer", "join", nobody + path, "--give-up-after", "2", "--json")
    news = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["event"] for one in news} == {"offline"}
    away = f"{nobody} does not answer (All connection attempts failed)."
    for one in news:
        assert one["message"].startswith(f"{away} Trying again in ")
        assert one["message"].endswith(" s; check the address if this continues.")
    # The last attempt is made when the time is over, and not after it.
    assert sum(one["seconds"] for one in news) < 2.01
    assert done.returncode == 2
    assert done.stderr == (
        f"minga: {away} This peer gives up after 2 s. Check the address, or ask the server's "
        f"operator, and join again when it answers.\n"
    )
