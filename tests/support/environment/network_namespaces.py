"""Machines in network namespaces on a bridge, with a test's speeds and faults.

Needs Linux, root, iproute2, and coturn for TURN. The creator of a `Network` closes it.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.support.timeouts import PATIENCE

SUBNET = "10.77.0"
HUB = f"{SUBNET}.254"
TURN_PORT = 3478
USER, PASSWORD, REALM = "minga", "between peers", "minga"
# The bridge knows no machine with this address, so frames to it are lost.
_NOWHERE = "02:00:00:00:00:01"
# The buffer of a shaped line before it drops packets: a tenth of a second.
_LATENCY, _BURST = "100ms", "32kb"


class Network:
    """`places` machines, and a hub: the bridge, which represents the internet's servers.

    Each machine sends and receives `mbit` million bits a second, or at full speed. `name` is the prefix of
    its namespaces.
    """

    def __init__(self, places: int, mbit: float | None = None, name: str = "t") -> None:
        self._name = f"{name}{secrets.token_hex(3)}"
        self._places = range(places)
        self._running: list[subprocess.Popen[bytes]] = []
        self._folder = tempfile.TemporaryDirectory(prefix="network-")
        try:
            self._make(mbit)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def address(self, place: int) -> str:
        """Returns the IPv4 address of a machine."""
        return f"{SUBNET}.{place + 1}"

    def start(
        self,
        place: int | None,
        command: Sequence[str | Path],
        stdin: int | None = subprocess.DEVNULL,
        stdout: int | None = None,
        stderr: int | None = None,
        environment: dict[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts a process on a machine, or on the hub without a place; `close` kills it."""
        process = subprocess.Popen(
            self.command(place, command),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=os.environ | (environment or {}),
        )
        self._running.append(process)
        return process

    def command(self, place: int | None, command: Sequence[str | Path]) -> list[str | Path]:
        """Returns the command that runs `command` on a machine or on the hub."""
        return ["ip", "netns", "exec", self._namespace(place), *command]

    def cut(self, place: int) -> None:
        """Blocks all traffic to and from this machine; the machine does not notice."""
        self._hub("link", "set", self._port(place), "nomaster")

    def mend(self, place: int) -> None:
        """Reconnects the machine."""
        self._hub("link", "set", self._port(place), "master", "bridge")

    def part(self, one: int, other: int) -> None:
        """Blocks traffic between the two, as between two NATs; both still reach all others."""
        for here, there in ((one, other), (other, one)):
            silent = ["lladdr", _NOWHERE, "nud", "permanent", "dev", "wire"]
            self._at(here, "neigh", "replace", self.address(there), *silent)

    def join(self, one: int, other: int) -> None:
        """Restores traffic between the two."""
        for here, there in ((one, other), (other, one)):
            self._at(here, "neigh", "del", self.address(there), "dev", "wire")

    def start_turn(self) -> None:
        """Runs coturn on the hub, at TURN_PORT: STUN for all, TURN for USER with PASSWORD."""
        folder = self._folder.name
        command = [
            *("turnserver", "-n", "--listening-ip", HUB, "--relay-ip", HUB),
            *("--listening-port", str(TURN_PORT), "--min-port", "50000", "--max-port", "50999"),
            *("--lt-cred-mech", "--user", f"{USER}:{PASSWORD}", "--realm", REALM, "--no-tls", "--no-dtls"),
            *(
                "--no-cli",
                "--log-file",
                f"{folder}/log",
                "--pidfile",
                f"{folder}/pid",
                "--userdb",
                f"{folder}/db",
            ),
        ]
        self.start(None, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(TURN_PORT)

    def wait_for(self, port: int, seconds: float = PATIENCE) -> None:
        """Waits until a process on the hub accepts TCP connections at `port`."""
        probe = f"import socket; socket.create_connection(('{HUB}', {port}), timeout=1).close()"
        end = time.monotonic() + seconds
        command = self.command(None, [sys.executable, "-c", probe])
        while subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
            if time.monotonic() > end:
                raise TimeoutError(f"Nothing listens at port {port} of the hub.")
            time.sleep(0.05)

    def close(self) -> None:
        """Kills all processes, and removes the namespaces."""
        for process in self._running:
            process.kill()
            process.wait()
        self._folder.cleanup()
        for place in (*self._places, None):
            subprocess.run(["ip", "netns", "del", self._namespace(place)], capture_output=True, check=False)

    def _make(self, mbit: float | None) -> None:
        _ip("netns", "add", self._namespace(None))
        self._hub("link", "add", "bridge", "type", "bridge", "forward_delay", "0")
        self._hub("address", "add", f"{HUB}/24", "dev", "bridge")
        for link in ("lo", "bridge"):
            self._hub("link", "set", link, "up")
        for place in self._places:
            namespace, port = self._namespace(place), self._port(place)
            _ip("netns", "add", namespace)
            _ip("-n", namespace, "link", "add", "wire", "type", "veth", "peer", "name", port, "netns",
                self._namespace(None))  # fmt: skip
            self._at(place, "address", "add", f"{self.address(place)}/24", "dev", "wire")
            for link in ("lo", "wire"):
                self._at(place, "link", "set", link, "up")
            self._hub("link", "set", port, "master", "bridge", "up")
            if mbit is not None:
                shaped = ["root", "tbf", "rate", f"{mbit}mbit", "burst", _BURST, "latency", _LATENCY]
                _run("tc", "-n", namespace, "qdisc", "add", "dev", "wire", *shaped)
                _run("tc", "-n", self._namespace(None), "qdisc", "add", "dev", port, *shaped)

    def _namespace(self, place: int | None) -> str:
        return f"{self._name}{'hub' if place is None else place}"

    def _port(self, place: int) -> str:
        return f"port{place}"

    def _hub(self, *words: str) -> None:
        _ip("-n", self._namespace(None), *words)

    def _at(self, place: int, *words: str) -> None:
        _ip("-n", self._namespace(place), *words)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
