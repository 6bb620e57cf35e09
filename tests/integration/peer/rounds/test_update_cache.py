"""What was trained for a round that came to nothing is handed in again, not trained again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from backend.peer.rounds.update_cache import INVALID_UPDATE_CODES, UpdateCache
from backend.peer.training.trainer import TrainingResult
from backend.wire.messages import Masking, Privacy, Refused, Shard, Train, Version
from tests.support.peer.peer_process import joined
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running

HASH = "a" * 64
PLAN = Train(
    round=3,
    version=2,
    weights=HASH,
    epochs=1,
    steps=0,
    batch_size=32,
    learning_rate=0.1,
    past_steps=0,
    seed=7,
    proximal_mu=0.0,
    control=None,
    masking=None,
    privacy=None,
    shards=[Shard(sha256=HASH, examples=64)],
    seconds=30.0,
)
NEXT = replace(PLAN, round=4, seed=8, seconds=12.5)
DONE = TrainingResult(np.ones(3, np.float32), None, 64, 2, 2, 0.5, [], 1.0)
VERSION = Version(version=3, round=3, weights=HASH, accepted=2, examples=9, loss=0.1, metrics={})


def kept(result: TrainingResult = DONE) -> UpdateCache:
    one = UpdateCache()
    one.keep("me", PLAN, result)
    return one


def test_the_same_work_in_the_next_round_is_done_already() -> None:
    assert kept().take("me", NEXT) is DONE


def test_a_masked_update_is_trained_anew() -> None:
    """The same update in two sums could be found by subtracting them."""
    masked = Masking(bits=32, clip=1.0, examples=64, noise=0.0, share=1.0, min_clients=3, server="honest")
    assert kept().take("me", replace(NEXT, masking=masked)) is None
    one = UpdateCache()
    one.keep("me", replace(PLAN, masking=masked), DONE)
    assert one.take("me", replace(NEXT, masking=masked)) is None
    assert one.take("me", NEXT) is None


@pytest.mark.parametrize(
    "change",
    [
        {"version": 3},
        {"weights": "b" * 64},
        {"epochs": 2},
        {"steps": 5},
        {"batch_size": 16},
        {"learning_rate": 0.2},
        {"past_steps": 1},
        {"proximal_mu": 0.1},
        {"control": HASH},
        {"privacy": Privacy(clip=1.0, noise=1.0, example_clip=0.0, example_noise=0.0, microbatch=0)},
        {"shards": [Shard(sha256="b" * 64, examples=64)]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_work_is_done_anew(change: dict[str, Any]) -> None:
    assert kept().take("me", replace(NEXT, **change)) is None


def test_nobody_hands_in_what_another_trained() -> None:
    assert kept().take("somebody else", NEXT) is None


def test_a_training_that_was_cut_short_is_not_kept() -> None:
    short = TrainingResult(np.ones(3, np.float32), None, 32, 1, 2, 0.5, [], 1.0)
    assert kept(short).take("me", NEXT) is None


def test_a_new_version_makes_it_stale() -> None:
    one = kept()
    one.observe(VERSION)
    assert one.take("me", NEXT) is None


@pytest.mark.parametrize("code", sorted(INVALID_UPDATE_CODES))
def test_what_was_found_bad_is_not_handed_in_again(code: str) -> None:
    one = kept()
    one.observe(Refused(round=3, code=code, reason="Lower the learning rate."))
    assert one.take("me", NEXT) is None


def test_what_came_too_late_is_handed_in_again() -> None:
    one = kept()
    one.observe(Refused(round=3, code="stale-round", reason="Round 3 ended."))
    assert one.take("me", NEXT) is DONE


@pytest.mark.tensorflow
async def test_an_abandoned_round_costs_a_peer_no_training(digits: Path, tmp_path: Path) -> None:
    """Two are needed and one vanishes, so that round is abandoned; the other's update counts in the next."""
    words = ("min_available_clients=2", "quorum=2", "gather=0", "rounds=1")
    flags = [word for one in words for word in ("--set", f"digits.coordination.{one}")]
    with running(digits, tmp_path / "data", *flags) as server, joined(tmp_path / "home", server.url) as peer:
        peer.expect("ready")
        async with Client(server.url, "digits") as fickle:
            await fickle.ready()
            await fickle.selected()
        peer.expect("accepted")
        async with Client(server.url, "digits") as steady:
            await steady.ready()
            plan = await steady.selected()
            news = peer.expect("kept")
            assert news["round"] == plan.round
            assert peer.expect("accepted")["round"] == plan.round
            await steady.deliver(plan, np.zeros(7490, np.float32))
            peer.expect("finished")
        assert peer.end()[0] == 0
        assert plan.round not in [one["round"] for one in peer.seen if one["event"] == "training"]
