"""What the documentation tells people to do, done."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from structlog.testing import capture_logs

from backend.__main__ import _parser
from backend.errors import MingaError
from backend.formats.task_file import parse_task
from backend.formats.task_file.hooks import Hooks
from backend.formats.task_file.reading.hints import FLOWER
from backend.formats.task_file.server_optimizer import FedAdam
from backend.server.estimates.devices import PLACES, DeviceRates, Range
from backend.server.observers.hooks import RoundEndHook
from backend.server.observers.task_events import RoundEnded, VersionEvaluated
from backend.stores.contracts import EvaluationRecord
from tests.support.store_contracts.records import FIRST, ROUND
from tests.support.tasks.small_datasets import image_folder
from tests.support.timeouts import HEAVY, PATIENCE

ROOT = Path(__file__).parents[3]
MINGA = Path(sys.executable).with_name("minga")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOW_TO = ROOT / "docs/how-to/bring-a-model.md"
DISCO = ROOT / "docs/how-to/coming-from-disco.md"
FLOWERS = ROOT / "docs/how-to/coming-from-flower.md"
HOOKS = ROOT / "docs/how-to/run-a-command-after-each-round.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line.split(" #")[0].strip() for line in lines if line.strip() and not line.startswith("#")]


COMMANDS = sorted({command for page in PAGES for command in commands(page)})


@pytest.mark.parametrize("command", [c for c in COMMANDS if Path(shlex.split(c)[0]).name == "minga"])
def test_every_minga_command_of_the_docs_is_understood(command: str) -> None:
    words = shlex.split(command)[1:]
    _parser(words).parse_args(words)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make ")])
def test_every_make_target_of_the_docs_exists(command: str) -> None:
    words = [word for word in shlex.split(command)[1:] if "=" not in word]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(words) <= set(targets)


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_index_leads_to_every_page() -> None:
    linked = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "docs/README.md").read_text("utf-8"))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*/*.md")}
    assert {page for page in pages if not page.startswith("decisions/")} <= set(linked)


@pytest.mark.parametrize(("accuracy", "reasons"), [(0.5, []), (0.98, ["Version 1 is good enough."])])
async def test_the_command_of_the_how_to_ends_a_task_that_is_good_enough(
    tmp_path: Path, accuracy: float, reasons: list[str]
) -> None:
    (table,) = [tomllib.loads(text)["hooks"] for text in blocks(HOOKS, "toml")]
    hooks = msgspec.convert(table, Hooks)
    assert hooks.on_round_end == ["python", "after_round.py"]
    (script,) = blocks(HOOKS, "python")
    (tmp_path / "after_round.py").write_text(script, "utf-8")
    given: list[str] = []

    async def stop(reason: str) -> None:
        given.append(reason)

    hook = RoundEndHook(Hooks([sys.executable, hooks.on_round_end[1]]), tmp_path, stop)
    with capture_logs() as lines:
        task = asyncio.create_task(hook.run())
        hook.notice("digits", VersionEvaluated(EvaluationRecord(1, 0.1, {"accuracy": accuracy})))
        hook.notice("digits", RoundEnded(ROUND, FIRST))
        for _ in range(3000):
            await asyncio.sleep(0.1)
            if lines:
                break
        task.cancel()
    assert given == reasons, lines


def test_the_task_file_for_flowers_users_is_one_and_says_what_it_is_told_to() -> None:
    (text,) = blocks(FLOWERS, "toml")
    task = parse_task(tomllib.loads(text), "coming-from-flower.md")
    assert task.coordination.server_optimizer == FedAdam()
    assert (task.coordination.rounds, task.coordination.fraction_train) == (10, 0.5)


def test_the_table_for_flowers_users_gives_the_names_that_a_task_file_hints_at() -> None:
    rows = [line.split("|") for line in FLOWERS.read_text("utf-8").splitlines() if line.startswith("| ")]
    ours = {name: row[3] for row in rows for name in re.findall(r"`([\w-]+)`", row[1])}
    listed = FLOWER.keys() & ours.keys()
    assert len(listed) >= 12
    for name in listed:
        assert all(word in ours[name] for word in FLOWER[name].split(" in ")), name


def test_the_task_file_for_discos_users_is_one_and_its_table_names_keys_that_there_are() -> None:
    (text,) = blocks(DISCO, "toml")
    task = parse_task(tomllib.loads(text), "coming-from-disco.md")
    assert (task.data.source, task.coordination.rounds, task.training.epochs) == ("volunteer", 10, 2)
    rows = [line.split("|")[2] for line in DISCO.read_text("utf-8").splitlines() if line.startswith("| ")]
    named = re.findall(r"`(model|data|training|coordination)\.(\w+)`", "".join(rows))
    assert len(named) >= 10
    for table, key in named:
        assert hasattr(getattr(task, table), key), f"{table}.{key}"


def _leaves(tree: type[MingaError]) -> set[type[MingaError]]:
    return {tree}.union(*(_leaves(leaf) for leaf in tree.__subclasses__()))


def test_every_error_is_documented_with_its_status() -> None:
    text = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    documented = re.findall(r"^\| `([\w-]+)` \| (\d+) \|", text, re.MULTILINE)
    assert {(code, int(status)) for code, status in documented} == {
        (leaf.code, leaf.http_status)
        for leaf in _leaves(MingaError)
        if leaf.__module__.startswith("backend.errors.")
    }


TASK = ROOT / "docs/tutorial/your-first-task.md"


@pytest.mark.long
@pytest.mark.tensorflow
def test_a_first_task_is_made_and_served_as_the_tutorial_says(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    new, entitle, build, inspect, serve, _join = commands(TASK)
    minga(shlex.split(new)[1:], checkout)
    subprocess.run(shlex.split(entitle), cwd=checkout, check=True)
    minga(shlex.split(build)[1:], checkout)
    minga(shlex.split(inspect)[1:], checkout)
    with running([*shlex.split(serve)[1:], "--port", "0", "--json"], checkout) as server:
        assert server.stdout is not None
        report = json.loads(server.stdout.readline())
        assert [task["name"] for task in report["tasks"]] == ["my-digits"]
        with urllib.request.urlopen(f"{report['url']}/tasks/my-digits", timeout=PATIENCE) as page:
            assert "My digits" in page.read().decode()


def test_the_rates_of_every_device_are_documented() -> None:
    text = (ROOT / "docs/reference/inspect.md").read_text("utf-8")
    documented = re.findall(r"^\| (phone|laptop|gpu) \| (.*) \|$", text, re.MULTILINE)
    assert [(device, cells.split(" | ")) for device, cells in documented] == [
        (
            place.device.name,
            [
                place.backend,
                *(f"{low:g} to {high:g}" for low, high in _ranges(place.rates)),
                place.rates.basis,
            ],
        )
        for place in PLACES
    ]


def _ranges(rates: DeviceRates) -> tuple[Range, ...]:
    return rates.gflops, rates.gigabytes, rates.op_us


LAYERS = """
import keras


