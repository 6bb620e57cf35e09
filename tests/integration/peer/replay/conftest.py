from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.peer.replay.replayed_units import STEPS
from tests.integration.peer.units.digits_units import write_digits
from tests.support.web.server_process import Server, running


@pytest.fixture(scope="module")
def server(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of digits whose units have many steps."""
    folder = tmp_path_factory.mktemp("replay")
    task = write_digits(digits, folder / "digits", "epochs = 1")
    file = task / "task.toml"
    text = file.read_text("utf-8")
    file.write_text(text.replace("[training]\nepochs = 1", f"[training]\nsteps = {STEPS}"), "utf-8")
    with running(task, folder / "data") as server:
        yield server
