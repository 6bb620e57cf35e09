"""What a peer does with what others say of rounds without the server, before any of it is true."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from backend.errors import PeerError
from backend.formats.manifest import MetricSpec
from backend.peer.mesh.serverless_runner import ServerlessRunner
from backend.peer.session.progress import JsonLines
from backend.protocols.mesh.serverless import serverless_events
from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.wire.messages import Evaluation
from tests.contract.vectors.mesh import make_serverless
from tests.contract.vectors.mesh.make_mesh_member import TWO
from tests.support.peer.linked_peers import company

FOUND = Evaluation(round=1, version=1, examples=40, loss=0.75, sums=[(31.5, 40.0)])
ACCURACY = MetricSpec(name="accuracy", kind="ratio", rows=1)
STORY = next(
    story
    for story in msgspec.json.decode(
        make_serverless.FILE.read_bytes(), type=list[make_serverless.Conversation]
    )
    if story.name == "another measures"
)


def nothing_loaded() -> Sequence[MetricSpec]:
    raise PeerError("No bundle is loaded yet.")


class Peer:
    """A peer with links of its own, to nobody, and what it tells its operator."""

    def __init__(self, folder: Path, metrics: Callable[[], Sequence[MetricSpec]]) -> None:
        self.lines = io.StringIO()
        self.machine = ServerlessRounds(STORY.own, STORY.steward, make_serverless.SALT)
        self._folder, self._metrics = folder, metrics

    async def __aenter__(self) -> Peer:
        self._company = company(self._folder, [("relay",)], [False])
        [member] = await self._company.__aenter__()
        self.runner = ServerlessRunner(
            member.links, self.machine, JsonLines(self.lines), lambda _: None, lambda: None, self._metrics
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self.runner.close()
        await self._company.__aexit__(None, None, None)

    def lived_through(self, kinds: tuple[type[serverless_events.Event], ...]) -> None:
        """Takes in what the story has of these kinds."""
        for step in STORY.steps:
            if isinstance(step.event, kinds):
                self.machine.happened(step.event, step.now)

    def told(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.lines.getvalue().splitlines()]


async def test_what_is_measured_by_who_is_no_survivor_is_no_news_and_harms_nobody(tmp_path: Path) -> None:
    async with Peer(tmp_path, nothing_loaded) as peer:
        peer.runner.frame_received(TWO, FOUND)
        assert peer.told() == []


@pytest.mark.parametrize(
    ("found", "events"),
    [
        (FOUND, ["evaluated"]),
        (msgspec.structs.replace(FOUND, loss=math.nan), []),
        (msgspec.structs.replace(FOUND, loss=math.inf), []),
        (msgspec.structs.replace(FOUND, examples=0), []),
        (msgspec.structs.replace(FOUND, sums=[]), []),
    ],
)
async def test_a_survivor_that_measured_is_news_where_that_can_be(
    tmp_path: Path, found: Evaluation, events: list[str]
) -> None:
    async with Peer(tmp_path, lambda: [ACCURACY]) as peer:
        peer.lived_through((serverless_events.LocalGroupAveraged, serverless_events.LocalGroupCertified))
        peer.runner.frame_received(TWO, found)
        assert peer.told() == events


async def test_who_has_left_does_nothing_when_its_links_end(tmp_path: Path) -> None:
    async with Peer(tmp_path, nothing_loaded) as peer:
        peer.lived_through(
            (
                serverless_events.PeerLinked,
                serverless_events.LocalGroupAveraged,
                serverless_events.LocalGroupCertified,
            )
        )
        linked = list(peer.machine.survivors.linked)
        assert linked
        peer.runner.close()
        peer.runner.handle(serverless_events.PeerLost(linked[0]))
        assert peer.machine.survivors.linked == linked
