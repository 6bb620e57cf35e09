"""What counts as said in a phase: the statements of active members that are as their roles require."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from backend.crypto.statements import Statement
from backend.protocols.mesh.byzantine.checks import is_complete
from backend.protocols.mesh.byzantine.roles import TurnRoles
from backend.protocols.mesh.byzantine.turn_log import PHASES, TurnLog, TurnPhase
from backend.wire.byzantine_bodies import (
    Body,
    CheckBody,
    CommitBody,
    MadeBody,
    RevealBody,
    SeenWork,
    VerdictBody,
)

_DIGEST = 32


@dataclass(frozen=True)
class TurnStatements:
    """The statements of a turn by active members, out of its log."""

    log: TurnLog
    roles: TurnRoles
    # What counts in a phase, and of how many statements it was found, after what was heard before.
    _found: dict[TurnPhase, tuple[int, bytes | None, Mapping[str, Body]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of(self, phase: TurnPhase) -> Mapping[str, Body]:
        """Returns what counts as said in a phase, by client: it follows all that was said in the one before.

        Who names other statements there lies, or heard one of two words: an exchange shows which.
        """
        count, heard = self.log.count(phase), self.log.heard_before(phase, self.roles.active)
        known = self._found.get(phase)
        if known is None or known[:2] != (count, heard):
            known = self._found[phase] = count, heard, self._followed(phase, heard)
        return known[2]

    def _followed(self, phase: TurnPhase, heard: bytes | None) -> dict[str, Body]:
        return {
            client: body
            for client, body in self.log.said(phase).items()
            if self._counts(client, body)
            and (heard is None or self.log.statement_of(phase, client).before == heard)
        }

    def lacking(self, phase: TurnPhase) -> list[str]:
        """Returns the active clients that said nothing in a phase yet."""
        said = self.of(phase)
        return [client for client in self.roles.active if client not in said]

    def is_complete(self, phase: TurnPhase) -> bool:
        """Whether all active clients said what is due in a phase."""
        return len(self.log.speakers(phase)) >= len(self.roles.active) and not self.lacking(phase)

    def earliest_lacking(self) -> tuple[TurnPhase, list[str]] | None:
        """Returns the first phase in which somebody said nothing, and who; None if the turn is complete."""
        for phase in PHASES:
            if clients := self.lacking(phase):
                return phase, clients
        return None

    def pieces(self) -> dict[str, list[bytes]]:
        """Returns the digests of the pieces of each worker that committed to them."""
        said = self.of(TurnPhase.COMMIT)
        return {
            client: body.pieces
            for client in self.roles.workers
            if isinstance(body := said.get(client), CommitBody)
        }

    def means(self) -> dict[str, bytes]:
        """Returns the digest of the mean of each owner that committed to it."""
        said = self.of(TurnPhase.MADE)
        return {
            client: body.mean
            for client in self.roles.workers
            if isinstance(body := said.get(client), MadeBody)
        }

    def coins(self) -> dict[str, bytes]:
        """Returns the revealed parts of the coin."""
        said = self.of(TurnPhase.REVEAL)
        return {client: body.coin for client, body in said.items() if isinstance(body, RevealBody)}

    def checks(self) -> dict[str, CheckBody]:
        """Returns the numbers of each worker that gave them."""
        said = self.of(TurnPhase.CHECK)
        return {
            client: body for client in self.roles.workers if isinstance(body := said.get(client), CheckBody)
        }

    def newcomers(self) -> list[SeenWork]:
        """Returns the work of newcomers that more than half of the seated saw, by client."""
        seen = Counter(
            one
            for body in self.of(TurnPhase.MADE).values()
            if isinstance(body, MadeBody)
            for one in {(seen.client, seen.identity, seen.commit) for seen in body.newcomers}
        )
        return [SeenWork(*one) for one, count in sorted(seen.items()) if self.roles.is_majority(count)]

    def states(self) -> Counter[bytes]:
        """Returns how many members signed each state; one that signed two counts for both."""
        return Counter(
            state
            for client, bodies in self.log.all_said(TurnPhase.VERDICT).items()
            if client in self.roles.active
            for state in sorted({body.state for body in bodies if isinstance(body, VerdictBody)})
        )

    def evidence(self, client: str, why: str) -> tuple[Statement, ...]:
        """Returns the statements that convict a client of what it was removed for; none if nothing does.

        Of its numbers only with what it had heard before: the coin, and the mean.
        """
        if why == "two-words":
            return self.log.two_words().get(client, ())
        if why not in ("wrong-mean", "wrong-check"):
            return ()
        last = TurnPhase.MADE if why == "wrong-mean" else TurnPhase.CHECK
        heard = [
            self.log.statement_of(phase, one)
            for phase in PHASES[: PHASES.index(last)]
            for one in self.roles.active
        ]
        return (*heard, self.log.statement_of(last, client))

    def _counts(self, client: str, body: Body) -> bool:
        if client not in self.roles.active:
            return False
        works = client in self.roles.workers
        match body:
            case CommitBody():
                return len(body.pieces) == (len(self.roles.workers) if works else 0)
            case MadeBody():
                return len(body.mean) == (_DIGEST if works else 0)
            case CheckBody():
                return is_complete(body, len(self.roles.workers)) if works else not body.products
            case _:
                return True
