"""Keeps a peer's last certified round, of which its survivors make the next one without the server.

`LastRound` keeps the last plan, group and evaluation; `KnownSurvivors` the last certificate and links. The
functions are pure. The twin is protocol/mesh/serverless/last-round.ts.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from backend.wire.mesh_messages import Certificate, Group, ServerToPeer
from backend.wire.messages import Evaluate, State, Train

# Groups that elected leaders make are numbered from here on; no server numbers that many.
FIRST_SERVERLESS_GROUP = 1 << 40
# A peer follows no round that is farther ahead of the last one that the server or a certificate named: one
# that lies about its rounds could use up all numbers, and the server accepts no certificate far ahead.
MAX_ROUNDS_AHEAD = 512
# The share of a round's time for a peer that measures before it trains.
MEASURING_SHARE = 0.25
# From one round's seed to the next: the golden ratio's fraction, in 32 bits (Knuth, TAOCP 3, 6.4).
_STRIDE = 0x9E3779B1
_SEEDS = 1 << 31


@dataclass
class LastRound:
    """The last `plan`, `order` and `evaluation` of a peer, from the server or from peers.

    `number` is the newest round that the peer heard of, `certain` the newest that the server or a certificate
    named. Times are in seconds. Owned by the peer's machine.
    """

    plan: Train | None = None
    order: Group | None = None
    evaluation: Evaluate | None = None
    number: int = 0
    certain: int = 0

    @property
    def latest(self) -> int:
        """The last round that the peers may begin before the server or a certificate names a later one."""
        return self.certain + MAX_ROUNDS_AHEAD

    @property
    def patience(self) -> float:
        """How long peers wait for each other; 0 before the first group."""
        return self.order.patience if self.order else 0.0

    @property
    def seconds(self) -> float:
        """The longest time from `set_out` to the group; a peer that measures first has as long to train."""
        return self.order.seconds * (1 + MEASURING_SHARE) if self.order else 0.0

    def take_server_frame(self, frame: ServerToPeer) -> None:
        """Keeps what the server sent, if the next round is made of it."""
        match frame:
            case Train():
                self.plan = frame
                self.take_certain(frame.round)
            case State(round=number, phase=phase):
                self.take_certain(number)
                if phase in ("paused", "finished"):
                    # The owner wants no rounds, so peers make none either.
                    self.plan = None
            case Evaluate():
                self.evaluation = frame

    def take_certain(self, number: int) -> None:
        """The server or a certificate names round `number`."""
        self.number, self.certain = max(self.number, number), max(self.certain, number)

    def take_group(self, order: Group) -> None:
        """This peer's group `order` has a result."""
        self.order, self.number = order, max(self.number, order.round)

    def can_begin(self, number: int) -> bool:
        """Whether a round of this number is new, and not too far ahead."""
        return self.number < number <= self.latest

    def begin(self, number: int, weights: str) -> None:
        """Round `number` begins from `weights`: makes its plan of the last one, if there was one."""
        self.number = number
        if self.plan and self.order:
            self.plan = next_plan(self.plan, number, weights, self.order.seconds)

    def begin_evaluation(self) -> Evaluate | None:
        """Makes the evaluation of the plan's weights; None if the server never asked for one."""
        if self.evaluation and self.plan and self.order:
            seconds = MEASURING_SHARE * self.order.seconds
            self.evaluation = next_evaluation(self.evaluation, self.plan, seconds)
        return self.evaluation


class KnownSurvivors:
    """The survivors of the last certified round, and those that the peer `own` has links to.

    Only they make rounds without the server. `certificate` proves the weights that they made; None before the
    first. Owned by the peer's machine.
    """

    def __init__(self, own: str) -> None:
        self.own = own
        self.certificate: Certificate | None = None
        self._linked: set[str] = set()

    @property
    def round(self) -> int:
        """The round of the certified weights; 0 before the first."""
        return self.certificate.round if self.certificate else 0

    @property
    def linked(self) -> list[str]:
        """The other survivors to which there are links."""
        survivors = self.certificate.survivors if self.certificate else []
        return [client for client in survivors if client != self.own and client in self._linked]

    def has(self, client: str) -> bool:
        """Whether `client`, this peer or another one, is a survivor."""
        return self.certificate is not None and client in self.certificate.survivors

    def has_other(self, client: str) -> bool:
        """Whether `client` is another survivor: frames of all other peers are ignored."""
        return client != self.own and self.has(client)

    def add_link(self, client: str) -> None:
        """There is a link to `client`, a survivor or not."""
        self._linked.add(client)

    def remove_link(self, client: str) -> None:
        """The link to `client` is down."""
        self._linked.discard(client)


def next_plan(last: Train, number: int, weights: str, seconds: float) -> Train:
    """The plan of round `number` from `weights`, on the data of the `last` one, within `seconds`."""
    same = last.weights == weights
    version = last.version if same else last.version + 1
    # The schedule's position grows by as much in each version.
    past = last.past_steps if same or not last.version else last.past_steps * version // last.version
    seed = (last.seed + _STRIDE * (number - last.round)) % _SEEDS
    return replace(
        last,
        round=number,
        version=version,
        weights=weights,
        past_steps=past,
        seed=seed,
        seconds=seconds,
    )


def next_evaluation(last: Evaluate, plan: Train, seconds: float) -> Evaluate:
    """The evaluation of the weights that `plan` begins with, on the data of the `last` one."""
    return replace(last, round=plan.round, version=plan.version, weights=plan.weights, seconds=seconds)


def majority(certificate: Certificate) -> int:
    """More than half of the survivors, and two at least."""
    return max(2, len(certificate.survivors) // 2 + 1)


def least_survivors(certificate: Certificate, last: Group, members: int) -> int:
    """The fewest of `members` that may finish: a majority of them and of those before, and the quorum.

    With masks they are 3 at least.
    """
    masked = 3 if last.precision == "masked" else 2
    return max(majority(certificate), members // 2 + 1, last.quorum, masked)


def order_error(order: Group, last: Group, certificate: Certificate, own: str) -> str | None:
    """Why a leader's order does not follow from the `last` one; None if it does.

    The all-reduce machine checks its bounds.
    """
    members = set(order.members)
    if order.group < FIRST_SERVERLESS_GROUP or len(members) != len(order.members) or own not in members:
        return "It is not a group of this peer's."
    if not members <= set(certificate.survivors):
        return "It has members that are not among the last survivors."
    if order.least != least_survivors(certificate, last, len(members)):
        return "Too few of the last survivors would decide."
    same = replace(
        last,
        round=order.round,
        group=order.group,
        members=order.members,
        bounds=order.bounds,
        least=order.least,
        subject="changes",
    )
    return None if same == order else "It does not match the groups of this task."
