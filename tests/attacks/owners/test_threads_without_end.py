"""Code that a bug of a parser lets into the sandbox starts threads until the machine has none for others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Runs shut in, as a user who is not root, which no limit of processes binds.
PROGRAM = """
import os, sys, threading
from pathlib import Path
from converter.sandbox.confinement import confine
user = int(sys.argv[1])
if user != os.getuid():
    os.setresuid(user, user, user)
missing = confine([], [])
threading.stack_size(32 << 10)
started, end = 0, threading.Event()
try:
    while started < 2 * int(sys.argv[2]):
        threading.Thread(target=end.wait, daemon=True).start()
        started += 1
except RuntimeError:
    pass
print(started, flush=True)
os._exit(0)
"""
USER = 65534 if os.getuid() == 0 else os.getuid()
MOST = 256 + 16 * (os.cpu_count() or 1)


def started() -> int:
    """Returns how many threads code in the sandbox starts, up to twice as many as it may."""
    command = [sys.executable, "-c", PROGRAM, str(USER), str(MOST)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.fixture
def namespaces() -> None:
    """Skips the test where users have no namespaces of their own, or their kernel counts in all of them."""
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    allowed = Path("/proc/sys/user/max_user_namespaces")
    if release < (5, 17) or not allowed.is_file() or allowed.read_text().strip() == "0":
        pytest.skip("this kernel bounds no threads of a sandbox")


@pytest.mark.usefixtures("namespaces")
def test_code_in_the_sandbox_has_so_many_threads_at_most() -> None:
    assert MOST - 2 <= started() <= MOST


@pytest.mark.usefixtures("namespaces")
def test_other_processes_of_the_user_do_not_count() -> None:
    asleep = [subprocess.Popen(["sleep", "60"], user=USER if os.getuid() == 0 else None) for _ in range(50)]
    try:
        assert MOST - 2 <= started() <= MOST
    finally:
        for process in asleep:
            process.kill()
            process.wait()
