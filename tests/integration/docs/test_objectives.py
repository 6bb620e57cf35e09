"""What docs/how-to/train-with-several-objectives.md tells people to do, done."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from backend.formats.task_file import parse_task
from tests.integration.docs.test_docs import ROOT, blocks, commands, minga, running
from tests.support.timeouts import HEAVY, PATIENCE

HOW_TO = ROOT / "docs/how-to/train-with-several-objectives.md"
# What is measured in each example; losses of one objective with one loss are the loss itself.
EXAMPLES = {
    "autoencoder": ["image_loss", "kl_divergence_to_normal_loss"],
    "adversarial": [
        "discriminator_loss",
        "discriminator_real_loss",
        "discriminator_fake_loss",
        "generator_loss",
    ],
    "siamese": [],
}
FIRST = "autoencoder"


def write_examples(folder: Path) -> None:
    paths = re.findall(r"^`(\w+/[\w.]+)`:$", HOW_TO.read_text("utf-8"), re.MULTILINE)
    scripts, tables = iter(blocks(HOW_TO, "python")), iter(blocks(HOW_TO, "toml"))
    for path in paths:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(next(scripts if path.endswith(".py") else tables), "utf-8")


def versions_of_the_finished_task(address: str) -> list[dict[str, Any]]:
    deadline = time.monotonic() + HEAVY
    while time.monotonic() < deadline:
        with urllib.request.urlopen(address, timeout=PATIENCE) as reply:
            phase = json.loads(reply.read())["phase"]
        if phase == "finished":
            with urllib.request.urlopen(f"{address}/versions", timeout=PATIENCE) as reply:
                versions: list[dict[str, Any]] = json.loads(reply.read())["versions"]
            if versions[-1]["evaluation"] is not None:
                return versions
        time.sleep(0.5)
    raise AssertionError("not finished in time")


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_model_of_an_example_trains_as_in_keras(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from converter.bundle.bundle_writer import write_bundle
    from converter.conversion_task import read_task
    from converter.sandbox.process_limits import Limits

    write_examples(tmp_path)
    folder = tmp_path / name
    parse_task(tomllib.loads((folder / "task.toml").read_text("utf-8")), name)
    monkeypatch.setattr(sys, "argv", ["build.py", str(folder)])
    runpy.run_path(str(folder / "build.py"))
    (folder / "bundle").mkdir()
    task = read_task(folder / "task.toml")
    manifest = write_bundle(folder / "model.keras", task, folder / "bundle", Limits())
    assert manifest["checked"]["worst"] <= 1e-4
    assert manifest["labels"] == []
    assert [metric["name"] for metric in manifest["metrics"]] == EXAMPLES[name]


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_built_served_and_trained_as_the_how_to_says(name: str, tmp_path: Path) -> None:
    write_examples(tmp_path)
    words = [shlex.split(command.replace(FIRST, name)) for command in commands(HOW_TO)]
    build, convert, shard, serve, join = (command[1:] for command in words)
    subprocess.run([sys.executable, *build], cwd=tmp_path, check=True, capture_output=True)
    minga(convert, tmp_path)
    minga(shard, tmp_path)
    serve[serve.index("--port") + 1] = "0"
    with running([*serve, "--data-dir", "data", "--json"], tmp_path) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        with running([word.replace("http://127.0.0.1:8000", url) for word in join], tmp_path):
            versions = versions_of_the_finished_task(f"{url}/api/tasks/{name}")
    first, last = (versions[number]["evaluation"] for number in (0, -1))
    assert list(last["metrics"]) == EXAMPLES[name]
    of = "discriminator_loss" if name == "adversarial" else None
    before, after = (one["metrics"][of] if of else one["loss"] for one in (first, last))
    assert after < 0.8 * before
