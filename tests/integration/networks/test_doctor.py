"""`minga peer doctor` on machines of a network with a real server and coturn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment.network_namespaces import HUB, PASSWORD, TURN_PORT, USER, Network
from tests.support.tasks.tiny_task import write_mesh
from tests.support.timeouts import HEAVY, PATIENCE

pytestmark = pytest.mark.requires("networks")
ICE = {
    "MINGA_ICE_SERVERS": f"stun:{HUB}:{TURN_PORT},turn:{HUB}:{TURN_PORT}?transport=udp",
    "MINGA_TURN_USERNAME": USER,
}


def examine(network: Network, *flags: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """What the doctor says on the first machine, by what it is about; and its exit code."""
    command = [sys.executable, "-m", "backend", "peer", "doctor", f"http://{HUB}:8000", "--json", *flags]
    process = network.start(0, command, stdout=subprocess.PIPE)
    output, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, {one["about"]: one for one in json.loads(output)["findings"]}


@pytest.mark.timeout(HEAVY)
def test_the_doctor_tells_what_a_network_allows(tmp_path: Path) -> None:
    write_mesh(tmp_path / "tasks" / "tiny")
    serve = [sys.executable, "-m", "backend", "serve", "--host", HUB, "--port", "8000"]
    serve += ["--data-dir", str(tmp_path / "data"), "--tasks", str(tmp_path / "tasks")]
    with Network(1) as network:
        (tmp_path / "password").write_text(PASSWORD)
        ice = ICE | {"MINGA_TURN_PASSWORD_FILE": str(tmp_path / "password")}
        network.start(None, serve, stdout=subprocess.DEVNULL, environment=ice)
        network.wait_for(8000)
        # Nobody answers STUN yet.
        code, told = examine(network, "--listen", f"{network.address(0)}:7000")
        assert code == 0
        assert told["listen"]["good"]
        assert not told["stun"]["good"]
        assert not told["turn"]["good"]
        assert not told["webrtc"]["good"]
        network.start_turn()
        code, told = examine(network, "--listen", "0.0.0.0:7000", "--address", f"ws://{HUB}:7000")
        assert code == 1
        assert told["listen"]["good"] is False
        assert all(told[one]["good"] for one in ("server", "stun", "turn", "webrtc", "relay"))
        assert network.address(0) in told["stun"]["text"]
