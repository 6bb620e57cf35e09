"""A turn of members with true keys, pieces and numbers, in which a test changes what liars say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from backend.crypto import client_keys
from backend.crypto.statements import (
    NOTHING_BEFORE,
    SignedStatement,
    TurnOfRound,
    coin_commitment,
    heard_digest,
    say,
    tossed_coin,
)
from backend.numerics.butterfly.part_values import mean_of_part, part_numbers, part_values
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.checks import part_radius
from backend.protocols.mesh.byzantine.drawn_work import coin_seed
from backend.protocols.mesh.byzantine.evidence.evidence_turn import turn_said
from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.protocols.mesh.byzantine.roles import basis_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.ban_evidence import BanEvidence, EvidenceKind, TurnSaid
from backend.wire.byzantine_bodies import (
    Body,
    CheckBody,
    CommitBody,
    MadeBody,
    RevealBody,
    VerdictBody,
    WorkFinding,
    decode_body,
    encode_body,
)
from backend.wire.byzantine_messages import Said

TASK, RUN = "digits", "ab" * 32
SIZE = 8
# Changes what a member says in a phase.
Lies = Mapping[tuple[str, str], Callable[[Body], Body]]


def members(count: int) -> dict[str, bytes]:
    """Returns private keys by client."""
    names = [f"{number:016x}" for number in range(1, count + 1)]
    return {name: hashlib.sha256(name.encode()).digest() for name in names}


def state_of(keys: Mapping[str, bytes], radius: float = 1.0, number: int = 6) -> AgreedState:
    """Returns a state in which these members have seats."""
    seats = tuple(SeatedMember(one, client_keys.identity_key(keys[one])) for one in sorted(keys))
    return AgreedState(number, bytes(32), bytes(32), bytes([7] * 32), radius, MeshMembership(seats))


class PlayedTurn:
    """A turn after `state` of all members of `keys`; `validators` do not work.

    `judgements` are said in commitments. `said` has what was said, by phase and client; `contents` all bytes.
    """

    def __init__(
        self,
        keys: Mapping[str, bytes],
        state: AgreedState,
        validators: Sequence[str] = (),
        judgements: Mapping[str, list[WorkFinding]] | None = None,
        lies: Lies | None = None,
        turn: int = 1,
        active: Sequence[str] | None = None,
    ) -> None:
        self.keys, self.state, self._lies = keys, state, lies or {}
        self.active = tuple(sorted(keys) if active is None else active)
        self.attempt = (state.round + 1, 1)
        basis = basis_of(state, self.attempt, self.active)
        self.turn = TurnOfRound(TASK, RUN, state.round + 1, turn, basis)
        self.workers = [one for one in self.active if one not in validators]
        self.said: dict[tuple[str, str], Said] = {}
        self.contents: dict[bytes, bytes] = {}
        random = Random(state.round)
        self._coins = {one: (random.randbytes(32), random.randbytes(32)) for one in self.active}
        self._judgements = judgements or {}
        self._play()

    def identity(self, client: str) -> bytes:
        return client_keys.identity_key(self.keys[client])

    def say(self, client: str, phase: str, body: Body, before: bytes) -> Said:
        """Returns a statement, truly signed."""
        one = say(self.keys[client], self.turn, phase, before, encode_body(body))
        return Said(one.identity, one.phase, one.before, one.body, one.signature)

    def again(self, said: Said, body: Body) -> Said:
        """Returns another statement in the place of one."""
        client = next(one for one in self.keys if self.identity(one) == said.identity)
        return self.say(client, said.phase, body, said.before)

    def all(self, *phases: str) -> list[Said]:
        """Returns all statements of these phases."""
        return [self.said[phase, client] for phase in phases for client in self.active]

    def heard(self, phase: str) -> bytes:
        """Returns what follows the statements of a phase."""
        return heard_digest(_statement(self.said[phase, client]).digest(self.turn) for client in self.active)

    def of(self, said: Sequence[Said]) -> TurnSaid:
        """Returns statements of this turn as evidence has them."""
        return turn_said(self.state, self.attempt, self.turn.turn, self.active, said)

    def evidence(
        self,
        kind: EvidenceKind,
        client: str,
        said: Sequence[Said],
        part: int = 0,
        digests: Sequence[bytes] = (),
    ) -> BanEvidence:
        """Returns evidence of these statements and bytes."""
        contents = [self.contents[one] for one in sorted(set(digests))]
        return BanEvidence(TASK, RUN, kind, client, self.identity(client), part, [self.of(said)], contents)

    def wrong_mean(self, client: str) -> BanEvidence:
        """Returns what would convict the owner of a part, had it lied about its mean."""
        part = self.workers.index(client)
        said = [*self.all("commit"), self.said["made", client]]
        return self.evidence("wrong-mean", client, said, part, self.pieces(part))

    def wrong_check(self, client: str, part: int) -> BanEvidence:
        """Returns what would convict a member, had it lied about its numbers."""
        said = [*self.all("commit", "made", "reveal"), self.said["check", client]]
        own = self.pieces(part)[self.workers.index(client)]
        return self.evidence("wrong-check", client, said, part, (own, self.mean(part)))

    def pieces(self, part: int) -> list[bytes]:
        """Returns the digests of the pieces of a part."""
        return [self.body("commit", one).pieces[part] for one in self.workers]

    def mean(self, part: int) -> bytes:
        """Returns the digest of the mean of a part."""
        digest: bytes = self.body("made", self.workers[part]).mean
        return digest

    def keep(self, content: bytes) -> bytes:
        """Keeps bytes; returns their digest."""
        digest = hashlib.sha256(content).digest()
        self.contents[digest] = content
        return digest

    def verdicts(self, state: AgreedState) -> list[Said]:
        """Returns what all say who agree on the next state."""
        body, before = VerdictBody(state.digest()), self.heard("check")
        return [self.say(one, "verdict", body, before) for one in self.active]

    def body(self, phase: str, client: str) -> Any:
        """Returns what a client said in a phase."""
        return decode_body(self.said[phase, client].body)

    def _say(self, client: str, phase: str, body: Body, before: bytes) -> None:
        changed = self._lies[phase, client](body) if (phase, client) in self._lies else body
        self.said[phase, client] = self.say(client, phase, changed, before)

    def _play(self) -> None:
        for client in self.active:
            pieces = [self.keep(self._piece(client, part)) for part in range(len(self.workers))]
            commitment = coin_commitment(client, *self._coins[client])
            judged = self._judgements.get(client, [])
            works = client in self.workers
            self._say(
                client, "commit", CommitBody(pieces if works else [], commitment, judged), NOTHING_BEFORE
            )
        before = self.heard("commit")
        for client in self.active:
            works = client in self.workers
            mean = self.keep(self._mean(self.workers.index(client))) if works else b""
            self._say(client, "made", MadeBody(mean), before)
        before = self.heard("made")
        for client in self.active:
            self._say(client, "reveal", RevealBody(*self._coins[client]), before)
        before = self.heard("reveal")
        for client in self.active:
            body = self._numbers(client) if client in self.workers else CheckBody([], [])
            self._say(client, "check", body, before)

    def _piece(self, client: str, part: int) -> bytes:
        seed = int.from_bytes(hashlib.sha256(f"{client} {part} {self.state.round}".encode()).digest()[:4])
        return np.random.default_rng(seed).normal(size=SIZE).astype("<f4").tobytes()

    def _values(self, digest: bytes) -> Vector:
        return part_values(self.contents.get(digest, b""), SIZE)

    def _mean(self, part: int) -> bytes:
        values = [self._values(one) for one in self.pieces(part)]
        return mean_of_part(values, part_radius(self.state.radius, SIZE)).astype("<f4").tobytes()

    def _numbers(self, client: str) -> CheckBody:
        coin = coin_seed(tossed_coin({one: self._coins[one][0] for one in self.active}))
        radius, own = part_radius(self.state.radius, SIZE), self.workers.index(client)
        products, lengths = list[float](), list[float]()
        for part in range(len(self.workers)):
            piece, mean = self._values(self.pieces(part)[own]), self._values(self.mean(part))
            of_part = part_numbers([piece], mean, radius, coin, part)
            products += of_part[0]
            lengths += of_part[1]
        return CheckBody(products, lengths)


def _statement(said: Said) -> SignedStatement:
    return SignedStatement(said.identity, said.phase, said.before, said.body, said.signature)
