"""Builds evidence of what a member heard in a round; gives only what convicts.

The host gives signed statements as `TurnSaid`, and finds the bytes of pieces and means by their SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace

from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.evidence.conviction import check_evidence
from backend.protocols.mesh.byzantine.evidence.evidence_turn import read_turn
from backend.protocols.mesh.byzantine.next_state import finding_about
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.protocols.mesh.byzantine.turn_log import TurnPhase
from backend.wire.ban_evidence import MOST_TURNS, BanEvidence, EvidenceKind, TurnSaid
from backend.wire.byzantine_bodies import CommitBody, VerdictBody, decode_body
from backend.wire.byzantine_messages import Said

# Returns the bytes of this SHA-256; None where they are not kept.
FindBytes = Callable[[bytes], bytes | None]


class EvidenceBuilder:
    """Builds evidence against `client`, whose key is `identity`, in a `run` of a `task`."""

    def __init__(self, task: str, run: str, client: str, identity: bytes) -> None:
        self._task, self._run, self._client, self._identity = task, run, client, identity

    def removed(
        self, why: Literal["two-words", "wrong-mean", "wrong-check"], turn: TurnSaid, find: FindBytes
    ) -> BanEvidence | None:
        """Returns evidence of why a client was removed; None if these statements and bytes do not convict it.

        `turn` has the statements of `RemoveClient`.
        """
        if why == "two-words":
            return self._convicting(why, [turn])
        try:
            statements = read_turn(self._evidence(why, [turn]), turn).statements()
        except EvidenceError:
            return None
        workers, pieces = statements.roles.workers, statements.pieces()
        for part, owner in enumerate(workers):
            # Of numbers nobody knows which part is meant; a mean is that of its owner's part.
            if why == "wrong-mean" and owner != self._client:
                continue
            of_part = {pieces[worker][part] for worker in workers}
            few = {statements.means().get(owner, b""), pieces.get(self._client, [b""] * len(workers))[part]}
            # All pieces say how long the accused's should have been.
            for digests in (of_part,) if why == "wrong-mean" else (few, few | of_part):
                contents = [one for digest in sorted(digests) if (one := find(digest)) is not None]
                if found := self._convicting(why, [turn], part, contents):
                    return found
        return None

    def convicted_by_court(self, turns: Sequence[TurnSaid]) -> BanEvidence | None:
        """Returns evidence of a majority's verdict; None if these statements have none against the client.

        `turns` are the last turns of the last rounds, in order, with `commit` and `verdict` statements. The
        last one is that of the round after the accusation.
        """
        try:
            read = [read_turn(self._evidence("majority", [one]), one) for one in turns]
        except EvidenceError:
            return None
        spoke = [place for place, one in enumerate(turns) if self._own(one)]
        if not spoke:
            return None
        first = max(spoke)
        for case in read[-1].state.court:
            kept = [
                _linked(turns[place], read[place + 1].state.digest())
                for place in range(first, len(turns) - 1)
                if place == first or turns[place].state != turns[place + 1].state
            ]
            kept.append(_judging(turns[-1], case, case.convicting(self._client)))
            own = self._own(turns[first])
            kept[0] = replace(kept[0], said=[*own, *(one for one in kept[0].said if one not in own)])
            if found := self._convicting("majority", kept):
                return found
        return None

    def _own(self, turn: TurnSaid) -> list[Said]:
        own = [one for one in turn.said if one.identity == self._identity]
        # Its commitment, which may judge, before its other words.
        return sorted(own, key=lambda one: one.phase != TurnPhase.COMMIT)[:1]

    def _evidence(
        self, kind: EvidenceKind, turns: Sequence[TurnSaid], part: int = 0, contents: Sequence[bytes] = ()
    ) -> BanEvidence:
        return BanEvidence(
            self._task, self._run, kind, self._client, self._identity, part, list(turns), list(contents)
        )

    def _convicting(
        self, kind: EvidenceKind, turns: Sequence[TurnSaid], part: int = 0, contents: Sequence[bytes] = ()
    ) -> BanEvidence | None:
        evidence = self._evidence(kind, turns[-MOST_TURNS:], part, contents)
        try:
            check_evidence(evidence)
        except EvidenceError:
            return None
        return evidence


def _linked(turn: TurnSaid, digest: bytes) -> TurnSaid:
    """Returns the statements that sign the next state, of this digest."""

    def signs(said: Said) -> bool:
        body = decode_body(said.body) if said.phase == TurnPhase.VERDICT else None
        return isinstance(body, VerdictBody) and body.state == digest

    return replace(turn, said=[one for one in turn.said if signs(one)])


def _judging(turn: TurnSaid, case: WorkCase, wanted: str | None) -> TurnSaid:
    def judges(said: Said) -> bool:
        body = decode_body(said.body) if said.phase == TurnPhase.COMMIT else None
        return isinstance(body, CommitBody) and finding_about(body.judgements, case) == wanted

    return replace(turn, said=[one for one in turn.said if wanted and judges(one)])
