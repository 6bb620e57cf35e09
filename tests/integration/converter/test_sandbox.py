"""What a conversion cannot do, tried from inside: network, other programs, other files, other processes."""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from converter.sandbox import landlock, seccomp

# Runs shut in, after `confine`; tries each thing and prints the name of the error, or "done".
PROBE = """
import encodings.idna, json, os, socket, subprocess, sys, threading
from pathlib import Path
from converter.sandbox.confinement import confine
folder, model, port, user = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
if user != os.getuid():
    os.setresuid(user, user, user)
missing = confine([model], [folder])
def thread():
    one = threading.Thread(target=lambda: None)
    one.start()
    one.join()
def attempt(action):
    try:
        action()
    except (OSError, subprocess.SubprocessError) as error:
        return type(error).__name__
    return "done"
print(json.dumps({"missing": missing, "tried": {
    "connect": attempt(lambda: socket.create_connection(("127.0.0.1", port), timeout=5)),
    "unix socket": attempt(lambda: socket.socket(socket.AF_UNIX)),
    "write inside": attempt(lambda: (folder / "new").write_text("x")),
    "move inside": attempt(lambda: ((folder / "a").mkdir(), (folder / "new").rename(folder / "a" / "b"))),
    "write outside": attempt(lambda: (folder.parent / "outside").write_text("x")),
    "write the model": attempt(lambda: model.write_text("x")),
    "read the model": attempt(lambda: model.read_text()),
    "read outside": attempt(lambda: (folder.parent / "secret").read_text()),
    "read passwords": attempt(lambda: Path("/etc/passwd").read_text()),
    "read the parent's environment": attempt(lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes()),
    "signal the parent": attempt(lambda: os.kill(os.getppid(), 0)),
    "signal itself": attempt(lambda: os.kill(os.getpid(), 0)),
    "program": attempt(lambda: subprocess.run(["/bin/true"], check=True)),
    "fork": attempt(lambda: os.fork() or os._exit(0)),
    "thread": attempt(thread),
}}))
"""
FILES = {
    "write outside",
    "write the model",
    "read outside",
    "read passwords",
    "read the parent's environment",
}
CALLS = {"connect", "unix socket", "signal the parent", "program", "fork"}


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user may use, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def probe(place: Path, user: int) -> Any:
    folder = place / "folder"
    folder.mkdir()
    folder.chmod(0o777)
    for name in ("model", "secret"):
        (place / name).write_text("weights")
        (place / name).chmod(0o666)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        command = [sys.executable, "-c", PROBE, str(folder), str(place / "model"), port, str(user)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("user", sorted({os.getuid(), 65534 if os.getuid() == 0 else os.getuid()}))
def test_a_conversion_reaches_nothing_but_its_folder(place: Path, user: int) -> None:
    result = probe(place, user)
    tried = result["tried"]
    allowed = {"write inside", "move inside", "read the model", "signal itself", "thread"}
    assert {name: tried[name] for name in allowed} == dict.fromkeys(allowed, "done")
    if landlock.version() >= 2:
        assert {name: tried[name] for name in FILES} == dict.fromkeys(FILES, "PermissionError")
    if not result["missing"]:
        assert {tried[name] for name in CALLS} == {"PermissionError"}
    assert (place / "model").read_text() == "weights"


def test_a_filter_is_not_guessed_for_an_unknown_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "abacus")
    assert seccomp.restrict() is False
