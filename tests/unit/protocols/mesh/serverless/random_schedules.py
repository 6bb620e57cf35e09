"""Companies of peers whose server is away, in seeded schedules: peers die, links break, the server is back.

Training and averaging are told, not done: a group ends in one result for those members that followed its
order and are alive, if they are enough, as the group machine does it (its own schedules show that).
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.protocols.mesh.serverless.serverless_events import (
    Agree,
    Effect,
    Event,
    LocalGroupAveraged,
    LocalGroupCertified,
    LocalGroupFailed,
    LocalMeasured,
    LocalTrained,
    PeerFrameReceived,
    PeerLinked,
    PeerLost,
    ReconnectNow,
    SendToPeers,
    ServerFrameReceived,
    ServerlessStage,
    ServerlessTimePassed,
    ServerLost,
    ServerReached,
)
from backend.wire.mesh_messages import Certificate, Group, Trained
from backend.wire.messages import Evaluate, Evaluation, Train

BUNDLE, RUN, ZERO, FIRST = "b" * 64, "e" * 64, "0" * 64, "1" * 64


def client(number: int) -> str:
    """A peer's id."""
    return f"{number:016x}"


@dataclass(frozen=True)
class Result:
    """What a group ended with, and from what it began."""

    base: Certificate
    made: Certificate


@dataclass
class Company:
    """So many peers after a first round with the server, which is away since."""

    size: int
    seed: int
    now: float = 0.0
    results: list[Result] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    evaluations: int = 0
    hastened: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._turns: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._cut: set[frozenset[str]] = set()
        self._joined: dict[int, list[str]] = {}
        self._ended: set[int] = set()
        self.names = [client(number) for number in range(self.size)]
        self.machines = {name: ServerlessRounds(name, True, 1000 * at) for at, name in enumerate(self.names)}
        self._trains: dict[str, int] = dict.fromkeys(self.names, 0)
        for name in self.names:
            self._begin(name)

    # What a test does.

    def kill(self, name: str) -> None:
        """Ends a peer; the others hear of it."""
        self.dead.add(name)
        for other in self.names:
            self._tell(other, PeerLost(name))

    def cut(self, one: str, other: str) -> None:
        """Ends the link of two."""
        self._cut.add(frozenset((one, other)))
        self._tell(one, PeerLost(other))
        self._tell(other, PeerLost(one))

    def mend(self, one: str, other: str) -> None:
        """Makes it again."""
        self._cut.discard(frozenset((one, other)))
        if not {one, other} & self.dead:
            self._tell(one, PeerLinked(other))
            self._tell(other, PeerLinked(one))

    def reach(self, name: str) -> None:
        """The server is back for one of them."""
        self.reached.add(name)
        self._tell(name, ServerReached(RUN))

    def desert(self, name: str) -> None:
        """And gone again."""
        self.reached.discard(name)
        machine = self.machines[name]
        self._tell(name, ServerLost(machine.stage is ServerlessStage.AVERAGING))

    def run(self, seconds: float) -> None:
        """Lets so much time pass."""
        end = self.now + seconds
        while True:
            timers = [
                (due, name)
                for name, one in self.machines.items()
                if name not in self.dead and (due := one.timer()) is not None
            ]
            due, name = min(timers, default=(end + 1, ""))
            turn = self._turns[0][0] if self._turns else end + 1
            if min(due, turn) > end:
                break
            self.now = max(self.now, min(due, turn))
            if due <= turn:
                self._tell(name, ServerlessTimePassed())
            else:
                heapq.heappop(self._turns)[2]()
        self.now = end

    # Inside.

    def _begin(self, name: str) -> None:
        plan = Train(
            round=1, version=0, weights=ZERO, epochs=1, steps=0, batch_size=8, learning_rate=0.1,
            past_steps=0, seed=7, proximal_mu=0.0, control=None, masking=None, privacy=None, shards=[],
            seconds=30.0,
        )  # fmt: skip
        order = Group(
            round=1, group=1024, members=self.names, bounds=[0, 100], exchange="full", precision="float32",
            subject="changes", reducer="mean", least=self.size // 2 + 1, most_weight=64.0, patience=2.0,
            seconds=30.0,
        )  # fmt: skip
        request = Evaluate(round=1, version=1, weights=FIRST, shards=[], seconds=5.0)
        first = Certificate(
            bundle=BUNDLE, run=RUN, round=1, group=1024, weights=FIRST, survivors=self.names, signatures=[]
        )
        links = [PeerLinked(other) for other in self.names if other != name]
        begun: list[Event] = [
            ServerFrameReceived(plan),
            *links,
            LocalGroupAveraged(order, FIRST),
            LocalGroupCertified(first),
            ServerFrameReceived(request),
            ServerLost(False),
        ]
        for event in begun:
            self._tell(name, event)

    def _later(self, what: Callable[[], None], slowest: float) -> None:
        at = self.now + self._random.uniform(slowest / 10, slowest)
        heapq.heappush(self._turns, (at, next(self._order), what))

    def _tell(self, name: str, event: Event) -> None:
        if name in self.dead:
            return
        for effect in self.machines[name].happened(event, self.now):
            self._perform(name, effect)

    def _perform(self, name: str, effect: Effect) -> None:
        match effect:
            case SendToPeers(clients, frame):
                assert clients
                for other in clients:
                    self._later(partial(self._arrive, name, other, PeerFrameReceived(name, frame)), 0.3)
            case Agree(Train() as plan):
                self._train(name, plan)
            case Agree(Evaluate() as request):
                found = Evaluation(
                    round=request.round, version=request.version, examples=4, loss=1.0, sums=[]
                )
                self.evaluations += 1
                self._later(lambda: self._tell(name, LocalMeasured(found)), 2.0)
            case Agree(Group() as order):
                assert name not in self.reached
                joined = self._joined.setdefault(order.group, [])
                joined.append(name)
                if order.group in self._ended:
                    self._later(lambda: self._tell(name, LocalGroupFailed()), 4.0)
                elif len(joined) == 1:
                    base = self.machines[name].survivors.certificate
                    assert base is not None
                    self._later(lambda: self._end(order, base), 4.0)
            case ReconnectNow():
                self.hastened += 1

    def _arrive(self, sender: str, receiver: str, event: Event) -> None:
        if sender not in self.dead and frozenset((sender, receiver)) not in self._cut:
            self._tell(receiver, event)

    def _train(self, name: str, plan: Train) -> None:
        self._trains[name] += 1
        mine = self._trains[name]
        said = Trained(round=plan.round, base=plan.weights, examples=8, steps=1, loss=1.0, sums=[])

        def done() -> None:
            # Another training ended this one.
            if self._trains[name] == mine:
                self._tell(name, LocalTrained(said))

        self._later(done, 5.0)

    def _end(self, order: Group, base: Certificate) -> None:
        self._ended.add(order.group)
        survivors = [name for name in self._joined[order.group] if name not in self.dead]
        if len(survivors) < order.least:
            for name in survivors:
                self._tell(name, LocalGroupFailed())
            return
        told = f"{order.round} {order.group} {base.weights} {survivors}"
        weights = hashlib.sha256(told.encode()).hexdigest()
        made = Certificate(
            bundle=BUNDLE,
            run=RUN,
            round=order.round,
            group=order.group,
            weights=weights,
            survivors=sorted(survivors),
            signatures=[],
        )
        self.results.append(Result(base, made))
        for name in survivors:
            self._tell(name, LocalGroupAveraged(order, weights))
            self._later(partial(self._tell, name, LocalGroupCertified(made)), 0.5)
