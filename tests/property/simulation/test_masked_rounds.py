"""Masked rounds on virtual time: clients drop out, the server is killed, and versions are plain means."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from backend.formats.task_file import TaskFile
from backend.numerics.masking.encoding import Encoding, error
from backend.protocols.secagg.terms import degree
from backend.server.privacy.privacy_budget import open_account
from backend.server.tasks.task import Task, load_task
from backend.simulation import clock
from backend.simulation.client_work import ClientBehaviour, Exit
from backend.simulation.clients import Traits
from backend.simulation.network import Pipe, SimulatedLine
from backend.simulation.synthetic_training import REACH, SyntheticTraining
from backend.simulation.world import World
from backend.stores.contracts import RoundRecord, VersionRecord
from backend.stores.embedded import Stores, open_stores
from tests.property.simulation.witnesses import Witness
from tests.support.tasks.tiny_task import OPS, train_everything, write_task
from tests.support.timeouts import HEAVY

CLIENTS, LEAST, CLIP = 10, 4, 1.0
MOST = 10_000
MASKED = ("security.aggregation=['masked']", f"security.masking.min_clients={LEAST}", "training.steps=3")
EXITS: tuple[Exit, ...] = ("crash", "loss", "leave")


@dataclass(frozen=True)
class Played:
    """What a run left behind; `weights` are each version's, `examples` what counts of a client in a round."""

    rounds: list[RoundRecord]
    versions: list[VersionRecord]
    weights: list[bytes]
    witness: Witness
    task: Task
    examples: dict[tuple[str, int], float]


@contextmanager
def stores_in(folder: Path) -> Iterator[Stores]:
    stores = open_stores(folder / "data")
    try:
        yield stores
    finally:
        asyncio.run(stores.close())


def play(
    folder: Path,
    *changes: str,
    churn: float = 0.0,
    seconds: float = 600.0,
    kills: int = 0,
    noised: bool = False,
) -> Played:
    """So many seconds of a task's rounds. Clients say with which probability they drop out of a plan."""
    plan: dict[str, Any] = {
        "rounds": 50,
        "min_available_clients": LEAST,
        "quorum": LEAST,
        "deadline": 20,
        "gather": 1,
    }
    path = write_task(folder / "tiny", zeros=True, **plan) / "task.toml"
    if noised:
        train_everything(path.parent)
    with stores_in(folder) as stores:
        task = asyncio.run(load_task(path, (*MASKED, *changes), frozenset(OPS), stores.blobs))
        return clock.run(_play(task, stores, churn, seconds, kills), lambda: 0.01)


async def _play(task: Task, stores: Stores, churn: float, seconds: float, kills: int) -> Played:
    run, witness = await stores.records.open_run(task.file.name, task.bundle.address), Witness()
    manifest = task.bundle.manifest
    account = await open_account(task.file, (), manifest.parameters.total, 1)
    coordination = msgspec.structs.replace(task.file.coordination, rounds=MOST)
    checkpoints = msgspec.structs.replace(task.file.checkpoints, keep_last=MOST)
    file: TaskFile = msgspec.structs.replace(task.file, coordination=coordination, checkpoints=checkpoints)
    task = replace(task, file=file)
    world = World(task, stores.records, stores.blobs, run, 100.0, witness.tap, witness, account)
    host = await world.open_server()
    for number in range(CLIENTS):
        random = Random(number)
        line = SimulatedLine(Pipe(1e6), Pipe(1e6), random.uniform(0.01, 0.1))
        traits = Traits(f"client-{number:020d}", "laptop", "browser", "simulated", 0.3, line)
        work = SyntheticTraining(manifest, (*task.shards.train, *task.shards.measured), 0)
        client = world.add_client(traits, work, partial(draw_behaviour, churn, random), random)
        asyncio.get_running_loop().call_later(random.random(), client.start)
    for _ in range(kills):
        await asyncio.sleep(seconds / (kills + 1) + 0.7)
        await world.kill_server()
        await asyncio.sleep(3.0)
        witness.life += 1
        host = await world.open_server()
    for _ in range(round(seconds / (kills + 1))):
        await asyncio.sleep(1.0)
        if host.phase == "finished":
            break
    await asyncio.sleep(3.0)
    await world.kill_server()
    versions = await stores.records.versions(run)
    weights = [await stores.blobs.read(one.weights, verify=True) for one in versions]
    examples = {
        (client.id, one.round): one.examples
        for client in world.clients
        for one in client.trainer.attempts
        if one.counted
    }
    return Played(await stores.records.rounds(run), versions, weights, witness, task, examples)


def draw_behaviour(churn: float, random: Random, busy: float) -> ClientBehaviour:
    if random.random() >= churn:
        return ClientBehaviour()
    unnoticed = random.choice([0.0, 5.0])
    return ClientBehaviour(
        random.choice(EXITS), random.uniform(0, busy), random.uniform(1.0, 20.0), unnoticed
    )


