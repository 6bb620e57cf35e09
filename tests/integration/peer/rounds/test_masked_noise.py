"""Masked rounds whose sums carry noise of which each client added a share, over real sockets."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from backend.protocols.secagg.terms import degree
from backend.server.privacy.epsilon import gaussian_epsilon
from tests.support.masking.known_update_peers import known_update
from tests.support.masking.masked_task import (
    CLIENTS,
    LEAST,
    PARAMETERS,
    dying,
    ended,
    first_version,
    tokens,
    train,
    write_round,
)
from tests.support.tasks.tiny_task import train_everything
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import running

CLIP, NOISE = 2.0, 1.5
# Of seven members five recover a secret, and make the claimed noise.
MEMBERS, VANISHING = 7, 2


def write_private(folder: Path, clients: int = CLIENTS) -> Path:
    """The task of one masked round, all of whose values are trained, with shares of noise; its folder."""
    write_round(folder, clients)
    task = folder / "tasks" / "tiny"
    train_everything(task)
    text = (task / "task.toml").read_text()
    text = text.replace("[security]", '[security]\naggregation = ["masked"]')
    text += (
        f"[security.masking]\nmin_clients = {LEAST}\n"
        f'[privacy]\nmechanism = "distributed"\nclip = {CLIP}\nnoise_multiplier = {NOISE}\n'
    )
    (task / "task.toml").write_text(text)
    return folder / "tasks"


async def test_the_sum_has_the_claimed_noise_and_tells_nothing_else(tmp_path: Path) -> None:
    clients = {name: {"norm": 10.0} for name in tokens()}
    with running(write_private(tmp_path), tmp_path / "data") as server:
        await train(server.url, clients)
        found = first_version(server)
        task = server.get("/api/tasks/tiny")
        [_, made] = server.get("/api/tasks/tiny/versions")["versions"]
    updates = [known_update(name, 1, PARAMETERS, CLIP).astype(np.float64) for name in clients]
    noise = found - np.mean(updates, axis=0)
    # Shares are made for the fewest who can unmask, three of four here: with all of them there is more.
    claimed = CLIP * NOISE * math.sqrt(CLIENTS / LEAST) / CLIENTS
    assert abs(noise.std() / claimed - 1.0) < 6 / math.sqrt(2 * PARAMETERS)
    assert abs(noise.mean()) < 6 * claimed / math.sqrt(PARAMETERS)
    assert (made["loss"], made["metrics"], made["examples"], made["accepted"]) == (None, {}, 0, CLIENTS)
    told = task["privacy"]
    assert (told["mechanism"], told["taken"]) == ("distributed", 1)
    # Rounding to whole numbers costs a little.
    assert told["epsilon"] > gaussian_epsilon(NOISE, 1e-5)
    assert told["epsilon"] < 1.2 * gaussian_epsilon(NOISE, 1e-5)
    assert "which sees only sums" in told["sentence"]


@pytest.mark.parametrize(("moment", "counted"), [("after:shares", 5), ("before:reveal", 7)])
async def test_the_noise_is_as_claimed_though_as_many_vanish_as_may(
    tmp_path: Path, moment: str, counted: int
) -> None:
    """Noise goes with the update: who left before is not in the sum, who left after it still hides others."""
    assert degree(MEMBERS, "honest").threshold == MEMBERS - VANISHING
    names = tokens(MEMBERS)
    victims, others = names[:VANISHING], names[VANISHING:]
    with running(write_private(tmp_path, MEMBERS), tmp_path / "data") as server, ExitStack() as killed:
        processes = [killed.enter_context(dying(server.url, name, moment)) for name in victims]
        await train(server.url, {name: {"norm": 10.0} for name in others})
        assert [process.wait(PATIENCE) for process in processes] == [-9] * VANISHING
        found, told = first_version(server), ended(server)
        account = server.get("/api/tasks/tiny")["privacy"]
    assert (told["outcome"], told["accepted"], told["cohort"]) == ("version", counted, MEMBERS)
    names = names if counted == MEMBERS else others
    # Victims' updates have the norm 1, below the clip.
    norms = {name: 1.0 if name in victims else CLIP for name in names}
    updates = [known_update(name, 1, PARAMETERS, norms[name]).astype(np.float64) for name in names]
    in_sum = (found - np.mean(updates, axis=0)).std() * counted / (CLIP * NOISE)
    # Of this many values an estimate is off by six of its standard deviations less than once in 10^8 times.
    room = 6 / math.sqrt(2 * PARAMETERS)
    assert 1.0 - room < in_sum < math.sqrt(MEMBERS / (MEMBERS - VANISHING)) * (1.0 + room)
    assert abs(in_sum / math.sqrt(counted / (MEMBERS - VANISHING)) - 1.0) < room
    assert account["taken"] == 1
