"""Averages with groups: turns what the peer trained into new weights that all survivors have."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import numpy as np

from backend.errors import GroupError
from backend.numerics.aggregation.outer_step import outer_step
from backend.peer.links.links import LinkManager
from backend.peer.mesh.early_frames import EarlyFrames, GroupKey
from backend.peer.mesh.exchange import Exchange, GroupOutcome
from backend.peer.mesh.result_signer import ResultSigner
from backend.peer.mesh.weights import WeightCache
from backend.peer.session.progress import Teller
from backend.peer.training.step import Vector
from backend.peer.training.trainer import TrainingResult
from backend.protocols.mesh import member_events
from backend.wire.mesh_fields import Outer
from backend.wire.mesh_messages import Group
from backend.wire.messages import Train
from backend.wire.peer_messages import Attest, GroupFrame

MOST_GROUPS = 3


@dataclass(frozen=True)
class TrainedWork:
    """The result of a training, the weights it began from, and the outer step before averaging."""

    plan: Train
    result: TrainingResult
    base: bytes
    outer: Outer
    # The number of trained values; the rest are running statistics.
    trainable: int
    bundle: str
    # The name of the task's run.
    run: str


class Averager:
    """Owns the exchanges of one peer, and the outer step's momentum.

    `post` takes machine events; `declines` tells whether this peer never joins the group of a round and
    number.
    """

    def __init__(
        self,
        links: LinkManager,
        key: bytes,
        cache: WeightCache,
        reporter: Teller,
        post: Callable[[member_events.Event], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        declines: Callable[[int, int], bool],
    ) -> None:
        self._links = links
        self._cache = cache
        self._reporter = reporter
        self._post = post
        self._spawn = spawn
        self._exchanges: dict[GroupKey, Exchange] = {}
        self._early_frames: EarlyFrames[GroupFrame] = EarlyFrames(links, declines)
        self._averaging: asyncio.Task[None] | None = None
        self._patience_reset: asyncio.TimerHandle | None = None
        self._signer = ResultSigner(links, key, reporter, post)
        self._momentum: Vector = np.zeros(0, np.float32)

    def average(self, order: Group, work: TrainedWork) -> None:
        """Takes part in the group; posts `GroupAveraged` or `GroupFailed` when it has ended."""
        self._early_frames.join(order)
        self._averaging = self._spawn(self._average(order, work))

    def abort(self) -> None:
        """Leaves the current group."""
        if self._averaging:
            self._averaging.cancel()

    def close(self) -> None:
        """Ends all exchanges."""
        if self._patience_reset:
            self._patience_reset.cancel()
        for exchange in self._exchanges.values():
            exchange.close()
        self._exchanges.clear()
        self._early_frames.close()
        self._signer.close()

    def up(self, client: str) -> None:
        """Takes a new link to `client`, or the end of its silence."""
        for exchange in self._exchanges.values():
            exchange.up(client)

    def down(self, client: str) -> None:
        """Takes the loss of the link to `client`."""
        for exchange in self._exchanges.values():
            exchange.down(client)

    def silent(self, client: str) -> None:
        """Takes the silence of `client`."""
        for exchange in self._exchanges.values():
            exchange.silent(client)

    def frame_received(self, client: str, frame: GroupFrame) -> None:
        """Takes a frame of a group's member."""
        key = (frame.round, frame.group)
        if isinstance(frame, Attest) and self._signer.is_of(frame):
            self._signer.add(client, frame)
        elif key in self._exchanges and not isinstance(frame, Attest):
            self._exchanges[key].frame_received(client, frame)
        else:
            self._early_frames.add(client, frame)

    def server_reached(self) -> None:
        """Handles the server's return:

        groups formed by peers continue without this peer if it is not a member.
        """
        self._early_frames.server_reached()

    async def _average(self, order: Group, work: TrainedWork) -> None:
        self._close_ended()
        local = self._links.local.client
        change, momentum = await asyncio.to_thread(_outer_change, work, self._momentum)
        base = np.frombuffer(work.base, "<f4")
        vector = change if order.subject == "changes" else await asyncio.to_thread(np.add, base, change)
        # A group without the server keeps the bound of the last one, which a member may exceed (0033).
        weight = min(float(work.result.examples), order.most_weight) if order.reducer == "mean" else 1.0
        self._report_begin(order)
        self._set_patience(order.patience)
        key = (order.round, order.group)
        try:
            exchange = self._exchanges[key] = Exchange(
                order, local, vector, weight, self._links, self._links.local.task, work.bundle
            )
            self._begin(key, exchange)
            outcome = await exchange.result()
            content, weights = await asyncio.to_thread(_new_weights, order, base, outcome)
        except GroupError as error:
            self._report_failure(order, str(error))
        except asyncio.CancelledError:
            self._exchanges.pop(key).close()
            raise
        else:
            # Only now: a peer without a result keeps its earlier momentum.
            self._momentum = momentum
            self._cache.keep(weights, content)
            self._signer.sign(order, outcome, work.bundle, work.run, weights)
            self._take_early(key)
        finally:
            # Other members may still be in the group, and expect its faster heartbeats.
            self._patience_reset = asyncio.get_running_loop().call_later(
                2 * order.patience, self._links.set_group_patience, None
            )

    def _set_patience(self, patience: float) -> None:
        if self._patience_reset:
            self._patience_reset.cancel()
        self._links.set_group_patience(patience)

    def _begin(self, key: GroupKey, exchange: Exchange) -> None:
        """Starts the exchange, and takes up links and frames from before the order."""
        exchange.start()
        for client in self._links.linked():
            exchange.up(client)
        self._take_early(key)

    def _take_early(self, key: GroupKey) -> None:
        for client, frames in self._early_frames.take(key).items():
            for frame in frames:
                self.frame_received(client, frame)

    def _report_begin(self, order: Group) -> None:
        others = len(order.members) - 1
        sentence = f"Round {order.round}: averaging with {others} other{'s' * (others > 1)}."
        self._reporter.tell(
            "averaging", sentence, round=order.round, group=order.group, members=len(order.members)
        )

    def _report_failure(self, order: Group, reason: str) -> None:
        sentence = f"Round {order.round}: no result in this group. {reason}"
        self._reporter.tell("failed", sentence, round=order.round, group=order.group)
        self._post(member_events.GroupFailed(order.round, order.group, reason))

    def _close_ended(self) -> None:
        """Closes groups that no member can ask about any more, and old ones: each has vectors in memory."""
        for key in list(self._exchanges):
            if self._exchanges[key].over or len(self._exchanges) > MOST_GROUPS:
                self._exchanges.pop(key).close()


def _outer_change(work: TrainedWork, momentum: Vector) -> tuple[Vector, Vector]:
    """Returns this peer's change of the weights for the mean, and the momentum (0025, "Outer step")."""
    outer = work.outer
    previous = momentum if len(momentum) == work.trainable else np.zeros(0, np.float32)
    return outer_step(
        outer.kind, outer.learning_rate, outer.momentum, work.result.update, work.trainable, previous
    )


def _new_weights(order: Group, base: Vector, outcome: GroupOutcome) -> tuple[bytes, str]:
    """Returns the new weights and their SHA-256.

    Where changes are averaged, all members have the same base, and so get the same bits.
    """
    new = base + outcome.mean if order.subject == "changes" else outcome.mean
    content = np.asarray(new, "<f4").tobytes()
    return content, hashlib.sha256(content).hexdigest()