def means_of_pretended_updates(played: Played) -> None:
    """Nobody sent them in the open, and still each version is the one before and their mean."""
    manifest = played.task.bundle.manifest
    size, lives = manifest.parameters.total, played.witness.accepted
    step_before = np.frombuffer(played.weights[0], "<f4").astype(np.float64)
    for version, weights in zip(played.versions[1:], played.weights[1:], strict=True):
        if not version.accepted:
            # The server died when shares were revealed: they may have been for this version already.
            assert np.array_equal(np.frombuffer(weights, "<f4").astype(np.float64), step_before)
            continue
        life = max(life for life, number in lives if number == version.round)
        clients = lives[life, version.round]
        assert len(clients) == version.accepted >= LEAST
        drawn = [
            np.random.Generator(np.random.Philox([0, int(client, 16) + version.round])) for client in clients
        ]
        updates = [(one.random(size, np.float32) * 2 - 1) * np.float32(REACH) for one in drawn]
        after = np.frombuffer(weights, "<f4").astype(np.float64)
        # Who had too little time trained on fewer examples.
        examples = [played.examples[client, version.round] for client in clients]
        # Of a roster of all clients the steps are the coarsest.
        sharers = max(LEAST, degree(LEAST, "honest").threshold)
        encoding = Encoding(CLIENTS, size, 1, 32, CLIP, sharers=sharers)
        bound = error(encoding, len(clients), sum(examples) / max(played.examples.values()))
        mean = np.average(np.array(updates, np.float64), axis=0, weights=examples)
        off = np.abs(after - step_before - mean).max()
        assert off <= bound.worst + 1e-6 < REACH / 10
        step_before = after


def test_without_churn_every_round_makes_a_version_of_all(tmp_path: Path) -> None:
    played = play(tmp_path, seconds=120.0)
    assert len(played.rounds) >= 10
    assert {(one.outcome, one.accepted) for one in played.rounds[1:]} == {("version", CLIENTS)}
    means_of_pretended_updates(played)


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize(
    ("server", "bits"),
    [
        ("honest", 32),
        pytest.param("active", 20, marks=pytest.mark.long),
        pytest.param("active", 32, marks=pytest.mark.long),
        pytest.param("honest", 20, marks=pytest.mark.long),
    ],
)
def test_whoever_drops_out_and_whenever_the_server_dies_versions_are_plain_means(
    tmp_path: Path, server: str, bits: int
) -> None:
    changes = (f"security.masking.server='{server}'", f"security.masking.bits={bits}")
    played = play(tmp_path, *changes, churn=0.2, seconds=900.0, kills=3)
    outcomes = [one.outcome for one in played.rounds]
    assert outcomes.count("version") > 10
    assert "abandoned" in outcomes
    assert all(one.seconds <= 20.0 + 3 * 10.0 + 1.0 for one in played.rounds)
    if bits == 32:
        means_of_pretended_updates(played)


def test_where_more_than_a_third_drop_out_rounds_fail_and_say_for_want_of_what(tmp_path: Path) -> None:
    played = play(tmp_path, churn=0.6, seconds=1200.0)
    lost = [one for one in played.rounds if one.outcome == "abandoned"]
    assert len(lost) > len(played.rounds) / 3
    assert any(one.reason.endswith("clients exchanged shares, too few to mask.") for one in lost)
    means_of_pretended_updates(played)


DISTRIBUTED = ("privacy.mechanism='distributed'", "privacy.clip=1.0", "privacy.noise_multiplier=10.0")


@pytest.mark.long
def test_the_same_seed_makes_the_same_noise(tmp_path: Path) -> None:
    runs = [
        play(tmp_path / name, *DISTRIBUTED, seconds=60.0, churn=0.2, noised=True)
        for name in ("first", "again")
    ]
    first, again = runs
    assert len(first.versions) > 3
    assert first.versions == again.versions
    assert first.weights == again.weights
    assert np.frombuffer(first.weights[1], "<f4").std() > 10 * REACH


@pytest.mark.long
def test_a_privacy_budget_ends_the_task_in_the_round_in_which_it_is_spent(tmp_path: Path) -> None:
    played = play(tmp_path, *DISTRIBUTED, "privacy.epsilon=1.5", seconds=600.0, noised=True)
    # All are in every round: the task ends with the last that the curve of the accountant allows.
    manifest = played.task.bundle.manifest
    account = asyncio.run(open_account(played.task.file, (), manifest.parameters.total, 1))
    assert account is not None
    assert account.most is not None
    made = len(played.versions) - 1
    assert 1 < made == account.most
    assert (account.epsilon(made) or 9.0) <= 1.5 < (account.epsilon(made + 1) or 9.0)
