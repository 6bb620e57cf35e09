"""Trains a task to its end by real processes: `minga serve` and peers, on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.dense_task import ROOT

# Processes share the machine; each takes at most one core.
ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
}
POLL_SECONDS = 0.2
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Version:
    """A version of the model: its vector [P], the updates in it, and all examples up to it."""

    number: int
    accepted: int
    samples: int
    weights: NDArray[np.float32]


def minga(*arguments: str) -> str:
    """Runs a command of Minga and returns its output.

    Raises RuntimeError with the command's message if it fails.
    """
    command = [sys.executable, "-m", "backend", *arguments]
    process = subprocess.run(command, cwd=ROOT, env=os.environ | ONE_CORE, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"minga {arguments[0]} failed: {process.stderr.strip() or process.stdout.strip()}")
    return process.stdout


def train(
    tasks: Path, overrides: Sequence[str], folder: Path, seed: int, clients: int, every: int
) -> Iterator[Version]:
    """Runs the only task in the folder `tasks` with so many peers until it is finished.

    Yields every `every`-th version and the last during the run. Homes, logs and the server's data go into
    `folder`; the peers' identities follow from `seed`. Raises RuntimeError when one of them fails.
    """
    with ExitStack() as stack:
        url = stack.enter_context(serving(tasks, overrides, folder))["url"]
        peers = [stack.enter_context(joining(url, folder, seed, number)) for number in range(clients)]
        yield from _versions(url, peers, every)


@contextmanager
def serving(
    tasks: Path, overrides: Sequence[str], folder: Path, settings: Mapping[str, str] = NOTHING
) -> Iterator[dict[str, Any]]:
    """Serves the folder `tasks`; yields the server's report with its `url` and its `owner_link`.

    `settings` are variables of its environment. Raises RuntimeError where it does not serve the tasks.
    """
    arguments = ["serve", "--port", "0", "--json", "--tasks", str(tasks), "--data-dir", str(folder / "data")]
    arguments += [word for override in overrides for word in ("--set", override)]
    with _process(arguments, folder, "server", settings, subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"The server did not start: {(folder / 'server.log').read_text()}")
        listening: dict[str, Any] = json.loads(line)
        if listening["problems"]:
            raise RuntimeError(f"The server does not serve the task: {listening['problems']}")
        yield listening


@contextmanager
def joining(
    url: str,
    folder: Path,
    seed: int,
    number: int,
    flags: Sequence[str] = (),
    output: int | IO[str] = subprocess.DEVNULL,
    module: str = "backend",
) -> Iterator[subprocess.Popen[str]]:
    """Starts a peer with its own home; its token makes its shards and seeds reproducible.

    Its reports go to `output`. The Python `module` runs the command of Minga.
    """
    home = folder / f"peer-{number}"
    token = home / ".local" / "state" / "minga" / "token"
    token.parent.mkdir(parents=True)
    token.write_text(f"benchmark-of-federated-{seed}-{number}\n", "ascii")
    arguments = ["peer", "join", url, "--device", "cpu", "--json", "--cache-dir", str(home / "cache"), *flags]
    with _process(arguments, folder, home.name, {"HOME": str(home)}, output, module) as process:
        yield process


@contextmanager
def _process(
    arguments: list[str],
    folder: Path,
    name: str,
    environment: Mapping[str, str],
    output: int | IO[str],
    module: str = "backend",
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", module, *arguments]
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **ONE_CORE, **environment},
            stdout=output,
            stderr=log,
            text=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate()


def _versions(url: str, peers: list[subprocess.Popen[str]], every: int) -> Iterator[Version]:
    [task] = _get(f"{url}/api/tasks")["tasks"]
    last_version = samples = 0
    while last_version < task["rounds"]:
        time.sleep(POLL_SECONDS)
        if any(peer.poll() for peer in peers):
            raise RuntimeError("A peer gave up; its log says why.")
        for entry in _get(f"{url}/api/tasks/{task['name']}/versions")["versions"]:
            if entry["version"] <= last_version:
                continue
            last_version, samples = entry["version"], samples + entry["examples"]
            if last_version % every == 0 or last_version == task["rounds"]:
                with urllib.request.urlopen(f"{url}/blobs/{entry['weights']}") as answer:
                    weights = np.frombuffer(answer.read(), "<f4")
                yield Version(last_version, entry["accepted"], samples, weights)


def _get(address: str) -> Any:
    with urllib.request.urlopen(address) as answer:
        return json.load(answer)
