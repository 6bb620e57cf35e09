"""Rounds under [privacy] over real sockets, with a real server process."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.__main__ import main
from backend.server.privacy.epsilon import gaussian_epsilon
from backend.wire.messages import Accepted, Refused, State, Train, Version
from tests.support.tasks.tiny_task import STATE, TRAINABLE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

ONES = np.ones(TRAINABLE, np.float32)
SILENT: dict[str, Any] = {"loss": 0.0, "sums": []}


def write_private(folder: Path, privacy: str, **coordination: Any) -> Path:
    """The tiny task without statistics, and with a table [privacy]; the folder of tasks."""
    write_task(folder / "tasks" / "tiny", more=-STATE, **coordination)
    with (folder / "tasks" / "tiny" / "task.toml").open("a") as file:
        file.write(f"\n[privacy]\n{privacy}\n")
    return folder / "tasks"


def weights_of(server: Server, version: Version) -> NDArray[np.float32]:
    with urlopen(f"{server.url}/blobs/{version.weights}", timeout=PATIENCE) as answer:
        return np.frombuffer(answer.read(), "<f4")


def page_of(server: Server) -> str:
    with urlopen(f"{server.url}/tasks/tiny", timeout=PATIENCE) as answer:
        page: str = answer.read().decode()
        return page


async def take_part(ann: Client, bob: Client) -> tuple[Train, Version]:
    """A whole round of both; the plan of the first, and the version made."""
    plans = await asyncio.gather(ann.selected(), bob.selected())
    for client, plan, size in ((ann, plans[0], 1.0), (bob, plans[1], 40.0)):
        update = size * ONES / TRAINABLE**0.5
        assert isinstance(await client.deliver(plan, update, **SILENT), Accepted)
    return plans[0], await ann.next(Version)


async def test_updates_are_clipped_weigh_alike_and_tell_neither_loss_nor_examples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_private(tmp_path, 'mechanism = "central"\nclip = 0.5\nnoise_multiplier = 0')
    with running(tasks, tmp_path / "data") as server:
        async with Client(server.url) as ann, Client(server.url) as bob:
            await asyncio.gather(ann.ready(), bob.ready())
            plans = await asyncio.gather(ann.selected(), bob.selected())
            assert plans[0].privacy is not None
            assert (plans[0].privacy.clip, plans[0].privacy.noise) == (0.0, 0.0)
            long, short = 40.0 * ONES / TRAINABLE**0.5, 0.25 * ONES / TRAINABLE**0.5
            assert await ann.deliver(plans[0], long, examples=1, **SILENT) == Accepted(round=1, examples=1)
            await bob.deliver(plans[1], short, **SILENT)
            version = await ann.next(Version)
        mean = (0.5 + 0.25) / 2 / TRAINABLE**0.5
        np.testing.assert_allclose(weights_of(server, version), np.arange(TRAINABLE) + mean, rtol=1e-6)
        assert (version.loss, version.metrics, version.examples) == (0.0, {}, 0)
        given = server.get("/api/tasks/tiny/contributions")["contributions"]
        assert [(one["accepted"], one["examples"]) for one in given] == [(1, 0), (1, 0)]
        assert server.get("/api/tasks/tiny/versions")["versions"][1]["loss"] is None
        told = server.get("/api/tasks/tiny")["privacy"]
        assert (told["epsilon"], told["mechanism"]) == (None, "central")
        assert "updates are clipped, but no noise is added" in page_of(server)
        assert await asyncio.to_thread(main, ["task", "show", "tiny", "--server", server.url]) == 0
        assert "updates are clipped, but no noise is added" in capsys.readouterr().out


@pytest.mark.parametrize("said", [{"loss": 0.0}, {"sums": [(1.0, 4.0)]}])
async def test_who_tells_more_than_the_update_is_refused(tmp_path: Path, said: dict[str, Any]) -> None:
    tasks = write_private(tmp_path, 'mechanism = "central"\nclip = 0.5\nnoise_multiplier = 1')
    with running(tasks, tmp_path / "data") as server:
        async with Client(server.url) as ann, Client(server.url) as bob:
            await asyncio.gather(ann.ready(), bob.ready())
            answer = await ann.deliver(await ann.selected(), ONES, **said)
    assert isinstance(answer, Refused)
    assert answer.code == "wrong-length"


async def test_a_task_ends_before_the_round_that_would_pass_its_budget_and_stays_so(tmp_path: Path) -> None:
    # Two rounds of one client keep epsilon 4, three do not.
    noise = 1.6
    assert gaussian_epsilon(noise / 2**0.5, 1e-5) <= 4.0 < gaussian_epsilon(noise / 3**0.5, 1e-5)
    table = f'mechanism = "central"\nclip = 1.0\nnoise_multiplier = {noise}\nepsilon = 4.0'
    tasks = write_private(tmp_path, table)
    with running(tasks, tmp_path / "data") as server:
        async with Client(server.url) as ann, Client(server.url) as bob:
            await asyncio.gather(ann.ready(), bob.ready())
            _, first = await take_part(ann, bob)
            told = server.get("/api/tasks/tiny")["privacy"]
            assert told["epsilon"] == pytest.approx(gaussian_epsilon(noise, 1e-5))
            # Noise there is: without it the mean of the clipped updates is this.
            clean = np.arange(TRAINABLE) + 1.0 / TRAINABLE**0.5
            assert np.abs(weights_of(server, first) - clean).max() > 1e-3
    with running(tasks, tmp_path / "data") as server:
        assert server.get("/api/tasks/tiny")["privacy"]["taken"] == 1
        async with Client(server.url, token=ann.token) as ann, Client(server.url) as eve:
            await asyncio.gather(ann.ready(), eve.ready())
            await take_part(ann, eve)
            async with asyncio.timeout(PATIENCE):
                while (await ann.next(State)).phase != "finished":
                    pass
        told = server.get("/api/tasks/tiny")["privacy"]
        assert told["epsilon"] == pytest.approx(gaussian_epsilon(noise / 2**0.5, 1e-5))
        assert (told["taken"], told["most"], told["budget"]) == (2, 2, 4.0)
    with running(tasks, tmp_path / "data") as server:
        assert server.get("/api/tasks/tiny")["phase"] == "finished"


async def test_an_adaptive_clip_survives_a_restart(tmp_path: Path) -> None:
    table = (
        'mechanism = "central"\nclip = 0.5\nnoise_multiplier = 0.1\n'
        "adaptive = { count_noise = 0.2, learning_rate = 1.0 }"
    )
    tasks = write_private(tmp_path, table)
    with running(tasks, tmp_path / "data") as server:
        async with Client(server.url) as ann, Client(server.url) as bob:
            await asyncio.gather(ann.ready(), bob.ready())
            await take_part(ann, bob)
        clip = server.get("/api/tasks/tiny")["privacy"]["clip"]
    # Nobody was within 0.5, so it went up by about half.
    assert clip > 0.6
    with running(tasks, tmp_path / "data") as server:
        assert server.get("/api/tasks/tiny")["privacy"]["clip"] == clip


async def test_local_noise_is_asked_of_every_client_and_counted_by_rounds(tmp_path: Path) -> None:
    tasks = write_private(tmp_path, 'mechanism = "local"\nclip = 0.5\nnoise_multiplier = 3')
    with running(tasks, tmp_path / "data") as server:
        async with Client(server.url) as ann, Client(server.url) as bob:
            await asyncio.gather(ann.ready(), bob.ready())
            plans = await asyncio.gather(ann.selected(), bob.selected())
            for plan in plans:
                assert plan.privacy is not None
                assert (plan.privacy.clip, plan.privacy.noise) == (0.5, 3.0)
            # What arrives is taken as it is: it was clipped and noised where it came from.
            await ann.deliver(plans[0], ONES, **SILENT)
            await bob.deliver(plans[1], 3 * ONES, **SILENT)
            version = await ann.next(Version)
            np.testing.assert_allclose(weights_of(server, version), np.arange(TRAINABLE) + 2.0)
            await ann.selected()
            # The second round is open, and may already have shown the server an update.
            told = server.get("/api/tasks/tiny")["privacy"]
            epsilon = pytest.approx(gaussian_epsilon(1.5 / 2**0.5, 1e-5))
            assert (told["taken"], told["epsilon"]) == (2, epsilon)
            # Before its clients leave, by which the round would be abandoned, and recorded.
            server.stop(signal.SIGKILL)
    with running(tasks, tmp_path / "data") as server:
        # So may any round that a server left open when it ended.
        assert server.get("/api/tasks/tiny")["privacy"]["taken"] == 2
