"""A server of the digits as a Byzantine mesh, and real peers that join it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from backend.peer.mesh.byzantine.mesh_states import StoredState
from backend.protocols.mesh.byzantine.adoption import told_state
from backend.protocols.mesh.byzantine.evidence.conviction import Conviction, convict
from backend.protocols.mesh.byzantine.state import AgreedState
from tests.support.peer.digits_mesh import write_byzantine_digits
from tests.support.peer.peer_process import Peer, joined
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

Report = dict[str, Any]


class ByzantineCompany:
    """A server, which may be started again, and its peers, each with a home of its own in `folder`.

    `built` is the gallery's folder of the digits, for `serve`.
    """

    def __init__(self, stack: ExitStack, folder: Path, built: Path | None = None) -> None:
        self._stack = stack
        self._folder = folder
        self._built = built
        self._count = 0
        self.server: Server

    def serve(self, **settings: Any) -> None:
        """Starts the server; `settings` as in `write_byzantine_digits`."""
        assert self._built is not None
        write_byzantine_digits(self._built, self._folder / "tasks" / "digits", **settings)
        self.serve_written("digits")

    def serve_written(self, name: str) -> None:
        """Starts the server of the only task, which is in the folder `tasks` already."""
        self.server = self._stack.enter_context(running(self._folder / "tasks", self._folder / "data"))
        assert [task["name"] for task in self.server.report["tasks"]] == [name], self.server.report

    def join(
        self,
        liar: str | None = None,
        home: Path | None = None,
        *,
        transport: str = "websocket",
        runner: Sequence[str] = (),
    ) -> Peer:
        """Starts one more peer, or one again at the `home` that it had; `runner` is that of peers."""
        self._count += 1
        listening = () if transport == "webrtc" else ("--listen", "127.0.0.1:0")
        words = (self.server.url, *listening, "--transport", transport)
        home = home or self.home(self._count)
        return self._stack.enter_context(joined(home, *words, liar=liar, runner=runner))

    def give_data(self, number: int, shares: int = 1) -> None:
        """Puts shards of the task into the cache of the peer of that number, before it joins.

        All of them, or the peer's share: peers whose numbers are consecutive have all, and no shard twice.
        """
        cache = self.home(number) / "cache"
        cache.mkdir(parents=True)
        for path in self._shards()[number % shares :: shares]:
            shutil.copy(path, cache / path.stem)

    def shards(self) -> list[str]:
        """Returns the SHA-256 of all shards of the task."""
        return [path.stem for path in self._shards()]

    def _shards(self) -> list[Path]:
        assert self._built is not None
        return sorted((self._built / "built/shards").glob("*.shard"))

    def home(self, number: int) -> Path:
        """Returns where the peer of that number, from 1 on, keeps its state."""
        return self._folder / f"home {number}"

    def state(self, number: int) -> AgreedState:
        """Returns the state that the peer of that number stored last."""
        [path] = (self.home(number) / ".local/state/minga/mesh").glob("*.byzantine")
        state = told_state(StoredState.read(path).proof)
        assert state is not None
        return state

    def convictions(self, number: int) -> list[Conviction]:
        """Returns what the evidence that the peer of that number stored convicts of."""
        folder = self.home(number) / ".local/state/minga/mesh"
        return [convict(path.read_bytes(), "digits") for path in sorted(folder.rglob("*.evidence"))]


def averaged(peer: Peer, seconds: float = PATIENCE, **wanted: int) -> Report:
    """Returns the next result of a round that is as wanted."""
    while True:
        report = peer.expect("averaged", seconds)
        if all(report[key] == value for key, value in wanted.items()):
            return report


def same_bits(peers: Sequence[Peer]) -> dict[int, str]:
    """Returns the weights after each round, which are the same bits for all peers that report them."""
    found: dict[int, set[str]] = {}
    for peer in peers:
        for one in peer.seen:
            if one["event"] == "averaged":
                found.setdefault(one["round"], set()).add(one["weights"])
    assert all(len(weights) == 1 for weights in found.values()), found
    return {number: weights.pop() for number, weights in found.items()}
