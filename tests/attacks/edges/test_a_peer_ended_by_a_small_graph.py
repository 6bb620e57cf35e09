"""A bundle of a few hundred bytes wants more memory than a machine has, and the system ends its peer."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.attacks.hungry_graphs import GRAPHS
from tests.support.timeouts import PATIENCE

NAMES = (*GRAPHS, "folded")


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What a peer says of each graph; those for which its process was ended, and later ones, are missing."""
    command = [sys.executable, "-m", "tests.support.attacks.hungry_graphs", *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    return {name: sentence for name, _, sentence in lines}


@pytest.mark.parametrize("name", NAMES)
def test_a_peer_refuses_a_graph_that_its_memory_does_not_hold(name: str, said: dict[str, str]) -> None:
    assert name in said, f"the peer was ended after {list(said)}"
    assert said[name].startswith("refused: The graph predict needs ")
    assert "this machine gives it 5.2 GiB; make the model or its batch smaller." in said[name]
