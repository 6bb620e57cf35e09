"""Work units among volunteers who die, come late and cheat: a real server, real sockets, real training.

Usage: python -m benchmarks.units.chaos [--clients N] [--sleepers N] [--epochs N] [--seconds S] [--json]

Half of the clients are cut off in the middle of a unit and never come back, a tenth return everything after
their deadline, a twentieth cheat: random weights, copied results, one step claimed as all, updates ten times
as long. Cheats lie from their first unit on, but for `--sleepers` of them, which are honest until they are
trusted. One client is the owner's, for spot checks. All train the gallery's digits with the real graphs, in
two processes. The run is over when so many epochs are closed, each cheat was caught, and every client that is
to die or to come late did; or after so many seconds. From the server's own record of results it then says
whether any row of the data is missing or twice in a closed epoch, and when the mean accuracy of one reached
the target.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import queue
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from backend.commands.build import build_task
from backend.settings import assets_folder
from backend.wire.client_id import client_id
from benchmarks.support.server_process import serving
from benchmarks.units.clients.chaos_clients import (
    Cheating,
    Coverage,
    Shares,
    characters,
    coverage,
    expected_units,
    kinds,
    means,
)
from benchmarks.units.clients.client_processes import WATCHED, Crowd, News
from benchmarks.units.clients.light_client import Character, new_token

PROCESSES = 2
NAME, MODEL = "chaos", "digits"
TARGET = 0.9
CHECKED, SPOT_CHECKS = 10, 0.02
EVERY = 0.5
TASK = """name = "chaos"
title = "Chaos"

[model]
file = "built/model.keras"
bundle = "built/bundle"
batch_size = 32
loss = "sparse_categorical_crossentropy"
metrics = ["accuracy"]
optimizer = {{ name = "adam", learning_rate = 0.005 }}

[data]
source = "shards"
shards = "built/shards"
preprocess = {{ kind = "array", scale = 0.0625 }}

[training]
epochs = 2

[coordination]
scheme = "volunteer"

[coordination.units]
epochs = 1000
rows = 50
lease = {lease}

