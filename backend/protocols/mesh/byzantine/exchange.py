"""An exchange of all statements of a turn: who lacks what, who can show it, and the same statements for all.

Times count from its begin, in patiences: at 0 everybody calls, and continues the turn as far as it can; at
2 everybody says which of the bytes that others lack it has, and what came of disputed means; from 3 on
statements are passed on (relaying.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from backend.crypto.statements import Statement
from backend.protocols.mesh.byzantine.outcome import disputed_parts
from backend.protocols.mesh.byzantine.relaying import signer_count, windows
from backend.protocols.mesh.byzantine.round_events import MeanRemade, PassOn, RoundEffect, SendBytes
from backend.protocols.mesh.byzantine.turn_log import TurnPhase, numbered
from backend.protocols.mesh.byzantine.turn_statements import TurnStatements
from backend.wire.byzantine_bodies import Body, CallBody, PartFinding, ShownBody

_SHOWN, _RELAYED = 2, 3


class StatementExchange:
    """Exchange `number` of a turn, as the active member `client` sees it. Owned by its machine.

    The exchange before left no time to make the means of `deferred` parts again.
    """

    def __init__(
        self,
        statements: TurnStatements,
        number: int,
        client: str,
        now: float,
        patience: float,
        deferred: Collection[int] = (),
    ) -> None:
        self._deferred = frozenset(deferred)
        self._statements, self._number, self._client = statements, number, client
        self._begin, self._patience, self._now = now, patience, now
        identities = statements.log.identities()
        self._members = frozenset(identities[one] for one in statements.roles.active)
        self._own = identities[client]
        self._windows = windows(len(statements.roles.seated))
        self._shown = self._relayed = False
        self._asked = set[int]()
        self._to_remake = list[int]()
        self._findings = dict[int, PartFinding]()
        self._sent = set[tuple[bytes, str]]()
        self._effects = list[RoundEffect]()
        self._available: Collection[bytes] = frozenset()
        # Of how many statements and bytes it was found what this member can show and make again.
        self._looked_at = (0, 0)
        self._window = 0

    def call(self, phase: TurnPhase, lacks: list[bytes], disputed: list[int]) -> tuple[str, Body]:
        """Returns what this member, which has come to `phase`, says at the begin; tells what it has heard."""
        self._pass_on(one for one in self._statements.log.statements() if one.identity != self._own)
        return numbered("call", self._number), CallBody(phase.value, lacks, disputed)

    def timer(self) -> float:
        """Returns when something is due next."""
        return self._time_of(self._window + 1)

    def may_speak(self, now: float) -> bool:
        """Whether statements of the turn that are said now reach all before they are passed on."""
        self._take_time(now)
        return self._window < _SHOWN

    def is_over(self, now: float) -> bool:
        """Whether all windows have passed."""
        return now >= self._time_of(_RELAYED + self._windows)

    def _take_time(self, now: float) -> None:
        self._now = max(now, self._now)
        while self._now >= self._time_of(self._window + 1):
            self._window += 1

    def _time_of(self, window: int) -> float:
        return self._begin + window * self._patience

    def counts(self, statement: Statement, signers: Collection[bytes], now: float) -> bool:
        """Whether a statement that arrives now counts: late ones need signatures of others."""
        self._take_time(now)
        needed = self._window - _RELAYED + 2
        return self._window < _RELAYED or signer_count(statement, signers, self._members) >= needed

    def learned(self, statement: Statement, client: str, now: float) -> None:
        """Passes on a statement that is new."""
        self._take_time(now)
        if self._relayed and client in self._statements.roles.active:
            self._pass_on([statement])

    def proceed(self, now: float, available: Collection[bytes]) -> None:
        """Takes the time, and the digests of all bytes that this member has."""
        self._take_time(now)
        self._available = available
        looked_at = self._statements.log.size, len(available)
        if looked_at != self._looked_at:
            self._looked_at = looked_at
            self._show()
            self._look_for_remakes()
        if self._window >= _RELAYED and not self._relayed:
            self._relayed = True
            self._pass_on(self._statements.log.statements())

    def to_say(self) -> list[tuple[str, Body]]:
        """Returns what is due to be said: what this member has and found."""
        if self._window < _SHOWN or self._shown:
            return []
        self._shown = True
        wanted = sorted({digest for lacks in self._lacks().values() for digest in lacks})
        findings = [self._findings.get(part, PartFinding(part, None)) for part in self._disputed()]
        available = [digest for digest in wanted if digest in self._available]
        return [(numbered("shown", self._number), ShownBody(available, findings))]

    def to_remake(self) -> list[int]:
        """Returns the disputed parts of which this member has all pieces by now, each once."""
        found, self._to_remake = self._to_remake, []
        return found

    def remade(self, event: MeanRemade, wrong: tuple[list[int], bool]) -> None:
        """Takes a mean that was made again."""
        self._findings[event.part] = PartFinding(event.part, *wrong)

    def _look_for_remakes(self) -> None:
        pieces = self._statements.pieces()
        for part in self._disputed():
            needed = {digests[part] for digests in pieces.values()}
            if part not in self._asked and needed.issubset(self._available):
                self._asked.add(part)
                self._to_remake.append(part)

    def flush(self) -> list[RoundEffect]:
        """Returns the effects since the last call."""
        effects, self._effects = self._effects, []
        return effects

    def _pass_on(self, statements: Iterable[Statement]) -> None:
        turn = self._statements.log.turn
        self._effects += [PassOn(statement, turn) for statement in statements]

    def _disputed(self) -> list[int]:
        return sorted(self._deferred.union(disputed_parts(self._statements, self._number)))

    def _lacks(self) -> dict[str, list[bytes]]:
        said = self._statements.log.said(numbered("call", self._number))
        return {
            client: body.lacks
            for client, body in said.items()
            if client in self._statements.roles.active and isinstance(body, CallBody)
        }

    def _show(self) -> None:
        """Sends bytes that others lack: own ones to all, those of others to who asked."""
        own = {
            *self._statements.pieces().get(self._client, []),
            self._statements.means().get(self._client, b""),
        }
        everybody = [client for client in self._statements.roles.active if client != self._client]
        for client, lacks in self._lacks().items():
            for digest in lacks:
                if digest in self._available:
                    self._send(digest, everybody if digest in own else [client])
        workers = self._statements.roles.workers
        for part in self._disputed():
            for worker, digests in self._statements.pieces().items():
                # The owner has all pieces of its part, and workers their own.
                if digests[part] in self._available and self._client in (worker, workers[part]):
                    self._send(digests[part], everybody)

    def _send(self, digest: bytes, clients: list[str]) -> None:
        new = [one for one in clients if one != self._client and (digest, one) not in self._sent]
        self._sent.update((digest, one) for one in new)
        if new:
            self._effects.append(SendBytes(digest, tuple(new)))