class Doubling(keras.layers.Layer):
    def call(self, x):
        return 2.0 * x
"""
MODEL = """
import keras
from layers import Doubling
model = keras.Sequential([keras.Input((13,)), Doubling(), keras.layers.Dense(3, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.save("model.keras")
"""


@pytest.mark.long
@pytest.mark.tensorflow
def test_bringing_ones_own_model_works_as_the_how_to_says(tmp_path: Path) -> None:
    task = tmp_path / "wine"
    task.mkdir()
    (task / "task.toml").write_text(blocks(HOW_TO, "toml")[0], "utf-8")
    (task / "build.py").write_text(blocks(HOW_TO, "python")[0], "utf-8")
    build, serve, join, inspect, convert, custom = (shlex.split(c)[1:] for c in commands(HOW_TO))
    minga(build, tmp_path)
    minga(inspect, tmp_path)
    minga(convert, tmp_path)
    assert (tmp_path / "bundle/bundle.json").exists()
    (tmp_path / "layers.py").write_text(LAYERS)
    subprocess.run([sys.executable, "-c", MODEL], cwd=tmp_path, check=True, capture_output=True)
    minga([*custom[:-1], "custom"], tmp_path)
    assert (tmp_path / "custom/bundle.json").exists()
    serve[serve.index("--port") + 1] = "0"
    with running([*serve, "--data-dir", "data", "--json"], tmp_path) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        join = [word.replace("http://127.0.0.1:8000", url) for word in join]
        with running(join, tmp_path):
            assert accuracy_of_the_finished_task(f"{url}/api/tasks/wine") >= 0.9


def minga(arguments: list[str], folder: Path) -> None:
    run = subprocess.run([MINGA, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stdout + run.stderr


@contextmanager
def running(arguments: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([MINGA, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def accuracy_of_the_finished_task(address: str) -> float:
    # A whole training, on a machine that does other things as well.
    deadline = time.monotonic() + HEAVY
    task: dict[str, Any] = {}
    while time.monotonic() < deadline:
        with urllib.request.urlopen(address, timeout=PATIENCE) as reply:
            task = json.loads(reply.read())
        if task["phase"] == "finished":
            with urllib.request.urlopen(f"{address}/versions", timeout=PATIENCE) as reply:
                last = json.loads(reply.read())["versions"][-1]
            if last["evaluation"] is not None:
                return float(last["evaluation"]["metrics"]["accuracy"])
        time.sleep(0.5)
    raise AssertionError(f"not finished in time: {task}")


DATA = ROOT / "docs/how-to/prepare-data.md"


@pytest.mark.long
def test_data_are_prepared_as_the_how_to_says(tmp_path: Path) -> None:
    image_folder(tmp_path / "photos", each=60)
    rows = "".join(f"{20 + n},{('male', 'female')[n % 2]},{'SCQ'[n % 3]},{n % 2}\n" for n in range(40))
    (tmp_path / "passengers.csv").write_text(f"Age,Sex,Embarked,Survived\n,male,,0\n{rows}")
    (tmp_path / "plays.txt").write_text("To be, or not to be.\n" * 100)
    np.savez(tmp_path / "arrays.npz", x=np.zeros((9, 2)), y=np.arange(9) % 2)
    (tmp_path / "task.toml").write_text(blocks(DATA, "toml")[0], "utf-8")
    for command in commands(DATA):
        minga(shlex.split(command)[1:], tmp_path)
    folders = {path.parent.name for path in tmp_path.glob("*/shards.json")}
    assert folders == {"photo-shards", "shards", "play-shards", "array-shards", "alike", "uneven"}
