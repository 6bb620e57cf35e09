"""Peers that are killed in the middle of a unit and continue it, with the result of one that was not."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from msgspec.structs import replace

from backend.peer.data.blob_cache import BlobCache
from backend.peer.training import training_state
from backend.peer.training.control_variates import Variates
from backend.peer.training.step import Vector, never
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from backend.peer.training.trainer import TrainingPlan, TrainingResult
from backend.peer.training.training_jobs import TrainingJobs
from backend.peer.training.training_state import StateSaver, TrainingState
from backend.peer.units.checkpoint_folder import CheckpointFolder
from backend.peer.units.unit_checkpoint import UnitOwner
from backend.peer.units.unit_trainer import UnitTrainer, UnitWork
from backend.wire.unit_messages import Unit
from tests.integration.peer.conftest import BlobServer
from tests.integration.peer.units.digits_units import EXAMPLES, recorded, serving
from tests.integration.peer.units.test_shutdown import WHOLE, plan
from tests.integration.peer.units.test_unit_trainer import Site
from tests.support.peer.peer_process import Peer, joined
from tests.support.peer.update_witness import share_done
from tests.support.timeouts import HEAVY, eventually

pytestmark = pytest.mark.tensorflow

PLAN = TrainingPlan(epochs=3, learning_rate=0.01, seed=7, batch_size=16, first_step=1, proximal_mu=0.1)


@pytest.fixture(autouse=True)
def each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of each step is saved, however long that takes."""
    monkeypatch.setattr(training_state, "LEAST_SHARE", 0.0)


@pytest.fixture
def site(digits: Path, blob_server: BlobServer) -> Site:
    return Site(digits, blob_server)


def trained(site: Site, saver: StateSaver | None) -> TrainingResult:
    return site.trainer.train(site.weights, PLAN, site.examples, never, lambda _: None, saver)


def test_a_continued_training_has_the_bits_of_an_uninterrupted_one(site: Site) -> None:
    alone = trained(site, None)
    states: list[TrainingState] = []
    assert trained(site, StateSaver(0.0, states.append)).update.tobytes() == alone.update.tobytes()
    assert [state.steps for state in states] == list(range(1, alone.planned))
    for state in states[:: alone.planned // 3]:
        assert state.fits(site.trainer._manifest)
        again = trained(site, StateSaver(1000.0, states.append, state))
        assert again.update.tobytes() == alone.update.tobytes()
        for name in ("examples", "steps", "planned", "loss", "sums"):
            assert getattr(again, name) == getattr(alone, name)


class Machine:
    """One machine's folders, on which one process of a peer runs after the other."""

    def __init__(self, site: Site, server: BlobServer, folder: Path) -> None:
        self._site, self._server, self._folder = site, server, folder
        self.checkpoints = CheckpointFolder(folder / "units", "ws://192.0.2.1/socket")
        self.owner = UnitOwner("ws://192.0.2.1/socket", "a" * 16, site.bundle, "tensorflow-cpu", None)

    async def run(self, unit: Unit, steps: int | None = None) -> tuple[int, TrainingResult, Vector | None]:
        """Trains a unit in a new process until its end, or kills it after so many `steps` of its own.

        Returns the steps at its beginning too.
        """
        async with httpx.AsyncClient() as client:
            blobs = BlobCache(client, self._server.url, self._folder / "cache")
            jobs = TrainingJobs(TensorFlowEngine(blobs, "cpu"), blobs, Variates(self._folder / "variates"))
            await jobs.load(self._site.bundle)
            trainer = UnitTrainer(blobs, jobs, 0.0)
            work = UnitWork(unit, self.checkpoints.file(self.owner, unit))
            await trainer.fetch(work)
            await trainer.resume(work)
            begun = work.steps
            if steps is not None and work.checkpoint is not None:
                write, left = work.checkpoint.write, [steps]

                def count(state: TrainingState) -> None:
                    write(state)
                    left[0] -= 1
                    if not left[0]:
                        work.stop.set()

                work.checkpoint.write = count  # type: ignore[method-assign]
            result = await trainer.train(work, lambda _: None)
            await jobs.close()
        return begun, result, None if work.content is None else np.frombuffer(work.content, "<f4")


@pytest.fixture
def machine(site: Site, blob_server: BlobServer, tmp_path: Path) -> Machine:
    return Machine(site, blob_server, tmp_path)


async def test_a_unit_continues_over_several_kills_and_sends_the_same(machine: Machine, site: Site) -> None:
    unit = replace(site.unit(), epochs=0, steps=9, batch_size=16)
    for begin in (0, 2, 4):
        begun, _, _ = await machine.run(unit, steps=2)
        assert begun == begin
    begun, result, sent = await machine.run(unit)
    assert (begun, result.steps, result.planned, result.examples) == (6, 9, 9, 9 * 16)
    _, alone, expected = await machine.run(replace(unit, start="own"))
    assert sent is not None
    assert expected is not None
    assert sent.tobytes() == expected.tobytes()
    assert (result.loss, result.sums) == (alone.loss, alone.sums)


async def test_another_unit_or_a_damaged_checkpoint_begins_again(machine: Machine, site: Site) -> None:
    unit = replace(site.unit(), epochs=0, steps=9, batch_size=16)
    await machine.run(unit, steps=3)
    assert (await machine.run(replace(unit, unit=2), steps=1))[0] == 0
    file = machine.checkpoints.file(machine.owner, unit)
    assert file is not None
    file.path.write_bytes(file.path.read_bytes()[:-1])
    assert (await machine.run(unit, steps=1))[0] == 0


def checkpoints(home: Path) -> list[Path]:
    return list((home / ".local/state/minga/units").rglob("*.checkpoint"))


def of_lease(peer: Peer, event: str, lease: int) -> dict[str, Any]:
    """Returns the next report of `event` for a lease: a peer trains first what it fetched first."""
    while (news := peer.expect(event))["lease"] != lease:
        pass
    return news


@pytest.mark.timeout(HEAVY)
def test_a_killed_peer_gets_its_unit_again_and_continues_it(digits: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    words = ("--checkpoint-every", "1")
    with serving(digits, tmp_path / "server", WHOLE, *plan(60, 4)) as server:
        with joined(home, server.url, *words, witness=home) as peer:
            begun = peer.expect("training")
            assert begun["steps"] == 0
            eventually(lambda: bool(checkpoints(home)) and share_done(home) > 0.1, "no checkpoint is written")
            peer.stop(signal.SIGKILL)
        (file,) = checkpoints(home)
        with joined(home, server.url, *words, witness=home) as peer:
            again = of_lease(peer, "training", begun["lease"])
            assert again["unit"] == begun["unit"]
            assert again["steps"] > 0
            assert "training continues after step" in again["message"]
            assert of_lease(peer, "counted", begun["lease"])["examples"] == EXAMPLES
            eventually(lambda: not file.exists(), "the checkpoint of a delivered unit stays")
            assert peer.stop() == 0
        assert len({row["client"] for row in recorded(server)}) == 1
    assert checkpoints(home) == []
