"""A bundle of a few hundred bytes wants more memory than a machine has, and the system ends its peer."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.attacks.hungry_graphs import GRAPHS
from tests.support.timeouts import PATIENCE


@pytest.mark.parametrize("name", [*GRAPHS, "folded"])
def test_a_peer_refuses_a_graph_that_its_memory_does_not_hold(name: str) -> None:
    command = [sys.executable, "-m", "tests.support.attacks.hungry_graphs", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.startswith("refused: The graph predict needs "), done.stdout
    assert "this machine gives it 5.2 GiB; make the model or its batch smaller." in done.stdout
