"""What docs/how-to/train-by-work-units.md tells people to do, done."""

from __future__ import annotations

import json
import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.docs.test_docs import HOW_TO as OWN_MODEL_HOW_TO
from tests.integration.docs.test_docs import (
    MINGA,
    ROOT,
    accuracy_of_the_finished_task,
    blocks,
    commands,
    minga,
    running,
)
from tests.support.timeouts import PATIENCE

HOW_TO = ROOT / "docs/how-to/train-by-work-units.md"


def said(arguments: list[str], folder: Path, url: str) -> str:
    """What a command prints that asks the server at `url`."""
    run = subprocess.run(
        [MINGA, *arguments, "--server", url], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.long
@pytest.mark.tensorflow
def test_ones_own_model_is_trained_by_work_units_as_the_how_to_says(tmp_path: Path) -> None:
    task = tmp_path / "wine"
    task.mkdir()
    (task / "task.toml").write_text(blocks(HOW_TO, "toml")[0], "utf-8")
    (task / "build.py").write_text(blocks(OWN_MODEL_HOW_TO, "python")[0], "utf-8")
    build, check, serve, join, again, alone, log, cost = (shlex.split(c)[1:] for c in commands(HOW_TO))
    minga(build, tmp_path)
    minga(check, tmp_path)
    for command, peers in ((serve, (join, again)), (alone, (join,))):
        command[command.index("--port") + 1] = "0"
        with ExitStack() as stack:
            data = f"data-{len(peers)}"
            server = stack.enter_context(running([*command, "--data-dir", data, "--json"], tmp_path))
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            for peer in peers:
                words = [word.replace("http://127.0.0.1:8000", url) for word in peer]
                stack.enter_context(running(words, tmp_path))
            assert accuracy_of_the_finished_task(f"{url}/api/tasks/wine") >= 0.9
            epochs = said(log, tmp_path, url)
            assert f"7 units by {len(peers)} client" in epochs
            assert "epoch 10" in epochs
            assert "epoch" in said(cost, tmp_path, url)
