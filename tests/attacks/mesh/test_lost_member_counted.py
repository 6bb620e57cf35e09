"""A member that is lost before it has its group's result would be counted among those that have it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from backend.peer.mesh.averager import Averager, TrainedWork
from backend.peer.mesh.weights import WeightCache
from backend.peer.training.trainer import TrainingResult
from backend.protocols.mesh import member_events
from backend.wire.mesh_fields import Outer
from backend.wire.mesh_messages import Group
from backend.wire.messages import Train
from backend.wire.peer_messages import Attest, Decide, OfGroup, PeerFrame
from tests.support.peer.averaging_groups import BUNDLE, order_of
from tests.support.peer.linked_peers import Carrier, Member, introduce, make_member, until

PLAN = Train(
    round=3, version=0, weights="0" * 64, epochs=1, steps=0, batch_size=8, learning_rate=0.1, past_steps=0,
    seed=7, proximal_mu=0.0, control=None, masking=None, privacy=None, shards=[], seconds=60.0,
)  # fmt: skip


@dataclass
class AveragingMember(Member):
    """A peer whose averager has real links. From the first frame of `deaf_from` on it hears nothing."""

    deaf_from: type[PeerFrame] | None = None
    is_deaf: bool = False
    told: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    posted: list[member_events.Event] = field(default_factory=list)
    averager: Averager = field(init=False)

    def begin(self, order: Group) -> None:
        """Averages by `order`."""
        self.averager = Averager(
            self.links, self.own.key, WeightCache(), self, self.posted.append, self._spawn,
            lambda _round, _group: False,
        )  # fmt: skip
        result = TrainingResult(np.ones(100, np.float32), None, 8, 1, 1, 0.5, [], 1.0)
        outer = Outer(kind="fedavg", learning_rate=1.0, momentum=0.0)
        self.averager.average(order, TrainedWork(PLAN, result, bytes(400), outer, 100, BUNDLE, "e" * 64))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self._task = asyncio.create_task(work)
        return self._task

    def tell(self, event: str, sentence: str, **values: Any) -> None:
        self.told.append((event, sentence, values))

    def received(self, client: str, frame: PeerFrame) -> None:
        self.is_deaf = self.is_deaf or (self.deaf_from is not None and isinstance(frame, self.deaf_from))
        if not self.is_deaf and isinstance(frame, OfGroup):
            self.averager.frame_received(client, frame)

    def averaged(self) -> tuple[str, dict[str, Any]] | None:
        """What was told of the result, if anything was."""
        return next(
            ((sentence, values) for event, sentence, values in self.told if event == "averaged"), None
        )


async def what_the_first_tells(folder: Path, deaf_from: type[PeerFrame] | None) -> tuple[str, dict[str, Any]]:
    """Three members average, of which the last is lost at that frame; the first one's report."""
    carrier, members = Carrier(), list[AveragingMember]()
    for place in range(3):
        member = await make_member(folder, place, ("websocket",), True, carrier, AveragingMember)
        assert isinstance(member, AveragingMember)
        members.append(member)
    members[2].deaf_from = deaf_from
    for member in members:
        introduce(member, members)
    try:
        await until(lambda: all(len(member.links.linked()) == 2 for member in members))
        order = order_of([member.own.client for member in members], 100, "full", patience=1.0)
        for member in members:
            member.begin(order)
        await until(lambda: all(member.averaged() for member in members[:2]))
        told = members[0].averaged()
        assert told is not None
        # The machine does not wait for that.
        assert any(isinstance(event, member_events.GroupAveraged) for event in members[0].posted)
        return told
    finally:
        for member in members:
            member.averager.close()
            await member.links.close()


async def test_a_member_lost_before_the_last_word_is_not_told_to_have_new_weights(tmp_path: Path) -> None:
    sentence, values = await what_the_first_tells(tmp_path, Decide)
    assert "2 of 3 have new weights" in sentence
    assert (values["holders"], values["survivors"], values["members"]) == (2, 3, 3)


async def test_members_that_all_have_new_weights_are_all_counted(tmp_path: Path) -> None:
    sentence, values = await what_the_first_tells(tmp_path, None)
    assert "3 of 3 have new weights" in sentence
    assert values["holders"] == 3


async def test_one_that_is_lost_after_it_signed_counts(tmp_path: Path) -> None:
    sentence, _ = await what_the_first_tells(tmp_path, Attest)
    assert "3 of 3 have new weights" in sentence
