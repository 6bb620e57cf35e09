"""What docs/how-to/average-among-peers.md tells people to do, done."""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
import subprocess
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest
from aioice.stun import TransactionFailed
from aioice.turn import create_turn_endpoint

from backend.formats.task_file import parse_task
from backend.formats.task_file.averaging import Averaging
from backend.server.mesh.ice_servers import IceServers
from tests.integration.docs.test_docs import ROOT, accuracy_of_the_finished_task, blocks, commands, running
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import free_port

HOW_TO = ROOT / "docs/how-to/average-among-peers.md"
EXAMPLE = "turn.example.org"


def test_the_tables_of_the_how_to_make_a_task_decentralized() -> None:
    table = tomllib.loads((ROOT / "models/digits/task.toml").read_text("utf-8"))
    plain, masked = (
        parse_task(table | tomllib.loads(text), "average-among-peers.md") for text in blocks(HOW_TO, "toml")
    )
    assert plain.coordination.decentralized
    assert plain.coordination.averaging == Averaging(group_size=8, precision="float16")
    assert masked.coordination.decentralized
    assert masked.security.masks


@pytest.mark.long
@pytest.mark.tensorflow
def test_two_peers_train_the_digits_among_themselves_as_the_how_to_says(tmp_path: Path) -> None:
    serve, join, *_ = (shlex.split(command)[1:] for command in commands(HOW_TO))
    serve[serve.index("--port") + 1] = "0"
    with ExitStack() as stack:
        server = stack.enter_context(running([*serve, "--data-dir", "data", "--json"], tmp_path))
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        join = [word.replace("http://127.0.0.1:8000", url) for word in join]
        for _ in range(2):
            stack.enter_context(running(join, tmp_path))
        assert accuracy_of_the_finished_task(f"{url}/api/tasks/digits") >= 0.9


@pytest.mark.requires("networks")
def test_the_turn_server_of_the_how_to_takes_the_passwords_that_peers_get(tmp_path: Path) -> None:
    (text,) = blocks(HOW_TO, "ini")
    port = free_port()
    secret = "a line of a file"  # noqa: S105 - known to the two ends of this test.
    lines = [line for line in text.splitlines() if not line.startswith(("listening-port", "static-auth"))]
    lines += [f"listening-port={port}", f"static-auth-secret={secret}", "listening-ip=127.0.0.1"]
    lines += ["relay-ip=127.0.0.1", f"pidfile={tmp_path}/pid", "log-file=stdout", "simple-log"]
    (tmp_path / "turnserver.conf").write_text("\n".join(lines))
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(["turnserver", "-c", tmp_path / "turnserver.conf"], stdout=log, stderr=log)
    try:
        await_listening(port)
        (turn,) = IceServers((f"turn:127.0.0.1:{port}",), secret=secret).servers(
            "0123456789abcdef", time.time()
        )
        assert asyncio.run(relayed_from(port, turn.username, turn.credential))
        with pytest.raises(TransactionFailed):
            asyncio.run(relayed_from(port, turn.username, "something else"))
    finally:
        process.terminate()
        process.wait(PATIENCE)
    said = (tmp_path / "log").read_text("utf-8")
    assert "Bad configuration format" not in said
    assert "Unknown" not in said


def await_listening(port: int) -> None:
    for _ in range(3000):
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the TURN server does not listen")


async def relayed_from(port: int, username: str, password: str) -> int:
    """The port that the TURN server opens for whoever knows the password."""
    transport, _ = await create_turn_endpoint(
        asyncio.DatagramProtocol, ("127.0.0.1", port), username, password
    )
    try:
        return int(transport.get_extra_info("sockname")[1])
    finally:
        transport.close()