[coordination.units.trust]
replicas = 2
checked = {checked}
spot_checks = {spot_checks}
trusted = ["{trusted}"]
"""


@dataclass(frozen=True)
class Plan:
    """A run with so many clients of these shares.

    It lasts until `epochs` are closed and all cheats are caught, or `seconds` have passed.
    """

    clients: int = 200
    shares: Shares = field(default_factory=Shares)
    sleepers: int = 2
    epochs: int = 20
    checked: int = CHECKED
    lease: float = 30.0
    seconds: float = 1200.0
    seed: int = 1


@dataclass(frozen=True)
class Report:
    """The results of one run.

    `came_late` counts the results of late clients, of which some counted. `honest_rejected` counts results of
    honest clients that were judged false; it should be 0. `honest_unused` counts those that were no longer
    needed or could not be compared. `accuracies` are the means of the closed epochs; the target was first
    reached in `target_epoch`.
    """

    clients: int
    killed: int
    late: int
    cheats: int
    seconds: float
    units_given: int
    coverage: Coverage
    came_late: int
    late_counted: int
    honest_results: int
    honest_rejected: int
    honest_unused: int
    banned: int
    cheating: list[Cheating]
    target: float
    target_epoch: int | None
    accuracies: dict[int, float]


def measure(plan: Plan) -> Report:
    """Runs the plan."""
    clients = characters(plan.clients, plan.shares, plan.sleepers, plan.checked, plan.seed)
    awaited = {
        "caught": sum(bool(client.lie) for client in clients),
        "died": sum(client.dies_at > 0 for client in clients),
        "late": sum(client.late for client in clients),
    }
    owner = new_token()
    with tempfile.TemporaryDirectory() as folder:
        _write_task(Path(folder, "tasks", NAME), plan, client_id(owner))
        with serving(Path(folder)) as (_, address):
            events: News = queue.Queue()
            parts = [clients[first::PROCESSES] for first in range(PROCESSES)]
            # The owner's client is an additional, honest one in the first process.
            parts[0] = [Character(), *parts[0]]
            crowds = [Crowd(address, NAME, part, Path(folder, "cache"), events) for part in parts]
            began = time.monotonic()
            try:
                for number, (crowd, part) in enumerate(zip(crowds, parts, strict=True)):
                    tokens = [new_token() for _ in part]
                    crowd.begin([owner, *tokens[1:]] if number == 0 else tokens)
                closed = _watch(address, plan, awaited, events, began)
                seconds = time.monotonic() - began
                diaries = [diary for crowd in crowds for diary in crowd.end()]
            finally:
                for crowd in crowds:
                    crowd.kill()
            results = _results(address)
            shards = json.loads(Path(folder, "tasks", NAME, "built/shards/shards.json").read_text())
    rows = [client["examples"] for client in shards["train"]]
    return _report(plan, diaries, results, coverage(results, rows, closed), closed, seconds)


def _write_task(folder: Path, plan: Plan, trusted: str) -> None:
    model = assets_folder() / "models" / MODEL
    build_task(model)
    shutil.copytree(model / "built", folder / "built")
    content = TASK.format(lease=plan.lease, checked=plan.checked, spot_checks=SPOT_CHECKS, trusted=trusted)
    (folder / "task.toml").write_text(content, "utf-8")


def _watch(address: str, plan: Plan, awaited: dict[str, int], events: News, began: float) -> int:
    """Waits until enough epochs are closed and each event occurred as often as `awaited`.

    Returns the number of closed epochs then, or when the time is over.
    """
    clients_by_event = {event: set[str]() for event in WATCHED}
    while True:
        with suppress(queue.Empty):
            while True:
                event, client = events.get_nowait()
                clients_by_event[event].add(client)
        closed: int = _get(address, f"/api/tasks/{NAME}")["round"] - 1
        over = closed >= plan.epochs and all(
            len(clients_by_event[event]) >= count for event, count in awaited.items()
        )
        if over or time.monotonic() - began > plan.seconds:
            return closed
        time.sleep(EVERY)


def _results(address: str) -> list[dict[str, Any]]:
    with urlopen(f"http://{address}/api/tasks/{NAME}/figures/assimilations.csv", timeout=600) as answer:
        rows = list(csv.DictReader(io.StringIO(answer.read().decode())))
    integer_columns = ("epoch", "shard", "first", "examples", "first step")
    return [
        {
            **{name: int(row[name]) for name in integer_columns},
            "accuracy": float(row["held-out accuracy"]) if row.get("held-out accuracy") else None,
        }
        for row in rows
    ]


def _get(address: str, path: str) -> Any:
    with urlopen(f"http://{address}{path}", timeout=600) as answer:
        return json.loads(answer.read())


def _report(
    plan: Plan,
    diaries: list[dict[str, Any]],
    results: list[dict[str, Any]],
    covered: Coverage,
    closed: int,
    seconds: float,
) -> Report:
    honest = [one for one in diaries if not one["character"]["lie"]]
    late = [one for one in diaries if one["character"]["late"]]
    accuracies = means(results, closed)
    target_epoch = next((epoch for epoch, mean in accuracies.items() if mean >= TARGET), None)
    return Report(
        clients=plan.clients,
        killed=sum(one["died"] for one in diaries),
        late=len(late),
        cheats=len(diaries) - len(honest),
        seconds=round(seconds, 1),
        units_given=sum(one["units"] for one in diaries),
        coverage=covered,
        came_late=sum(one["late"] for one in late),
        late_counted=sum(len(one["counted"]) for one in late),
        honest_results=sum(len(one["counted"]) + len(one["rejected"]) for one in honest),
        honest_rejected=sum(len(one["rejected"]) for one in honest),
        honest_unused=sum(len(one["unused"]) for one in honest),
        banned=sum(one["closed"] == "banned" for one in honest),
        cheating=kinds(diaries, expected_units(plan.checked, SPOT_CHECKS)),
        target=TARGET,
        target_epoch=target_epoch,
        accuracies={epoch: round(mean, 4) for epoch, mean in accuracies.items()},
    )


def main() -> None:
    """Prints one report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.units.chaos", description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--sleepers", type=int, default=2, help="cheats that are honest at first; default 2")
    parser.add_argument("--epochs", type=int, default=20, help="to be closed at least; default 20")
    parser.add_argument("--seconds", type=float, default=1200.0, help="at most; default 1200")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    plan = Plan(
        clients=options.clients, sleepers=options.sleepers, epochs=options.epochs, seconds=options.seconds
    )
    report = asdict(measure(plan))
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name:16} {value}")


if __name__ == "__main__":
    main()
